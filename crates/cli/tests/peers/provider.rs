//! A model that refuses the request.

use libtest_mimic::Trial;

use crate::agent::Agent;
use crate::scene::{Ending, Scene};
use crate::shelf::{Equipment, Lab, trial as trial_of};

/// Returns the agent's trial.
pub(crate) fn trial(agent: &'static Agent, lab: &Lab) -> Trial {
    let name = format!("{}_provider_error_rests_as_awaiting", agent.name);
    trial_of(name, lab, |equipment| check(agent, equipment))
}

fn check(agent: &Agent, equipment: &Equipment) {
    let scene = Scene::of(agent, equipment);
    let output = scene.request(agent.name, "[[error 400 the model is out today]]");
    let id = scene.only_session();
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    // What the model's side said is told, not only that it failed.
    for part in ["api-error", "api: ", "the model is out today"] {
        assert!(output.stderr.contains(part), "{output:?}");
    }
    let ending = scene.ending(&id);
    let expected = Ending {
        state: ("awaiting".to_owned(), "error".to_owned()),
        runs: vec!["provider-error".to_owned()],
        result: None,
        // Some agents start a session of their own before they ask the model, some after.
        is_identified: ending.is_identified,
    };
    assert_eq!(ending, expected, "{}", scene.story(&id));
}
