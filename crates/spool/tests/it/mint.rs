//! Ids, times and facts made from counters, so that every run of a test writes the same bytes.

use std::collections::BTreeMap;

use creel_record::event::fact::{
    FirstRun, InterfaceSet, NoteAdded, RunEnded, RunReturned, RunSpawned, RunStarted,
    SessionCreated,
};
use creel_record::event::{Draft, Fact};
use creel_record::{
    Authority, Cause, Disposition, EndReason, EventId, Mode, RunId, Session, SessionId, Source,
    ThreadId, Timestamp, TurnId,
};

/// The first second of 2026.
const EPOCH_MS: i64 = 1_767_225_600_000;

/// Returns the n-th session's id.
pub(crate) fn session_id(n: u8) -> SessionId {
    SessionId::random([n; 16])
}

/// Makes drafts, each a second and an id after the one before.
#[derive(Clone, Debug)]
pub(crate) struct Minter {
    salt: u16,
    count: u64,
}

impl Minter {
    pub(crate) fn new(salt: u16) -> Self {
        Self { salt, count: 0 }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(EPOCH_MS + 1000 * i64::try_from(self.count).unwrap())
    }

    fn random(&mut self) -> [u8; 10] {
        self.count += 1;
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&self.count.to_be_bytes());
        bytes[8..].copy_from_slice(&self.salt.to_be_bytes());
        bytes
    }

    pub(crate) fn event_id(&mut self) -> EventId {
        let random = self.random();
        EventId::ordered(self.now(), random)
    }

    pub(crate) fn run_id(&mut self) -> RunId {
        let random = self.random();
        RunId::ordered(self.now(), random)
    }

    pub(crate) fn turn_id(&mut self) -> TurnId {
        let random = self.random();
        TurnId::ordered(self.now(), random)
    }

    pub(crate) fn draft(&mut self, fact: impl Into<Fact>) -> Draft {
        let id = self.event_id();
        Draft { id, source: Source::Operator, time: self.now(), fact: fact.into() }
    }

    pub(crate) fn created(&mut self, id: SessionId) -> SessionCreated {
        let random = self.random();
        SessionCreated {
            kind: "session".to_owned(),
            runtime: "sh".to_owned(),
            profile: None,
            account: None,
            mode: Mode::Headless,
            authority: Authority::Record,
            prompt: "echo \"hello\"".to_owned(),
            cwd: "/srv/project".to_owned(),
            root_thread_id: ThreadId::ordered(self.now(), random),
            title: Some("A title".to_owned()),
            description: None,
            key: None,
            parent: None,
            continues: None,
            root_session_id: id,
            depth: 0,
            first_run: FirstRun { run_id: self.run_id(), turn_id: self.turn_id() },
            cause: Cause::Launch,
            environment: BTreeMap::from([("LANG".to_owned(), "C".to_owned())]),
        }
    }

    pub(crate) fn started(&mut self, session: &Session) -> RunStarted {
        let first = session.unstarted_first_run();
        RunStarted {
            run_id: first.map_or_else(|| self.run_id(), |first| first.run_id),
            turn_id: first.map_or_else(|| self.turn_id(), |first| first.turn_id),
            number: session.run_count + 1,
            cause: if first.is_some() { Cause::Launch } else { Cause::Resume },
            attempt: 0,
            continues_run_id: session.current_run().map(|run| run.id),
            prompt: first.is_none().then(|| format!("again {}", session.run_count)),
            machine_id: "machine".to_owned(),
            boot_id: "boot".to_owned(),
        }
    }
}

pub(crate) fn note(text: &str) -> Fact {
    NoteAdded { text: text.to_owned() }.into()
}

pub(crate) fn set(key: &str, value: &str) -> Fact {
    InterfaceSet { key: key.to_owned(), value: value.to_owned() }.into()
}

/// Returns the fact that the current run has its process.
pub(crate) fn spawned(session: &Session) -> Fact {
    let process = |pid| creel_record::event::fact::ProcessFacts {
        pid,
        start_ticks: 7,
        boot_id: "boot".to_owned(),
    };
    let Some(run) = session.current_run() else { return note("no run") };
    let run_id = run.id;
    RunSpawned { run_id, agent: process(11), holder: process(10), cgroup: None }.into()
}

/// Returns the fact that the current run returned.
pub(crate) fn returned(session: &Session, payload: &str) -> Fact {
    let Some(run) = session.current_run() else { return note("no run") };
    RunReturned {
        run_id: run.id,
        turn_id: run.turn_id,
        disposition: Disposition::Finish,
        payload: payload.to_owned(),
    }
    .into()
}

/// Returns the fact that the current run ended.
pub(crate) fn ended(session: &Session) -> Fact {
    let Some(run) = session.current_run() else { return note("no run") };
    RunEnded {
        run_id: run.id,
        reason: EndReason::Returned,
        exit_code: Some(0),
        signal: None,
        detail: None,
    }
    .into()
}
