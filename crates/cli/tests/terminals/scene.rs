//! A home with a session on a terminal.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use creel_api::keeper::Status;
use creel_api::terminal::TerminalStatus;
use creel_keeper::client::Client;
use creel_record::{Run, Session, SessionId};
use creel_spool::Store;
use creel_sys::boot::boot_id;
use creel_sys::os_fs::OsFs;
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::runtime_dir::RuntimeDir;
use creel_sys::tree::{ProcessTable, cmdline};
use creel_sys::{Deadline, MAX_WAIT};
use creel_testkit::env::{Call, Output, TestEnv};
use creel_testkit::viewing::Viewing;

/// Far longer than anything here takes on a busy machine; only a hang is cut.
pub(crate) const LONG: Duration = Duration::from_secs(90);

/// A home.
pub(crate) struct Scene {
    pub(crate) env: TestEnv,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { env: TestEnv::new(env!("CARGO_BIN_EXE_creel")) }
    }

    pub(crate) fn call(&self, arguments: &[&str]) -> Call<'_> {
        self.env.call(arguments).env("SHELL", "/bin/sh").env("PS1", "$ ")
    }

    /// Calls `creel`, which must succeed, and returns what it printed.
    #[track_caller]
    pub(crate) fn out(&self, arguments: &[&str]) -> String {
        self.call(arguments).run().success().stdout.trim_end_matches('\n').to_owned()
    }

    /// Calls `creel`, which must refuse with this exit code and word.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &[&str], code: i32, word: &str) -> Output {
        let output = self.call(arguments).run();
        assert_eq!(output.code, code, "{output:?}");
        assert!(output.stderr.contains(&format!("[{word}]")), "{output:?}");
        assert!(output.stderr.contains("\nNext: "), "{output:?}");
        output
    }

    /// Starts a script on a terminal, followed by a shell.
    #[track_caller]
    pub(crate) fn start(&self, script: &str) -> SessionId {
        self.out(&["interactive", "--detached", "sh", script]).parse().expect("an id")
    }

    /// Attaches a person's terminal.
    pub(crate) fn attach(&self, id: SessionId, size: (u16, u16)) -> Viewing {
        self.call(&["attach", &id.to_string()]).on_terminal(size.0, size.1)
    }

    pub(crate) fn store(&self) -> Store {
        let boot_id = boot_id().expect("a boot");
        Store::open(&self.env.store_root(), Arc::new(OsFs), &boot_id).expect("the store is there")
    }

    pub(crate) fn session(&self, id: SessionId) -> Session {
        self.store().read(id).expect("the session is readable").snapshot.session
    }

    pub(crate) fn run_dir(&self, id: SessionId) -> PathBuf {
        self.store().run_dir(id, self.session(id).run_count)
    }

    /// Waits until a session is as it shall be.
    #[track_caller]
    pub(crate) fn until(&self, id: SessionId, holds: impl Fn(&Session) -> bool) -> Session {
        let store = self.store();
        let mut watch = store.watch().expect("the store can be watched");
        let deadline = Deadline::after(LONG);
        loop {
            let session = store.read(id).expect("the session is readable").snapshot.session;
            if holds(&session) {
                return session;
            }
            assert!(!deadline.is_past(), "in time; it is {session:#?}");
            watch.wait(deadline.remaining()).expect("the watch works");
        }
    }

    /// Waits for the recorded end of a session's run, and for its holder to be gone.
    #[track_caller]
    pub(crate) fn ended(&self, id: SessionId) -> Run {
        self.until(id, |session| session.live_run().is_none());
        drop(self.store().lease_within(id, LONG).expect("a lease").expect("it comes free"));
        self.session(id).current_run().expect("a run").clone()
    }

    pub(crate) fn client(&self, id: SessionId) -> Client {
        let run = self.session(id).current_run().expect("a run").id;
        let dir = RuntimeDir::at(self.env.runtime_dir()).expect("a directory");
        Client::connect_in(&dir, (id, run), LONG).expect("a keeper")
    }

    pub(crate) fn status(&self, id: SessionId) -> Status {
        self.client(id).status(LONG).expect("a status")
    }

    pub(crate) fn terminal(&self, id: SessionId) -> TerminalStatus {
        self.status(id).terminal.expect("a terminal")
    }

    /// Returns the holder of a session's run.
    #[track_caller]
    pub(crate) fn holder(&self, id: SessionId) -> ProcessIdentity {
        let session =
            self.until(id, |session| session.current_run().is_some_and(|run| run.holder.is_some()));
        let facts = session.current_run().and_then(|run| run.holder.clone()).expect("a holder");
        let (pid, start_ticks, boot_id) = (facts.pid, facts.start_ticks, facts.boot_id);
        ProcessIdentity { pid, start_ticks, boot_id }
    }

    /// Returns the keeper of a session's run.
    #[track_caller]
    pub(crate) fn keeper(&self, id: SessionId) -> ProcessIdentity {
        // It answers, so that it is there.
        self.status(id);
        let holder = self.holder(id);
        let table = ProcessTable::read().expect("/proc");
        let keeper = table
            .entries()
            .find(|entry| {
                entry.ppid == holder.pid && cmdline(entry.pid).get(1).is_some_and(|a| a == "keep")
            })
            .expect("a keeper");
        ProcessIdentity::of(keeper.pid).expect("/proc").expect("it lives")
    }

    /// Kills the keeper, and waits until another one answers.
    #[track_caller]
    pub(crate) fn kill_keeper(&self, id: SessionId) {
        let keeper = self.keeper(id);
        let starts = self.status(id).keeper_starts;
        assert!(keeper.signal(Signal::KILL).expect("it can be signalled"));
        assert!(keeper.wait_gone(LONG).expect("a pidfd"));
        assert!(self.status(id).keeper_starts > starts);
    }

    /// Returns the screen as the keeper has it.
    pub(crate) fn screen(&self, id: SessionId) -> String {
        self.out(&["terminal", "read", &id.to_string()])
    }

    /// Waits until the keeper's screen shows a text, by looking on as a viewer.
    #[track_caller]
    pub(crate) fn wait_for(&self, id: SessionId, text: &str) {
        let size = self.terminal(id).size;
        let mut viewing = self
            .call(&["attach", "--readonly", &id.to_string()])
            .on_terminal(size.columns, size.lines);
        viewing.wait_for(text);
        viewing.type_in("\x1c");
        viewing.ended();
    }
}

/// The longest any wait of these tests may be.
const _: () = assert!(LONG.as_secs() < MAX_WAIT.as_secs());
