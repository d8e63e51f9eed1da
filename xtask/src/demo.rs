//! `cargo xtask demo-survive`: three agents in three worktrees outlive everything above them, told
//! step by step to whoever runs it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

const AGENTS: [(&str, &str); 3] = [("fix-login", "31"), ("new-search", "32"), ("docs", "34")];

/// How often viewers are looked for: each look starts a process, so that this takes seconds.
const MAX_LOOKS: u32 = 1000;

/// Runs the demonstration; fails when an agent ended or a screen changed.
pub(crate) fn survive(root: &Path) -> Result<ExitCode> {
    say("build", "the program, installed at a path of its own");
    let built = build(root)?;
    let scene = Scene::new(&built)?;
    let told = scene.play(&built);
    scene.end();
    told?;
    say("done", "no agent noticed anything");
    Ok(ExitCode::SUCCESS)
}

fn say(step: &str, text: &str) {
    println!("{step:>10}  {text}");
}

fn build(root: &Path) -> Result<PathBuf> {
    let output = Command::new("cargo")
        .args(["build", "--quiet", "--package", "creel-cli", "--bin", "creel"])
        .args(["--message-format", "json"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    ensure!(output.status.success(), "the build failed");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back()
        .context("cargo named no executable")
}

/// A home, a repository and a program that belong to this demonstration alone.
struct Scene {
    dir: PathBuf,
    creel: PathBuf,
}

/// What must be the same before and after.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    agent_pid: i64,
    screen: String,
}

impl Scene {
    fn new(built: &Path) -> Result<Self> {
        // Short, since the paths of sockets are.
        let dir = PathBuf::from(format!("/tmp/creel-demo-{}", std::process::id()));
        for part in ["home", "repo", "bin"] {
            fs::create_dir_all(dir.join(part))?;
        }
        let scene = Self { creel: dir.join("bin/creel"), dir };
        scene.install(built)?;
        let git = |arguments: &[&str]| scene.run(Command::new("git").args(arguments));
        git(&["init", "--quiet", "--initial-branch", "main"])?;
        let person = ["-c", "user.name=Demo", "-c", "user.email=demo@localhost"];
        git(&[&person[..], &["commit", "--quiet", "--allow-empty", "-m", "begin"]].concat())?;
        Ok(scene)
    }

    fn play(&self, built: &Path) -> Result<()> {
        let ids = self.start()?;
        let before = self.look(&ids)?;
        for (name, seen) in &before {
            println!("\n--- {name}, agent {}\n{}", seen.agent_pid, seen.screen);
        }
        println!();

        say("viewers", "three are attached, and killed with SIGKILL");
        let viewers: Vec<_> = ids.values().map(|id| self.view(id)).collect::<Result<_>>()?;
        self.await_viewers(ids.len())?;
        for mut viewer in viewers {
            viewer.kill()?;
            viewer.wait()?;
        }
        self.check(&ids, &before)?;

        self.kill_keepers(ids.len())?;
        self.check(&ids, &before)?;

        say("upgrade", "the program is replaced on disk, and the keepers killed once more");
        self.install(built)?;
        self.kill_keepers(ids.len())?;
        self.check(&ids, &before)?;

        say("alive", "each agent still answers what is typed");
        for id in ids.values() {
            self.creel(&["terminal", "send", id, "--enter", "--until", "echoed", "still here"])?;
        }
        Ok(())
    }

    /// Puts the program at its path by a rename, as an upgrade does.
    fn install(&self, built: &Path) -> Result<()> {
        let next = self.dir.join("bin/next");
        fs::copy(built, &next)?;
        Ok(fs::rename(next, &self.creel)?)
    }

    fn start(&self) -> Result<BTreeMap<&'static str, String>> {
        let mut ids = BTreeMap::new();
        for (name, colour) in AGENTS {
            let line = format!(
                "printf '\\033[2J\\033[H\\033[{colour};1m{name}\\033[0m works in '; basename \"$PWD\"; \
                 seq -s ' ' 1 20; exec cat"
            );
            let id = self.creel(&["interactive", "--detached", "--worktree", name, "shell"])?;
            self.creel(&["terminal", "send", &id, "--enter", &line])?;
            self.creel(&["terminal", "send", &id, "--enter", "--until", "echoed", "ready"])?;
            say("start", &format!("{name}: session {id}"));
            ids.insert(name, id);
        }
        Ok(ids)
    }

    fn look(&self, ids: &BTreeMap<&'static str, String>) -> Result<BTreeMap<&'static str, Seen>> {
        ids.iter()
            .map(|(name, id)| {
                let session: Value =
                    serde_json::from_str(&self.creel(&["inspect", "--json", id])?)?;
                let agent_pid = session["currentRun"]["pid"].as_i64().context("no living agent")?;
                let screen = self.creel(&["terminal", "read", "--text", id])?;
                Ok((*name, Seen { agent_pid, screen }))
            })
            .collect()
    }

    fn check(
        &self,
        ids: &BTreeMap<&'static str, String>,
        before: &BTreeMap<&'static str, Seen>,
    ) -> Result<()> {
        let now = self.look(ids)?;
        ensure!(now == *before, "before: {before:#?}\nnow: {now:#?}");
        say("same", "three agents, three screens");
        Ok(())
    }

    /// Attaches a viewer on a terminal of its own.
    fn view(&self, id: &str) -> Result<Child> {
        let attach = format!("{} attach {id}", self.creel.display());
        let viewer = self
            .in_scene(Command::new("script").args(["--quiet", "--command", &attach, "/dev/null"]))
            // Open and silent: an end would be typed on.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("starting script (of util-linux)")?;
        Ok(viewer)
    }

    /// Asks until each terminal has its viewer.
    fn await_viewers(&self, count: usize) -> Result<()> {
        for _ in 0..MAX_LOOKS {
            let listed = self.creel(&["terminal", "list", "--json"])?;
            let is_viewed = |line: &str| {
                serde_json::from_str::<Value>(line).is_ok_and(|row| {
                    row["terminal"]["viewers"].as_array().is_some_and(|all| !all.is_empty())
                })
            };
            if listed.lines().filter(|line| is_viewed(line)).count() == count {
                return Ok(());
            }
        }
        bail!("no viewer came");
    }

    fn kill_keepers(&self, count: usize) -> Result<()> {
        let keepers = self.processes("keep")?;
        ensure!(keepers.len() == count, "found the keepers {keepers:?}");
        say("keepers", &format!("{keepers:?} are killed with SIGKILL"));
        for pid in keepers {
            self.run(Command::new("kill").args(["-KILL", &pid.to_string()]))?;
        }
        Ok(())
    }

    /// Finds this demonstration's own processes with one entry point.
    fn processes(&self, entry: &str) -> Result<Vec<i32>> {
        let home = format!("HOME={}", self.dir.join("home").display());
        let mut found = Vec::new();
        for dir in fs::read_dir("/proc")? {
            let Some(pid) = dir?.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let read = |what: &str| fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
            let has = |bytes: &[u8], wanted: &str| {
                bytes.split(|byte| *byte == 0).any(|part| part == wanted.as_bytes())
            };
            if has(&read("cmdline"), entry) && has(&read("environ"), &home) {
                found.push(pid);
            }
        }
        Ok(found)
    }

    fn creel(&self, arguments: &[&str]) -> Result<String> {
        self.run(Command::new(&self.creel).args(arguments))
    }

    fn in_scene<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.join("home"))
            .env("CREEL_RUNTIME_DIR", self.dir.join("rt"))
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .env("PS1", "$ ")
            .current_dir(self.dir.join("repo"))
    }

    fn run(&self, command: &mut Command) -> Result<String> {
        let output = self.in_scene(command).output()?;
        if !output.status.success() {
            bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Ends the agents and removes everything; what can't be removed is left in `/tmp`.
    fn end(&self) {
        let listed = self.creel(&["terminal", "list", "--json"]).unwrap_or_default();
        for row in listed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if let Some(id) = row["sessionId"].as_str()
                && let Err(error) = self.creel(&["kill", id])
            {
                eprintln!("xtask: {error:#}");
            }
        }
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            eprintln!("xtask: {}: {error}", self.dir.display());
        }
    }
}
