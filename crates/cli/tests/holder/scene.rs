//! One session of a test, and the runs it launches.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use creel_api::plan::{self, PLAN_VERSION, Plan, RecordTarget, RunFacts, Watch};
use creel_api::transcript::{Content, Entry};
use creel_keeper::client::Client;
use creel_keeper::{Grouping, LaunchError, LaunchOptions, Launched, launch_with};
use creel_record::command::end::{AskedEnd, request_end};
use creel_record::command::returning::{Return, return_turn};
use creel_record::event::Draft;
use creel_record::event::fact::{FirstRun, SessionCreated};
use creel_record::{
    Authority, Cause, Disposition, EndReason, EventId, Fact, Mode, Refusal, Run, RunId, Session,
    SessionId, Source, ThreadId, Timestamp, TurnId, command,
};
use creel_spool::{Change, Lease, Store};
use creel_sys::Deadline;
use creel_sys::boot::{boot_id, wall_time_ms};
use creel_sys::os_fs::OsFs;
use creel_sys::poll::wait_readable;

use crate::home;

/// Far longer than anything takes, also beside a build; only a hang is cut.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// The program under test.
pub(crate) const CREEL: &str = env!("CARGO_BIN_EXE_creel");

pub(crate) fn unique() -> [u8; 10] {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut bytes = [0; 10];
    bytes[..4].copy_from_slice(&std::process::id().to_be_bytes());
    bytes[4..].copy_from_slice(&count.to_be_bytes()[2..]);
    bytes
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(i64::try_from(wall_time_ms()).expect("a date"))
}

pub(crate) fn draft(source: Source, fact: impl Into<Fact>) -> Draft {
    Draft { id: EventId::ordered(now(), unique()), source, time: now(), fact: fact.into() }
}

/// A session in a store of its own.
pub(crate) struct Scene {
    pub(crate) dir: PathBuf,
    pub(crate) store: Store,
    pub(crate) id: SessionId,
    pub(crate) thread: ThreadId,
    first: FirstRun,
    pub(crate) options: LaunchOptions,
}

impl Scene {
    /// Makes a session of a person at a terminal: nothing follows its runs.
    pub(crate) fn new() -> Self {
        Self::in_mode(Mode::Interactive)
    }

    pub(crate) fn in_mode(mode: Mode) -> Self {
        let name: String = unique()[6..].iter().map(|byte| format!("{byte:02x}")).collect();
        Self::at(home::dir().join(format!("s{}-{name}", std::process::id())), mode)
    }

    pub(crate) fn at(dir: PathBuf, mode: Mode) -> Self {
        std::fs::create_dir_all(&dir).expect("a directory");
        let boot = boot_id().expect("a boot id");
        let store = Store::create(&dir.join("orb"), Arc::new(OsFs), &boot).expect("a store");
        let mut random = [7; 16];
        random[..10].copy_from_slice(&unique());
        let id = SessionId::random(random);
        let thread = ThreadId::ordered(now(), unique());
        let first = FirstRun {
            run_id: RunId::ordered(now(), unique()),
            turn_id: TurnId::ordered(now(), unique()),
        };
        let created = SessionCreated {
            kind: "session".to_owned(),
            runtime: "test".to_owned(),
            profile: None,
            account: None,
            mode,
            authority: Authority::Record,
            prompt: "the prompt".to_owned(),
            cwd: dir.display().to_string(),
            root_thread_id: thread,
            title: None,
            description: None,
            key: None,
            parent: None,
            continues: None,
            root_session_id: id,
            depth: 0,
            first_run: first,
            cause: Cause::Launch,
            environment: std::collections::BTreeMap::default(),
        };
        store.create_session(id, draft(Source::Operator, created)).expect("a session");
        let options = LaunchOptions {
            exe: PathBuf::from(CREEL),
            grouping: Grouping::OwnCgroup,
            patience: LONG,
        };
        Self { dir, store, id, thread, first, options }
    }

    /// Plans a run of a shell script, which is given on standard input.
    pub(crate) fn plan(&self, script: &str) -> Plan {
        let session = self.session();
        let (run_id, turn_id, cause) = if session.run_count == 0 {
            (self.first.run_id, self.first.turn_id, "launch")
        } else {
            (RunId::ordered(now(), unique()), TurnId::ordered(now(), unique()), "resume")
        };
        Plan {
            version: PLAN_VERSION,
            record: RecordTarget {
                orb_root: self.store.root().to_owned(),
                session_id: self.id.to_string(),
                thread_id: self.thread.to_string(),
            },
            run: RunFacts {
                run_id: run_id.to_string(),
                turn_id: turn_id.to_string(),
                cause: cause.to_owned(),
                attempt: 0,
                continues_run_id: None,
                prompt: "the prompt".to_owned(),
                source: "/operator".to_owned(),
            },
            command: plan::Command {
                program: "/bin/sh".into(),
                args: vec!["-s".to_owned()],
                env: self.env(&run_id.to_string()),
                cwd: self.dir.clone(),
                stdin: script.to_owned(),
                files: Vec::new(),
            },
            watch: Watch {
                verdict_by_exit: false,
                native_id: Vec::new(),
                provider_error: Vec::new(),
                provider_message: None,
                return_dir: None,
                end_grace_ms: 500,
                return_grace_ms: 100,
                output_bytes: 4 << 20,
                transcript_bytes: 4 << 20,
            },
            terminal: None,
        }
    }

    /// The whole environment of an agent; the last one marks what the tests started.
    pub(crate) fn env(&self, run_id: &str) -> Vec<(String, String)> {
        [
            ("PATH", "/usr/bin:/bin"),
            ("ORBH_SESSION_ID", &self.id.to_string()),
            ("CREEL_RUN_ID", run_id),
            ("API_KEY", "s3cr3t"),
            ("HELD_BY", &home::dir().join("r").display().to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    pub(crate) fn lease(&self) -> Lease {
        self.store.lease_within(self.id, LONG).expect("a lease file").expect("the lease gets free")
    }

    pub(crate) fn try_launch(&self, plan: Plan) -> Result<Live<'_>, LaunchError> {
        let run_id = plan.run.run_id.parse().expect("a run id");
        let launched = launch_with(&self.store, plan, self.lease(), &self.options)?;
        Ok(Live { scene: self, run_id, launched })
    }

    pub(crate) fn launch(&self, plan: Plan) -> Live<'_> {
        self.try_launch(plan).expect("launches")
    }

    /// Launches a script.
    pub(crate) fn script(&self, script: &str) -> Live<'_> {
        self.launch(self.plan(script))
    }

    pub(crate) fn session(&self) -> Session {
        self.store.read(self.id).expect("a session").snapshot.session
    }

    /// Waits until the session is as `is_so` says.
    pub(crate) fn wait_for(&self, is_so: impl Fn(&Session) -> bool) -> Session {
        let deadline = Deadline::after(LONG);
        let mut watch = self.store.watch().expect("a watch");
        loop {
            let session = self.session();
            if is_so(&session) {
                return session;
            }
            assert!(!deadline.is_past(), "the session stays {session:#?}");
            watch.wait(deadline.remaining()).expect("waits");
        }
    }

    /// Records a return, as `creel session return` does.
    pub(crate) fn record_return(&self, run_id: RunId, payload: &str) {
        let asked = Return { run_id: Some(run_id), disposition: Disposition::Finish, payload };
        self.append(|session| return_turn(session, &asked));
    }

    /// Records that an end is asked for.
    pub(crate) fn request_end(&self, reason: EndReason) {
        self.append(|session| request_end(session, &AskedEnd::from(reason)));
    }

    fn append<A>(&self, rule: impl Fn(&Session) -> Result<command::Verdict<A>, Refusal>) {
        self.store
            .transact(self.id, |session| {
                Ok::<_, Refusal>(match rule(session)?.into_fact() {
                    Some(fact) => Change::Append(draft(Source::Operator, fact), ()),
                    None => Change::Nothing(()),
                })
            })
            .expect("is recorded");
    }

    /// Returns the text of a run's last result.
    pub(crate) fn result(&self, run: &Run) -> String {
        let result = run.result.as_ref().expect("a result");
        self.store.text(self.id, result.payload).expect("its text")
    }

    pub(crate) fn transcript(&self) -> Vec<Entry> {
        let path = self.store.thread_path(self.id, self.thread);
        let text = std::fs::read_to_string(path).expect("a transcript");
        text.lines().map(|line| serde_json::from_str(line).expect("an entry")).collect()
    }

    /// Returns all output in the transcript.
    pub(crate) fn raw(&self) -> String {
        let bytes: Vec<u8> = self
            .transcript()
            .into_iter()
            .filter_map(|entry| match entry.content {
                Content::Raw { bytes, .. } => bytes.decode(),
                _ => None,
            })
            .flatten()
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) fn run_dir(&self, number: u64) -> PathBuf {
        self.store.run_dir(self.id, number)
    }

    pub(crate) fn output(&self, number: u64) -> Vec<u8> {
        let dir = creel_keeper::output_dir(&self.run_dir(number));
        let pieces = creel_keeper::output::tail(&dir, u64::MAX).expect("an output log");
        pieces.into_iter().flat_map(|piece| piece.bytes).collect()
    }

    /// Makes a pipe on which agents report.
    pub(crate) fn pipe(&self, name: &str) -> Pipe {
        Pipe::new(&self.dir.join(name))
    }
}

/// A launched run.
pub(crate) struct Live<'s> {
    scene: &'s Scene,
    pub(crate) run_id: RunId,
    pub(crate) launched: Launched,
}

impl Live<'_> {
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.scene.id, self.run_id, LONG).expect("a keeper")
    }

    /// Waits until nothing of the run is left, and returns what is recorded of it.
    pub(crate) fn ended(&self) -> Run {
        assert!(self.launched.holder.wait_gone(LONG).expect("a holder"), "the holder stays");
        drop(self.scene.lease());
        self.run()
    }

    pub(crate) fn run(&self) -> Run {
        self.scene.session().run(self.run_id).expect("the run is recorded").clone()
    }

    /// Waits for the end, and asserts how it is recorded.
    #[track_caller]
    pub(crate) fn check_end(&self, expected: (EndReason, Option<i32>, Option<i32>)) -> Run {
        let run = self.ended();
        let reason = run.end_reason.expect("an end");
        assert_eq!((reason, run.exit_code, run.signal), expected, "{:?}", run.detail);
        run
    }
}

/// A named pipe.
pub(crate) struct Pipe {
    pub(crate) path: PathBuf,
    file: File,
    rest: String,
}

impl Pipe {
    pub(crate) fn new(path: &Path) -> Self {
        let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
        assert!(made.success());
        // Also for writing, so that it is never at its end.
        let file = OpenOptions::new().read(true).write(true).open(path).expect("opens");
        Self { path: path.to_owned(), file, rest: String::new() }
    }

    /// Waits for a line.
    pub(crate) fn line(&mut self) -> String {
        let deadline = Deadline::after(LONG);
        loop {
            if let Some((line, rest)) = self.rest.split_once('\n') {
                let (line, rest) = (line.to_owned(), rest.to_owned());
                self.rest = rest;
                return line;
            }
            let ready = wait_readable(&[self.file.as_fd()], deadline.remaining()).expect("a poll");
            assert!(!ready.is_empty(), "no line comes on {}", self.path.display());
            let mut bytes = [0; 4096];
            let count = self.file.read(&mut bytes).expect("reads");
            self.rest.push_str(std::str::from_utf8(&bytes[..count]).expect("text"));
        }
    }

    /// Waits for a line that is a pid, and returns the process.
    pub(crate) fn process(&mut self) -> creel_sys::process::ProcessIdentity {
        let pid = self.line().trim().parse().expect("a pid");
        creel_sys::process::ProcessIdentity::of(pid).expect("/proc").expect("it lives")
    }
}
