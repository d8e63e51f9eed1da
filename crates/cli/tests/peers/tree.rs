//! An agent that gives work to another session, and returns what came of it.

use std::sync::Arc;

use libtest_mimic::Trial;

use crate::agent::Agent;
use crate::scene::{Ending, Scene};
use crate::server::Server;
use crate::shelf::{Equipment, Shelf, trial as trial_of};

/// Returns the trial.
pub(crate) fn trial(shelf: &Shelf, server: &Result<Arc<Server>, String>) -> Trial {
    let agent = Agent::named("claude");
    let lab = shelf.lab(agent, server);
    let name = "an_agent_returns_what_its_child_returned".to_owned();
    trial_of(name, &lab, |equipment| check(agent, equipment))
}

fn check(agent: &Agent, equipment: &Equipment) {
    let scene = Scene::of(agent, equipment);
    let child = "creel request -q sh 'creel session return --finish \"from below\"'";
    let prompt = format!("[[run creel session return --finish \"got: $({child})\"]]");
    let output = scene.request(agent.name, &prompt);
    let rows = scene.rows();
    let of = |runtime: &str| {
        let found = rows.iter().find(|row| row.runtime == runtime);
        found.expect("both sessions are listed").clone()
    };
    let (above, below) = (of(agent.name), of("sh"));
    assert_eq!((output.code, output.stdout.as_str()), (0, "got: from below"), "{output:?}");
    scene.until_ended(&above.id, 1);
    scene.until_ended(&below.id, 1);
    let ending = Ending::finished(&["returned"], "got: from below");
    assert_eq!(scene.ending(&above.id), ending, "{}", scene.story(&above.id));
    let ending = Ending { is_identified: false, ..Ending::finished(&["returned"], "from below") };
    assert_eq!(scene.ending(&below.id), ending, "{}", scene.story(&below.id));
    let kinship =
        (below.mode.as_str(), below.parent_session_id, below.depth, below.root_session_id);
    assert_eq!(kinship, ("subagent", Some(above.id.clone()), 1, above.id.clone()));
    assert!(scene.inspect(&above.id).dispatches.is_empty(), "{}", scene.story(&above.id));
}
