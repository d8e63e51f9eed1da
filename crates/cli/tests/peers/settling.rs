//! One request to an agent, and what is left of it.

use std::collections::BTreeSet;
use std::fs;

use creel_api::inspect::SessionView;
use creel_api::transcript::{Content, Entry};
use libtest_mimic::Trial;

use crate::agent::Agent;
use crate::gate::{self, pass};
use crate::home::files;
use crate::scene::{Ending, KEY, Scene};
use crate::shelf::{Equipment, Lab, trial as trial_of};

/// Returns the agent's trial.
pub(crate) fn trial(agent: &'static Agent, lab: &Lab) -> Trial {
    let name = format!("{}_settles_to_a_result", agent.name);
    trial_of(name, lab, |equipment| check(agent, equipment))
}

fn check(agent: &Agent, equipment: &Equipment) {
    let scene = Scene::of(agent, equipment);
    let result = format!("hello from {}", agent.name);
    let prompt = format!("{}{}", gate::STEP, agent.finish(agent.channel, &result));
    let runtime = scene.runtime_dir();
    let look = || Process::all().filter(|process| process.has(&runtime)).collect::<Vec<_>>();
    let (output, seen) = pass(&scene.work_dir(), look, || scene.request(agent.name, &prompt));

    let id = scene.only_session();
    let expected = (0, result.as_str(), format!("Session: {id}\n"));
    assert_eq!(
        (output.code, output.stdout.as_str(), output.stderr),
        expected,
        "{}",
        scene.story(&id)
    );
    scene.until_ended(&id, 1);
    assert_eq!(scene.ending(&id), Ending::finished(&["returned"], &result), "{}", scene.story(&id));
    check_transcript(&scene.inspect(&id), (&prompt, &result));
    check_secrecy(&scene, &seen.expect("the agent came to the gate"));
}

/// The transcript tells the whole run, in order.
fn check_transcript(view: &SessionView, (prompt, result): (&str, &str)) {
    let text = fs::read_to_string(&view.paths.transcript).expect("there is a transcript");
    let entries: Vec<Entry> =
        text.lines().map(|line| serde_json::from_str(line).expect("it is an entry")).collect();
    assert!(entries.iter().map(|entry| entry.seq).eq(1..=entries.len() as u64), "{text}");
    let said = |entry: &Entry| match &entry.content {
        Content::RunStarted { .. } => "started".to_owned(),
        Content::Message { role, text, .. } => format!("{role}: {text}"),
        Content::Raw { stream, .. } => stream.clone(),
        Content::Result { disposition, text, .. } => format!("{disposition}: {text}"),
        Content::RunEnded { .. } => "ended".to_owned(),
        Content::Gap { reason, .. } => format!("gap: {reason}"),
        Content::Unknown => "unknown".to_owned(),
    };
    let said: BTreeSet<String> = entries.iter().map(said).filter(|said| said != "stderr").collect();
    let expected = [
        "started".to_owned(),
        format!("user: {prompt}"),
        "stdout".to_owned(),
        format!("finish: {result}"),
        "ended".to_owned(),
    ];
    assert_eq!(said, expected.into());
}

/// The agent had its key; no command line and no file of Creel's does.
fn check_secrecy(scene: &Scene, processes: &[Process]) {
    assert!(processes.iter().any(|process| contains(&process.environment, KEY)));
    let holds = |process: &&Process| contains(&process.arguments, KEY);
    assert!(processes.iter().find(holds).is_none(), "a command line holds the key");
    for dir in scene.own_dirs() {
        for (name, content) in files(&dir) {
            assert!(!contains(&content, KEY), "{} in {}", name.display(), dir.display());
        }
    }
}

/// What others of the same user see of a process.
#[derive(Debug)]
struct Process {
    arguments: Vec<u8>,
    environment: Vec<u8>,
}

impl Process {
    fn all() -> impl Iterator<Item = Self> {
        let entries = fs::read_dir("/proc").expect("/proc can be read").flatten();
        entries.filter_map(|entry| {
            let read = |name| fs::read(entry.path().join(name)).ok();
            Some(Self { arguments: read("cmdline")?, environment: read("environ")? })
        })
    }

    fn has(&self, runtime_dir: &std::path::Path) -> bool {
        contains(&self.environment, &format!("CREEL_RUNTIME_DIR={}", runtime_dir.display()))
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
