//! A hermetic home with what tests of runs ask of it.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use creel_record::{Session, SessionId};
use creel_spool::Store;
use creel_sys::Deadline;
use creel_sys::boot::boot_id;
use creel_sys::os_fs::OsFs;
use creel_sys::watch::DirWatch;
use creel_testkit::env::{Call, Output, TestEnv};

/// Far longer than anything here takes on a busy machine; only a hang is cut.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// One home.
pub(crate) struct World {
    pub(crate) env: TestEnv,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { env: TestEnv::new(env!("CARGO_BIN_EXE_creel")) }
    }

    pub(crate) fn call(&self, arguments: &[&str]) -> Call<'_> {
        self.env.call(arguments)
    }

    /// Calls `creel`.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.env.run(arguments)
    }

    /// Calls `creel`, which must succeed, and returns what it printed, without its last newline.
    #[track_caller]
    pub(crate) fn out(&self, arguments: &[&str]) -> String {
        self.run(arguments).success().stdout.trim_end_matches('\n').to_owned()
    }

    /// Calls `creel`, which must refuse with this exit code and code word; returns the refusal.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &[&str], code: i32, word: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.code, code, "{output:?}");
        assert!(output.stderr.contains(&format!("[{word}]")), "{output:?}");
        assert!(output.stderr.contains("\nNext: "), "{output:?}");
        output.stderr
    }

    /// Launches a script.
    #[track_caller]
    pub(crate) fn launch(&self, script: &str) -> SessionId {
        self.out(&["launch", "sh", script]).parse().expect("launch prints an id")
    }

    /// Opens the machine store.
    pub(crate) fn store(&self) -> Store {
        open(&self.env.store_root())
    }

    /// Counts the sessions of the machine store; none when nobody has made it.
    pub(crate) fn store_ids(&self) -> usize {
        if !self.env.store_root().join("manifest.json").exists() {
            return 0;
        }
        self.store().ids().expect("readable").len()
    }

    /// Reads a session as it is published.
    pub(crate) fn session(&self, id: SessionId) -> Session {
        self.store().read(id).expect("the session is readable").snapshot.session
    }

    /// Waits until a session is as it shall be.
    #[track_caller]
    pub(crate) fn until(&self, id: SessionId, holds: impl FnMut(&Session) -> bool) -> Session {
        until(&self.store(), id, holds)
    }

    /// Waits until a session's agent has set the key `phase` to `phase`.
    #[track_caller]
    pub(crate) fn until_phase(&self, id: SessionId, phase: &str) -> Session {
        self.until(id, |session| session.interface.get("phase").is_some_and(|p| p == phase))
    }

    /// Waits until the log of a session's first run holds a text; returns the log.
    #[track_caller]
    pub(crate) fn until_logged(&self, id: SessionId, text: &str) -> String {
        let dir = self.store().run_dir(id, 1);
        let watch = DirWatch::new(&dir).expect("it can be watched");
        let deadline = Deadline::after(DEADLINE);
        loop {
            let log = fs::read_to_string(dir.join("log")).unwrap_or_default();
            if log.contains(text) {
                return log;
            }
            assert!(!deadline.is_past(), "in time; it is {log}");
            watch.wait(deadline.remaining()).expect("the watch works");
        }
    }

    /// Waits until nobody runs a session any more; what follows a run has begun by then.
    #[track_caller]
    pub(crate) fn at_rest(&self, id: SessionId) -> Session {
        let lease = self.store().lease_within(id, DEADLINE).expect("the lease can be asked for");
        drop(lease.expect("the lease comes free in time"));
        self.session(id)
    }

    /// Makes a pipe with a name, at which agents wait.
    pub(crate) fn gate(&self, name: &str) -> Gate {
        let path = self.env.work_dir().join(name);
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo is there");
        assert!(made.success());
        Gate { path }
    }

    /// Reads a file of the working directory; nothing when it isn't there.
    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.env.work_dir().join(name)).unwrap_or_default()
    }

    /// Puts a program on the PATH of all calls.
    pub(crate) fn program(&self, name: &str, script: &str) {
        let path = self.env.root().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("it can be written");
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// Writes a file of the user's configuration.
    pub(crate) fn configure(&self, name: &str, text: &str) {
        let dir = self.env.home().join(".config/creel");
        fs::create_dir_all(&dir).expect("a directory");
        fs::write(dir.join(name), text).expect("it can be written");
    }
}

/// Opens a store.
pub(crate) fn open(root: &Path) -> Store {
    let boot_id = boot_id().expect("a boot");
    Store::open(root, Arc::new(OsFs), &boot_id).expect("the store is there")
}

/// Waits until a session of a store is as it shall be.
#[track_caller]
pub(crate) fn until(
    store: &Store,
    id: SessionId,
    mut holds: impl FnMut(&Session) -> bool,
) -> Session {
    let mut watch = store.watch().expect("the store can be watched");
    let deadline = Deadline::after(DEADLINE);
    loop {
        let session = store.read(id).expect("the session is readable").snapshot.session;
        if holds(&session) {
            return session;
        }
        assert!(!deadline.is_past(), "in time; it is {session:#?}");
        watch.wait(deadline.remaining()).expect("the watch works");
    }
}

/// A named pipe. An agent that reads it waits until the test opens it.
pub(crate) struct Gate {
    path: PathBuf,
}

impl Gate {
    /// The words that wait here. An opener that is just leaving gives an empty read.
    pub(crate) fn wait(&self) -> String {
        format!("until read line < {}; do :; done", self.path.display())
    }

    /// Lets one waiting agent go on; waits until there is one.
    pub(crate) fn open(&self) {
        self.say("go");
    }

    /// Gives one waiting agent a line; waits until there is one.
    pub(crate) fn say(&self, line: &str) {
        // A child of its own, since opening waits for the reader; it ends with the test at last.
        let mut opener = Command::new("timeout")
            .args(["90", "sh", "-c", "echo \"$1\" > \"$0\""])
            .arg(&self.path)
            .arg(line)
            .stdin(Stdio::null())
            .spawn()
            .expect("it can be started");
        assert!(opener.wait().expect("it ends").success(), "an agent waits at the gate");
    }
}

/// Ends of runs, by the numbers of the runs.
pub(crate) fn ends(session: &Session) -> Vec<&'static str> {
    session.runs.iter().map(|run| run.end_reason.map_or("live", |r| r.as_str())).collect()
}

/// Work state and shelf.
pub(crate) fn shelf(session: &Session) -> (&'static str, &'static str) {
    (session.work_state().as_str(), session.retention.as_str())
}

/// Returns the id that a request tells first.
pub(crate) fn told(request: &mut Child) -> String {
    let stderr = request.stderr.as_mut().expect("it is piped");
    let mut line = Vec::new();
    // Byte by byte, so that what follows is left for whoever waits for the end.
    let mut byte = [0];
    while stderr.read(&mut byte).expect("it can be read") == 1 && byte != *b"\n" {
        line.extend(byte);
    }
    let line = String::from_utf8(line).expect("text");
    line.strip_prefix("Session: ").expect("its id").to_owned()
}
