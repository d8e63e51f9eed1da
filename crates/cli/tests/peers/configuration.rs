//! What Creel does to the configuration of an agent: nothing. A stand-in takes the agent's place,
//! so that every change is Creel's; no agent has to be installed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use libtest_mimic::Trial;

use crate::agent::{Agent, Channel};
use crate::home::files;
use crate::scene::Scene;

/// Returns its result in whatever way it is started.
const STAND_IN: &str = "#!/bin/sh\ncat > /dev/null\nexec creel session return --finish done\n";

/// Files of the user's that an agent reads.
const READ_BY_AGENTS: [&str; 12] = [
    ".claude.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".config/opencode/opencode.json",
    ".copilot/config.json",
    ".copilot/mcp-config.json",
    ".gemini/settings.json",
    ".gemini/trustedFolders.json",
    ".pi/agent/models.json",
    ".pi/agent/settings.json",
    ".qwen/settings.json",
    ".profile",
];

/// Returns the agent's trial.
pub(crate) fn trial(agent: &'static Agent) -> Trial {
    let name = format!("creel_leaves_the_configuration_of_{}_alone", agent.name);
    Trial::test(name, || {
        check(agent);
        Ok(())
    })
}

fn check(agent: &Agent) {
    let scene = Scene::bare();
    scene.add_program(agent.name, STAND_IN);
    let channels = [Channel::Shell, Channel::Mcp].map(Channel::as_str);
    let profile = |c: &str| format!("[harness.{}.profiles.{c}]\nchannel = \"{c}\"\n", agent.name);
    scene.set_catalog(&channels.map(profile).concat());
    for name in READ_BY_AGENTS {
        let path = scene.home().join(name);
        fs::create_dir_all(path.parent().expect("it is below a home")).expect("it is ours");
        fs::write(path, format!("the user's own {name}")).expect("it is ours");
    }
    let before = everything(&scene);
    for channel in channels {
        let output = scene.request(&format!("{}/{channel}", agent.name), "work");
        assert_eq!((output.code, output.stdout.as_str()), (0, "done"), "{output:?}");
    }
    for row in scene.rows() {
        scene.until_ended(&row.id, 1);
    }
    assert_eq!(everything(&scene), before);
}

/// Every file of the home and the working directory that isn't in a folder of Creel's own.
fn everything(scene: &Scene) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for dir in [scene.home().to_owned(), scene.work_dir()] {
        all.extend(files(&dir).into_iter().map(|(name, content)| (dir.join(name), content)));
    }
    all.retain(|path, _| scene.own_dirs().iter().all(|own| !path.starts_with(own)));
    all
}
