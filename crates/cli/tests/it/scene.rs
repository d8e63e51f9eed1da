//! Sessions for tests, written by the spool itself: no agent has to run for them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use creel_record::caps::Caps;
use creel_record::command::dispatch;
use creel_record::command::end::{Exit, record_end};
use creel_record::command::start::{Start, start};
use creel_record::event::Draft;
use creel_record::event::fact::{FirstRun, NativeIdentified, Parent, SessionCreated};
use creel_record::{
    Authority, Cause, EventId, Fact, Mode, RunId, Session, SessionId, Source, ThreadId, Timestamp,
    TurnId,
};
use creel_spool::{Change, Store};
use creel_sys::os_fs::OsFs;
use creel_testkit::env::{Call, Output, TestEnv};
use uuid::Uuid;

/// 2100-01-01: later than any clock, so that no age is ever more than nothing.
const START_MS: i64 = 4_102_444_800_000;

/// A home with a machine store, and the hand that writes sessions into it.
pub(crate) struct Scene {
    pub(crate) env: TestEnv,
    pub(crate) store: Store,
    ticks: Cell<i64>,
    sessions: Cell<u32>,
}

impl Scene {
    /// Makes a home with an empty machine store.
    pub(crate) fn new() -> Self {
        Self::with_store(TestEnv::store_root)
    }

    /// Makes a home with an empty store at some place in it.
    pub(crate) fn with_store(root: impl FnOnce(&TestEnv) -> PathBuf) -> Self {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_creel"));
        let store = open(&root(&env));
        Self { env, store, ticks: Cell::new(0), sessions: Cell::new(0) }
    }

    /// Calls `creel`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.env.run(arguments)
    }

    /// Prepares a call as the agent of a session.
    pub(crate) fn as_agent(&self, id: SessionId, arguments: &[&str]) -> Call<'_> {
        self.env
            .call(arguments)
            .env("ORBH_SESSION_ID", id.to_string())
            .env("ORBH_ORB_ROOT_DIR", self.store.root())
    }

    /// Creates a peer whose first run is live.
    pub(crate) fn peer(&self, title: &str) -> SessionId {
        let id = self.unstarted(title, None);
        self.start(id);
        id
    }

    /// Creates a child of `parent`, dispatched and live.
    pub(crate) fn child(&self, parent: SessionId, title: &str) -> SessionId {
        let id = self.next_id();
        let first = self.first_run();
        let claim = |session: &Session| {
            let caps = Caps::default();
            dispatch::claim(session, id, first.run_id, ("sh", caps)).unwrap().into()
        };
        self.append(parent, claim);
        let live = self.store.read(parent).unwrap().snapshot.session.live_run().map(|run| run.id);
        let parent = Parent { session_id: parent, run_id: live };
        self.create(id, SessionCreated { parent: Some(parent), ..created(id, title, first) });
        self.start(id);
        id
    }

    /// Creates a session with no run yet.
    pub(crate) fn unstarted(&self, title: &str, id: Option<&str>) -> SessionId {
        let id = match id {
            Some(text) => text.parse().unwrap(),
            None => self.next_id(),
        };
        self.create(id, created(id, title, self.first_run()));
        id
    }

    /// Creates a session whose runs have another working directory.
    pub(crate) fn unstarted_in(&self, title: &str, cwd: &Path) -> SessionId {
        let id = self.next_id();
        let cwd = cwd.display().to_string();
        self.create(id, SessionCreated { cwd, ..created(id, title, self.first_run()) });
        id
    }

    fn create(&self, id: SessionId, created: SessionCreated) {
        self.store.create_session(id, self.draft(created.into())).unwrap();
    }

    /// Returns an id that sorts behind those before it, and makes the home name it in this order.
    fn next_id(&self) -> SessionId {
        let number = self.sessions.get() + 1;
        self.sessions.set(number);
        let id = format!("{number:08x}-0000-4000-8000-000000000000");
        let _ = self.env.normal(&id);
        id.parse().unwrap()
    }

    fn first_run(&self) -> FirstRun {
        FirstRun {
            run_id: RunId::from_uuid(Uuid::now_v7()),
            turn_id: TurnId::from_uuid(Uuid::now_v7()),
        }
    }

    /// Starts the next run: the intended one, else a resume.
    pub(crate) fn start(&self, id: SessionId) -> RunId {
        let run = Cell::new(None);
        self.append(id, |session| {
            let intent = session.intent.as_ref();
            let start_of = Start {
                run_id: intent.map_or_else(|| RunId::from_uuid(Uuid::now_v7()), |i| i.run_id),
                turn_id: intent.map_or_else(|| TurnId::from_uuid(Uuid::now_v7()), |i| i.turn_id),
                cause: intent.map_or(Cause::Resume, |i| i.cause),
                prompt: intent.is_none().then(|| "go on".to_owned()),
                machine_id: "machine".to_owned(),
                boot_id: "boot".to_owned(),
            };
            run.set(Some(start_of.run_id));
            start(session, start_of).unwrap().into()
        });
        run.get().unwrap()
    }

    /// Ends the live run by its exit code.
    pub(crate) fn exit(&self, id: SessionId, code: i32) {
        self.append(id, |session| {
            let run = session.live_run().unwrap().id;
            let exit = Exit { code: Some(code), ..Exit::default() };
            record_end(session, run, exit).unwrap().into()
        });
    }

    /// Tells the session the id that its harness gave to the conversation.
    pub(crate) fn identify(&self, id: SessionId, native: &str) {
        self.append(id, |session| {
            let run_id = session.live_run().unwrap().id;
            NativeIdentified { run_id, native_session_id: native.to_owned() }.into()
        });
    }

    /// Appends an event.
    pub(crate) fn append(&self, id: SessionId, fact: impl FnOnce(&Session) -> Fact) {
        let append = |session: &Session| {
            Ok::<_, std::convert::Infallible>(Change::Append(self.draft(fact(session)), ()))
        };
        self.store.transact(id, append).unwrap();
    }

    fn draft(&self, fact: Fact) -> Draft {
        let tick = self.ticks.get();
        self.ticks.set(tick + 1);
        let time = Timestamp::from_millis(START_MS + tick);
        Draft { id: EventId::from_uuid(Uuid::now_v7()), source: Source::Operator, time, fact }
    }
}

/// Opens a store, made first where it is missing.
pub(crate) fn open(root: &Path) -> Store {
    let boot_id = creel_sys::boot::boot_id().unwrap();
    Store::create(root, Arc::new(OsFs), &boot_id).unwrap()
}

fn created(id: SessionId, title: &str, first_run: FirstRun) -> SessionCreated {
    SessionCreated {
        kind: "session".to_owned(),
        runtime: "sh".to_owned(),
        profile: None,
        account: None,
        mode: Mode::Headless,
        authority: Authority::Record,
        prompt: "say hello".to_owned(),
        cwd: "/tmp".to_owned(),
        root_thread_id: ThreadId::from_uuid(Uuid::now_v7()),
        title: Some(title.to_owned()),
        description: None,
        key: None,
        parent: None,
        continues: None,
        root_session_id: id,
        depth: 0,
        first_run,
        cause: Cause::Launch,
        environment: BTreeMap::from([("LANG".to_owned(), "C.UTF-8".to_owned())]),
    }
}
