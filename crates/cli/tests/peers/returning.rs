//! An agent that ends without a return, and what brings its session to a result after all.

use libtest_mimic::Trial;

use crate::agent::Agent;
use crate::scene::{Ending, Scene};
use crate::shelf::{Equipment, Lab, trial as trial_of};

/// Returns the agent's trial.
pub(crate) fn trial(agent: &'static Agent, lab: &Lab) -> Trial {
    let name = format!("{}_without_a_return_is_asked_twice_and_resumes", agent.name);
    trial_of(name, lab, |equipment| check(agent, equipment))
}

fn check(agent: &Agent, equipment: &Equipment) {
    let scene = Scene::of(agent, equipment);
    let first = format!("[[say the first word of {}]]", agent.name);
    let output = scene.request(agent.name, &first);
    let id = scene.only_session();
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(output.stderr.contains("failed-unreturned"), "{output:?}");
    let unreturned = Ending {
        state: ("awaiting".to_owned(), "error".to_owned()),
        runs: ["exit-zero", "exit-zero", "failed-unreturned"].map(str::to_owned).into(),
        result: None,
        is_identified: true,
    };
    assert_eq!(scene.ending(&id), unreturned, "{}", scene.story(&id));
    let native = scene.inspect(&id).native_session_id;

    let second = format!("And now: {}", agent.finish(agent.channel, "the last word"));
    let resumed = scene.run(&["resume", &id, &second]);
    assert_eq!((resumed.code, resumed.stdout), (0, format!("{id}\n")));
    assert_eq!(scene.wait(&id).stdout, format!("{id} result run 4\n"), "{}", scene.story(&id));
    scene.until_ended(&id, 4);
    let runs = ["exit-zero", "exit-zero", "failed-unreturned", "returned"];
    assert_eq!(scene.ending(&id), Ending::finished(&runs, "the last word"), "{}", scene.story(&id));

    // The agent's own conversation went on: the last run told the model what the first was told.
    assert_eq!(scene.inspect(&id).native_session_id, native);
    let conversations = equipment.server.prompts_with(&[&id, "And now: "]);
    assert!(!conversations.is_empty(), "no run was told of the new prompt");
    let has_first = |texts: &Vec<String>| texts.iter().any(|text| text.contains(&first));
    assert!(conversations.iter().all(has_first), "{conversations:?}");
    let asked = ["re-prompt 1 of 2", "re-prompt 2 of 2"];
    let is_asked = |texts: &Vec<String>| {
        asked.iter().all(|mark| texts.iter().filter(|text| text.contains(mark)).count() == 1)
    };
    assert!(conversations.iter().all(is_asked), "{conversations:?}");
}
