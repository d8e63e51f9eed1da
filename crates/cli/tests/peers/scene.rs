//! One trial's surroundings: a home with an agent's settings, a store, and calls of `creel`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use creel_api::inspect::SessionView;
use creel_api::session::SessionRow;
use creel_testkit::env::{Call, Output, TestEnv};

use crate::agent::Agent;
use crate::home::{Home, files};
use crate::shelf::Equipment;

/// What every agent uses as its key. Claude Code remembers the last 20 characters of one.
pub(crate) const KEY: &str = "lab-key-7f3a91c2d45e";

/// The key that the lab's settings name.
const LAB_KEY: &str = "test-key";

/// Seconds until a wait is given up. An agent takes 2 to 20 on a busy machine.
const WAIT_SECONDS: &str = "90";

/// The end of a transcript that a failure is told with: enough to see what the agent did.
const MAX_STORY_LINES: usize = 20;

/// Characters of each of its lines.
const MAX_STORY_CHARS: usize = 1000;

/// The surroundings. Dropped, every process in them is ended first.
#[derive(Debug)]
pub(crate) struct Scene {
    env: TestEnv,
    home: Home,
    variables: Vec<(String, String)>,
}

/// What became of a session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Its work state and its shelf.
    pub(crate) state: (String, String),
    /// Why each run ended.
    pub(crate) runs: Vec<String>,
    /// Its newest result.
    pub(crate) result: Option<String>,
    /// True when the agent's own session is known.
    pub(crate) is_identified: bool,
}

impl Ending {
    /// Returns the ending of a session that finished with `result` after such runs.
    pub(crate) fn finished(runs: &[&str], result: &str) -> Self {
        Self {
            state: ("finished".to_owned(), "finished".to_owned()),
            runs: runs.iter().map(|&reason| reason.to_owned()).collect(),
            result: Some(result.to_owned()),
            is_identified: true,
        }
    }
}

impl Scene {
    /// Makes surroundings without an agent.
    pub(crate) fn bare() -> Self {
        let scene = TestEnv::new(env!("CARGO_BIN_EXE_creel"));
        Self { env: scene, home: Home::new(), variables: Vec::new() }
    }

    /// Makes surroundings in which an agent finds the model server. Its key is [`KEY`].
    pub(crate) fn of(agent: &Agent, equipment: &Equipment) -> Self {
        let mut scene = Self::bare();
        let work = scene.work_dir();
        let lab = equipment.variables(agent, (scene.home(), &work));
        scene.variables = lab
            .into_iter()
            .map(|(name, value)| match name.as_str() {
                "PATH" => (name, format!("{}:{value}", scene.env.root().join("bin").display())),
                _ => (name, value.replace(LAB_KEY, KEY)),
            })
            .collect();
        scene.variables.push((agent.credential.to_owned(), KEY.to_owned()));
        for (name, content) in files(scene.home()) {
            let text = String::from_utf8(content).expect("settings are text");
            fs::write(scene.home().join(name), text.replace(LAB_KEY, KEY)).expect("it is ours");
        }
        scene
    }

    /// Returns the home.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Returns the folder that agents work in.
    pub(crate) fn work_dir(&self) -> PathBuf {
        self.env.work_dir()
    }

    /// Returns the folders that only Creel writes.
    pub(crate) fn own_dirs(&self) -> [PathBuf; 3] {
        let home = self.home();
        [home.join(".local/share/creel"), home.join(".local/state/creel"), self.env.runtime_dir()]
    }

    /// Returns the folder that marks every process of these surroundings.
    pub(crate) fn runtime_dir(&self) -> PathBuf {
        self.env.runtime_dir()
    }

    /// Puts a program on the PATH of these surroundings.
    pub(crate) fn add_program(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.env.root().join("bin").join(name);
        fs::write(&path, text).expect("it is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// Writes the user's own catalog.
    pub(crate) fn set_catalog(&self, text: &str) {
        let dir = self.home().join(".config/creel");
        fs::create_dir_all(&dir).expect("it is ours");
        fs::write(dir.join("catalog.toml"), text).expect("it is ours");
    }

    /// Prepares a call of `creel`.
    pub(crate) fn call(&self, arguments: &[&str]) -> Call<'_> {
        self.equipped(self.env.call(arguments))
    }

    fn equipped<'e>(&'e self, mut call: Call<'e>) -> Call<'e> {
        let home = self.home().to_owned();
        call = call.env("HOME", &home);
        for (name, dir) in [
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_CACHE_HOME", ".cache"),
        ] {
            call = call.env(name, home.join(dir));
        }
        self.variables.iter().fold(call, |call, (name, value)| call.env(name, value))
    }

    /// Calls `creel`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.call(arguments).run()
    }

    /// Gives a target a prompt and waits for the result.
    pub(crate) fn request(&self, target: &str, prompt: &str) -> Output {
        self.run(&["request", "-q", "--timeout", WAIT_SECONDS, target, prompt])
    }

    /// Waits for the outcome of a session's turn.
    pub(crate) fn wait(&self, id: &str) -> Output {
        self.run(&["wait", "--timeout", WAIT_SECONDS, id])
    }

    /// Waits until so many runs of a session have ended.
    pub(crate) fn until_ended(&self, id: &str, runs: usize) {
        let arguments = [WAIT_SECONDS, "creel", "events", id, "--follow", "--json"];
        let mut follower = self.equipped(self.env.call_of("timeout", &arguments)).spawn();
        let lines = BufReader::new(follower.stdout.take().expect("it is piped")).lines();
        let ends = lines.map_while(Result::ok).filter(|line| line.contains("orbh.run.ended"));
        assert_eq!(ends.take(runs).count(), runs, "{}", self.story(id));
        // Its child is ended with the surroundings.
        follower.kill().expect("it is ours");
        follower.wait().expect("it is ours");
    }

    /// Returns the only session of the store.
    pub(crate) fn only_session(&self) -> String {
        let rows = self.rows();
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows[0].id.clone()
    }

    /// Returns every session of the store.
    pub(crate) fn rows(&self) -> Vec<SessionRow> {
        let list = self.run(&["list", "--json"]).success().stdout;
        list.lines().map(|line| serde_json::from_str(line).expect("it is a row")).collect()
    }

    /// Returns a session, whole.
    pub(crate) fn inspect(&self, id: &str) -> SessionView {
        let json = self.run(&["inspect", id, "--json", "--results"]).success().stdout;
        serde_json::from_str(&json).expect("it is a session")
    }

    /// Returns what became of a session.
    pub(crate) fn ending(&self, id: &str) -> Ending {
        let view = self.inspect(id);
        let reason = |reason: &Option<String>| reason.clone().unwrap_or_else(|| "live".to_owned());
        Ending {
            state: (view.work_state, view.retention),
            runs: view.runs.iter().map(|run| reason(&run.end_reason)).collect(),
            result: view.runs.into_iter().rev().find_map(|run| run.result?.text),
            is_identified: view.native_session_id.is_some(),
        }
    }

    /// Returns what a failure is told with: the session's events and the end of what its agent
    /// printed.
    pub(crate) fn story(&self, id: &str) -> String {
        let events = self.run(&["events", id]).stdout;
        let view = self.inspect(id);
        let transcript = fs::read_to_string(&view.paths.transcript).unwrap_or_default();
        let cut = |line: &str| line.chars().take(MAX_STORY_CHARS).collect::<String>();
        let lines: Vec<String> = transcript.lines().map(cut).collect();
        let tail = lines[lines.len().saturating_sub(MAX_STORY_LINES)..].join("\n");
        format!("{events}\n{tail}\n")
    }
}
