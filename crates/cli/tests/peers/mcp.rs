//! The channel that an agent doesn't use by itself: tools of `creel mcp` for those that return in
//! their shell, and the other way round.

use std::fs;

use libtest_mimic::Trial;

use crate::agent::{Agent, Channel};
use crate::scene::{Ending, Scene};
use crate::shelf::{Equipment, Lab, trial as trial_of};

/// Returns the agent's trial.
pub(crate) fn trial(agent: &'static Agent, lab: &Lab) -> Trial {
    let name = match agent.channel {
        Channel::Shell => format!("{}_returns_by_mcp", agent.name),
        Channel::Mcp => format!("{}_without_its_sandbox_returns_by_its_shell", agent.name),
    };
    trial_of(name, lab, |equipment| check(agent, equipment))
}

fn check(agent: &Agent, equipment: &Equipment) {
    let scene = Scene::of(agent, equipment);
    let other = match agent.channel {
        Channel::Shell => Channel::Mcp,
        Channel::Mcp => Channel::Shell,
    };
    let catalog =
        format!("[harness.{}.profiles.other]\nchannel = \"{}\"\n", agent.name, other.as_str());
    scene.set_catalog(&catalog);
    // What the user has set there must be as it was.
    for name in agent.configuration {
        let path = scene.home().join(name);
        if !path.exists() {
            fs::create_dir_all(path.parent().expect("it is below a home")).expect("it is ours");
            let text = if name.ends_with(".json") { "{\"mcpServers\": {}}" } else { "Be brief.\n" };
            fs::write(path, text).expect("it is ours");
        }
    }
    let configuration = || {
        let files = agent.configuration.iter();
        files.map(|name| fs::read_to_string(scene.home().join(name)).ok()).collect::<Vec<_>>()
    };
    let before = configuration();

    let title = format!("Work of {}", agent.name);
    let register = match other {
        Channel::Mcp => {
            let arguments = serde_json::json!({ "title": title, "description": "In one line" });
            agent.tool("register", &arguments)
        }
        Channel::Shell => format!("[[run creel session register \"{title}\" \"In one line\"]]"),
    };
    let result = "by the other way \u{2014} \"quoted\", 'quoted', $HOME\nand a second line";
    let finish = match other {
        Channel::Mcp => agent.finish(other, result),
        Channel::Shell => "[[run cat result | creel session return --finish -]]".to_owned(),
    };
    fs::write(scene.work_dir().join("result"), result).expect("it is ours");
    let output = scene.request(&format!("{}/other", agent.name), &(register + &finish));
    let id = scene.only_session();
    assert_eq!((output.code, output.stdout.as_str()), (0, result), "{}", scene.story(&id));
    scene.until_ended(&id, 1);
    assert_eq!(scene.ending(&id), Ending::finished(&["returned"], result), "{}", scene.story(&id));
    let view = scene.inspect(&id);
    assert_eq!((view.title, view.profile), (Some(title), Some("other".to_owned())));
    assert_eq!(configuration(), before);
}
