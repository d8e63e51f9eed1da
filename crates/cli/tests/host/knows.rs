//! What the host answers is what the verbs print.

use serde_json::Value;

use crate::scene::Scene;

#[test]
fn lists_and_views_are_those_of_the_verbs() {
    let scene = Scene::hosted();
    let id = scene.world.launch("creel session return done");
    scene.world.at_rest(id);
    scene.until(|scene| {
        let (status, listed) = scene.ask("GET", "/v1/sessions", "");
        assert_eq!(status, 200);
        listed["stores"][0]["sessions"][0]["resultCount"].eq(&1).then_some(())
    });
    let (_, listed) = scene.ask("GET", "/v1/sessions", "");
    let printed: Value =
        serde_json::from_str(&scene.world.out(&["list", "--json"])).expect("a row");
    assert_eq!(listed["stores"][0]["sessions"][0], printed);
    let (status, viewed) = scene.ask("GET", &format!("/v1/sessions/{id}"), "");
    let inspected: Value =
        serde_json::from_str(&scene.world.out(&["inspect", &id.to_string(), "--json"]))
            .expect("a view");
    assert_eq!((status, &viewed), (200, &inspected));
    let short = &id.to_string()[..8];
    assert_eq!(scene.ask("GET", &format!("/v1/sessions/{short}"), ""), (200, inspected));
}

#[test]
fn what_is_not_there_is_told_with_a_code_and_a_next_step() {
    let scene = Scene::hosted();
    scene.world.launch("true");
    let check = |path: &str, status: u16, code: &str| {
        let (found, refusal) = scene.ask("GET", path, "");
        assert_eq!((found, refusal["code"].as_str()), (status, Some(code)), "{path}");
        assert!(refusal["message"].is_string() && refusal["next"].is_string(), "{refusal}");
    };
    check("/v1/sessions/00000000-0000-4000-8000-000000000000", 404, "unknown-id");
    check("/v1/sessions/zz", 404, "malformed-id");
    check("/v1/sessions/..%2f..%2fetc", 404, "malformed-id");
    check("/v1/nothing", 404, "unknown-route");
    check("/", 404, "unknown-route");
    let (status, refusal) = scene.ask("DELETE", "/v1/host", "");
    assert_eq!((status, refusal["code"].as_str()), (405, Some("wrong-method")));
}

#[test]
fn the_status_has_its_published_form() {
    let scene = Scene::hosted();
    let mut status: Value =
        serde_json::from_str(&scene.world.out(&["host", "status", "--json"])).expect("JSON");
    for member in ["pid", "startTicks"] {
        assert!(status[member].is_u64(), "{status}");
        status[member] = 0.into();
    }
    for member in ["bootId", "epoch", "http", "version"] {
        assert!(status[member].is_string(), "{status}");
        status[member] = "<varies>".into();
    }
    let text = serde_json::to_string_pretty(&status).expect("JSON");
    insta::assert_snapshot!(scene.world.env.normal(&text));
    scene.world.run(&["host", "stop"]).success();
    let absent = scene.world.run(&["host", "status", "--json"]);
    insta::assert_snapshot!(absent.normal());
}

#[test]
fn the_document_that_is_served_is_the_one_that_is_committed() {
    let scene = Scene::hosted();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let stored = std::fs::read_to_string(path).expect("it is there");
    let (status, served) = scene.ask("GET", "/v1/openapi.json", "");
    let stored: Value = serde_json::from_str(&stored).expect("JSON");
    assert_eq!((status, served), (200, stored));
}
