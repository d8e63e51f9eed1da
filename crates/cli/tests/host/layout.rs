//! The layout, kept over everything.

use serde_json::{Value, json};

use crate::scene::Scene;

fn one_pane(session: Option<&str>) -> String {
    json!({
        "version": 1,
        "active": "main",
        "tabs": [{
            "id": "main",
            "title": "Work",
            "focus": "right",
            "root": {
                "kind": "split", "direction": "row", "ratio": 300,
                "first": { "kind": "pane", "id": "left" },
                "second": { "kind": "pane", "id": "right", "session": session },
            },
        }],
    })
    .to_string()
}

#[test]
fn a_layout_is_there_again_and_a_session_that_ended_keeps_its_place() {
    let scene = Scene::hosted();
    let id = scene.world.out(&["launch", "--title", "The task", "sh", "sleep 600"]);
    scene.until_live(id.parse().expect("an id"));
    let apply = |file: &str, text: &str| {
        scene.world.call(&["layout", "apply", file]).stdin(text).run().success();
    };
    apply("-", &one_pane(Some(&id)));
    let show = || -> Value {
        serde_json::from_str(&scene.world.out(&["layout", "show", "--json"])).expect("JSON")
    };
    let shown = show();
    assert_eq!(shown["sessions"], json!([{ "id": id, "state": "live" }]));
    let text = scene.world.out(&["layout", "show"]);
    insta::assert_snapshot!(scene.world.env.normal(&text));

    scene.world.run(&["kill", &id]).success();
    scene.kill(&scene.identity());
    scene.start();
    let shown = show();
    assert_eq!(shown["revision"], 1);
    assert_eq!(shown["sessions"], json!([{ "id": id, "state": "ended" }]));

    // Also one whose store is gone altogether.
    scene.kill(&scene.identity());
    std::fs::rename(scene.world.env.store_root(), scene.world.env.root().join("away"))
        .expect("moves");
    scene.start();
    let shown = show();
    assert_eq!(shown["sessions"], json!([{ "id": id, "state": "gone" }]));
    assert_eq!(shown["layout"]["tabs"][0]["root"]["second"]["title"], "The task");
}

#[test]
fn a_change_of_an_old_revision_is_refused() {
    let scene = Scene::hosted();
    let apply = |revision: &str, text: &str| {
        scene.world.call(&["layout", "apply", "--revision", revision, "-"]).stdin(text).run()
    };
    apply("0", &one_pane(None)).success();
    let refused = apply("0", &one_pane(None));
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains("the layout has revision 1, not 0 [layout-changed]"));
    // What `show` prints can be applied as it is.
    let shown = scene.world.out(&["layout", "show", "--json"]);
    apply("1", &shown).success();
}

#[test]
fn what_is_no_layout_is_refused_before_the_host_is_asked() {
    let scene = Scene::new();
    let apply = |text: &str| scene.world.call(&["layout", "apply", "-"]).stdin(text).run();
    for text in ["", "[]", "{}", r#"{"version":2,"tabs":[]}"#, r#"{"version":1,"tabs":[],"x":1}"#] {
        let refused = apply(text);
        assert_eq!(refused.code, 4, "{refused:?}");
        assert!(refused.stderr.contains("[layout-invalid]"), "{refused:?}");
    }
    let absent = apply(&one_pane(None));
    assert!(absent.stderr.contains("[host-absent]"), "{absent:?}");
    assert_eq!(absent.code, 2);
}
