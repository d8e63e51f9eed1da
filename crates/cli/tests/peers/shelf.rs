//! Which agents are installed here, and the surroundings in which each finds the model server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;

use crate::agent::{AGENTS, Agent};
use crate::server::Server;

/// The lab's script.
pub(crate) const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/agent.sh");

/// Where agents are installed, and which of them are.
#[derive(Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
    present: Vec<&'static str>,
}

/// An agent to work with, or why there is none.
pub(crate) type Lab = Result<Equipment, String>;

/// What a trial needs to work with an agent.
#[derive(Clone, Debug)]
pub(crate) struct Equipment {
    /// The model server that it talks to.
    pub(crate) server: Arc<Server>,
    folder: PathBuf,
}

impl Shelf {
    /// Looks where `cargo xtask peers` installs.
    pub(crate) fn look() -> Self {
        let folder = folder();
        let is_present = |name: &&str| {
            let output = script(&folder).args(["program", name]).output();
            output.is_ok_and(|output| output.status.success())
        };
        let has_node = runs("node", &["--version"]);
        let names = AGENTS.iter().map(|agent| agent.name);
        let present = if has_node { names.filter(is_present).collect() } else { Vec::new() };
        Self { folder, present }
    }

    /// Returns how many agents are installed.
    pub(crate) fn count(&self) -> usize {
        self.present.len()
    }

    /// Returns what is needed to work with an agent.
    pub(crate) fn lab(&self, agent: &Agent, server: &Result<Arc<Server>, String>) -> Lab {
        let name = agent.name;
        if !self.present.contains(&name) {
            return Err(format!("no {name}"));
        }
        let server = server.as_ref().map_err(Clone::clone)?;
        Ok(Equipment { server: Arc::clone(server), folder: self.folder.clone() })
    }
}

impl Equipment {
    /// Writes the agent's settings below `home`, and returns its variables. `work` is the folder
    /// that it will be started in.
    pub(crate) fn variables(
        &self,
        agent: &Agent,
        (home, work): (&Path, &Path),
    ) -> Vec<(String, String)> {
        let output = script(&self.folder)
            .args(["env", agent.name])
            .env("LAB_HOME", home)
            .env("LAB_PORT", self.server.port().to_string())
            .env_remove("LAB_ENV")
            .current_dir(work)
            .output()
            .expect("the lab's script can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("variables are text");
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

/// Returns a trial with an agent, or an ignored one when it is missing.
pub(crate) fn trial(
    name: String,
    lab: &Lab,
    run: impl FnOnce(&Equipment) + Send + 'static,
) -> Trial {
    match lab.clone() {
        Ok(equipment) => Trial::test(name, move || {
            run(&equipment);
            Ok(())
        }),
        Err(why) => ignored(name, why),
    }
}

/// Returns a trial that only says why it can't be run.
pub(crate) fn ignored(name: String, why: String) -> Trial {
    let kind = why.clone();
    Trial::test(name, move || Err(why.into())).with_kind(kind).with_ignored_flag(true)
}

/// True when a program can be started and is content.
pub(crate) fn runs(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

fn script(folder: &Path) -> Command {
    let mut command = Command::new(SCRIPT);
    command.env("LAB_DIR", folder);
    command
}

fn folder() -> PathBuf {
    let named = |name| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = || {
        let home = || named("HOME").map(|home| home.join(".cache"));
        named("XDG_CACHE_HOME").or_else(home).unwrap_or_default().join("creel/peers")
    };
    named("CREEL_PEERS_DIR").unwrap_or_else(cache)
}
