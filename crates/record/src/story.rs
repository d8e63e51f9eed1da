//! Sessions for tests, brought about only through commands, line encoding and the fold.

mod step;

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::caps::Caps;
use crate::command::end::{AskedEnd, Exit, record_end, request_end};
use crate::command::returning::{Return, return_turn};
use crate::command::start::{Start, Wake, open_turn, restore, start, wake};
use crate::command::{Verdict, dispatch, keep, question};
use crate::decide::{Owed, cause, decide};
use crate::dispatch::Settlement;
use crate::event::fact::{
    AccountChanged, Fact, FirstRun, FollowUp, MessageReceived, ModeSwitched, NativeIdentified,
    Parent, ProcessFacts, ProfileChanged, RoomNoticed, RunEnded, RunReturned, RunSpawned,
    RunStarted, SessionCreated, WakeScheduled,
};
use crate::event::{Draft, Event};
use crate::fold::apply;
use crate::ids::{EventId, RequestId, RunId, SessionId, ThreadId, TurnId};
use crate::line::{Place, chain_seed, decode, encode_draft};
use crate::refusal::Refusal;
use crate::run::{LineRef, Run};
use crate::session::Session;
use crate::snapshot::{IndexPosition, LogPosition, Snapshot};
use crate::source::Source;
use crate::time::Timestamp;
use crate::words::{Authority, Cause, Disposition, EndReason, Mode, Outcome, QuestionKind};

pub(crate) use step::Do;

/// 2026-01-01T00:00:00Z.
pub(crate) const START_MS: i64 = 1_767_225_600_000;

/// A session with its whole log.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) session: Session,
    pub(crate) log: Vec<(Event, LineRef)>,
    pub(crate) lines: Vec<Vec<u8>>,
    pub(crate) evicted: Vec<Run>,
    now_ms: i64,
    chain: u32,
    last_id: u128,
}

pub(crate) fn session_id(n: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(0x5e55_0000_0000_4000_8000_0000_0000_0000 | n))
}

pub(crate) fn run_id(n: u128) -> RunId {
    RunId::from_uuid(Uuid::from_u128(0x0a00_0000_0000_7000_8000_0000_0000_0000 | n))
}

pub(crate) fn created(mode: Mode) -> SessionCreated {
    SessionCreated {
        kind: "session".to_owned(),
        runtime: "sh".to_owned(),
        profile: Some("verdict".to_owned()),
        account: None,
        mode,
        authority: Authority::Record,
        prompt: "do it".to_owned(),
        cwd: "/w".to_owned(),
        root_thread_id: ThreadId::from_uuid(Uuid::from_u128(7)),
        title: None,
        description: None,
        key: None,
        parent: (mode == Mode::Subagent)
            .then(|| Parent { session_id: session_id(99), run_id: Some(run_id(98)) }),
        continues: None,
        root_session_id: session_id(1),
        depth: u32::from(mode == Mode::Subagent),
        first_run: FirstRun { run_id: run_id(1), turn_id: turn_id(1) },
        cause: Cause::Launch,
        environment: BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]),
    }
}

fn turn_id(n: u128) -> TurnId {
    TurnId::from_uuid(Uuid::from_u128(0x0b00_0000_0000_7000_8000_0000_0000_0000 | n))
}

impl Story {
    pub(crate) fn new(mode: Mode) -> Self {
        Self::created(created(mode))
    }

    pub(crate) fn created(created: SessionCreated) -> Self {
        let id = session_id(1);
        let draft = Draft {
            id: EventId::from_uuid(Uuid::from_u128(0x0e00 << 112 | 1)),
            source: Source::Operator,
            time: Timestamp::from_millis(START_MS),
            fact: created.into(),
        };
        let line = encode_draft(&draft, id, 1, chain_seed(id)).unwrap();
        let event = draft.at(id, 1);
        let place = LineRef {
            offset_bytes: 0,
            len_bytes: line.bytes.len() as u64,
            previous: chain_seed(id),
        };
        let mut session = None;
        apply(&mut session, &event, place).unwrap();
        Self {
            session: session.unwrap(),
            log: vec![(event, place)],
            lines: vec![line.bytes],
            evicted: Vec::new(),
            now_ms: START_MS,
            chain: line.chain,
            last_id: 1,
        }
    }

    /// Runs steps that must all be taken.
    pub(crate) fn after(mode: Mode, steps: &[Do]) -> Self {
        let mut story = Self::new(mode);
        story.takes(steps);
        story
    }

    pub(crate) fn takes(&mut self, steps: &[Do]) {
        for step in steps {
            self.take(step).unwrap_or_else(|refusal| panic!("{step:?} was refused: {refusal}"));
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_ms)
    }

    pub(crate) fn owed(&self) -> Owed {
        decide(&self.session, self.now())
    }

    fn next_id(&mut self) -> u128 {
        self.last_id += 1;
        self.last_id
    }

    /// Appends a fact as the spool does: encode, decode, fold.
    pub(crate) fn push(&mut self, fact: impl Into<Fact>) {
        let id = self.session.id;
        let sequence = self.log.len() as u64 + 1;
        let draft = Draft {
            id: EventId::from_uuid(Uuid::from_u128(0x0e00 << 112 | self.next_id())),
            source: Source::Keeper,
            time: self.now(),
            fact: fact.into(),
        };
        let previous = self.chain;
        let encoded = encode_draft(&draft, id, sequence, previous).unwrap();
        let line = &encoded.bytes[..encoded.bytes.len() - 1];
        let (event, chain) = decode(line, Place { subject: id, sequence, previous }).unwrap();
        assert_eq!(event, draft.at(id, sequence), "a line reads back as it was written");
        assert_eq!(chain, encoded.chain);
        let (_, last) = self.log.last().unwrap();
        let place = LineRef {
            offset_bytes: last.offset_bytes + last.len_bytes,
            len_bytes: encoded.bytes.len() as u64,
            previous,
        };
        let mut session = Some(self.session.clone());
        let step = apply(&mut session, &event, place).unwrap();
        self.session = session.unwrap();
        self.evicted.extend(step.evicted);
        self.log.push((event, place));
        self.lines.push(encoded.bytes);
        self.chain = chain;
        self.now_ms += 1_000;
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let (event, line) = self.log.last().unwrap();
        Snapshot {
            log: LogPosition {
                len_bytes: line.offset_bytes + line.len_bytes,
                sequence: event.sequence,
                event_id: event.id,
                chain: self.chain,
            },
            run_index: IndexPosition { len_bytes: 0, run_count: self.evicted.len() as u64 },
            session: self.session.clone(),
        }
    }

    fn verdict<A>(&mut self, verdict: Verdict<A>) {
        if let Some(fact) = verdict.into_fact() {
            self.push(fact);
        }
    }

    fn start(&mut self, ids: (RunId, TurnId), cause: Cause, prompt: Option<&str>) -> Taken {
        let started = start(
            &self.session,
            Start {
                run_id: ids.0,
                turn_id: ids.1,
                cause,
                prompt: prompt.map(str::to_owned),
                machine_id: "m".to_owned(),
                boot_id: "b".to_owned(),
            },
        )?;
        self.push(started);
        Ok(())
    }

    fn new_run(&mut self) -> (RunId, TurnId) {
        let n = self.next_id();
        (run_id(0x1000 + n), turn_id(0x1000 + n))
    }

    fn intend(&mut self) -> Taken {
        let (run_id, turn_id) = self.new_run();
        let answered = self.session.questions.iter().filter(|q| !q.is_open());
        let digest = Wake {
            run_id,
            turn_id,
            prompt: "digest".to_owned(),
            through_sequence: self.session.pending.last_sequence,
            request_ids: answered.map(|q| q.id).collect(),
        };
        let intended = wake(&self.session, digest, self.now())?;
        self.push(intended);
        Ok(())
    }

    fn settle_debt(&mut self) -> Taken {
        let owed = self.owed();
        if matches!(owed, Owed::Wake { .. }) {
            self.intend()?;
        }
        let owed = self.owed();
        match (cause(owed, &self.session), self.session.intent.clone()) {
            (Some(cause), Some(i)) => self.start((i.run_id, i.turn_id), cause, None),
            (Some(cause), None) => {
                let ids = self.new_run();
                self.start(ids, cause, Some("return properly"))
            }
            (None, _) => Err(Refusal::NoRun { session: self.session.id }),
        }
    }

    fn finish_run(&mut self, exit: Exit) -> Taken {
        let no_run = Refusal::NoRun { session: self.session.id };
        let run = self.session.live_run().ok_or(no_run)?.id;
        let ended = record_end(&self.session, run, exit).unwrap();
        self.push(ended);
        Ok(())
    }

    fn question(&self, n: usize) -> RequestId {
        let unknown = RequestId::from_uuid(Uuid::from_u128(0xdead));
        self.session.questions.get(n).map_or(unknown, |q| q.id)
    }

    fn give_back(&mut self, run_id: Option<RunId>, as_: (Disposition, &str)) -> Taken {
        let (disposition, payload) = as_;
        let verdict = return_turn(&self.session, &Return { run_id, disposition, payload })?;
        self.verdict(verdict);
        Ok(())
    }

    fn settle(&mut self, child: u128, outcome: Outcome, is_collected: bool) {
        let settlement = Settlement { outcome, run_number: Some(1), result: None };
        let ids = (session_id(child), run_id(child));
        if let Some(fact) = dispatch::settle(&self.session, ids, &settlement, is_collected) {
            self.push(fact);
        }
    }

    /// Takes one step, or says why the record refuses it; nothing has changed then.
    pub(crate) fn take(&mut self, step: &Do) -> Taken {
        match *step {
            Do::Resume => {
                let ids = self.new_run();
                return self.start(ids, Cause::Resume, Some("go on"));
            }
            Do::Owed => return self.settle_debt(),
            Do::Intend => return self.intend(),
            Do::Spawn => self.spawn(),
            Do::Finish(text) => return self.give_back(None, (Disposition::Finish, text)),
            Do::Await(text) => return self.give_back(None, (Disposition::Await, text)),
            Do::ReturnOf(n, disposition, text) => {
                let run = self.session.runs.iter().find(|r| r.number == n).map(|r| r.id);
                return self.give_back(Some(run.unwrap_or(run_id(0xdead))), (disposition, text));
            }
            Do::Turn => {
                let turn = turn_id(0x2000 + self.next_id());
                let started = open_turn(&self.session, turn, "and now")?;
                self.push(started);
            }
            Do::Exit(code) => return self.finish_run(Exit { code: Some(code), ..Exit::default() }),
            Do::Signal(signal) => {
                return self.finish_run(Exit { signal: Some(signal), ..Exit::default() });
            }
            Do::Observe(reason) => {
                return self.finish_run(Exit { observed: Some(reason), ..Exit::default() });
            }
            Do::Stop(reason) => return self.stop(&reason.into()),
            Do::Interrupt(text) => {
                let (run_id, turn_id) = self.new_run();
                let follow_up = Some(FollowUp { run_id, turn_id, prompt: text.to_owned() });
                let reason = EndReason::Interrupted;
                return self.stop(&AskedEnd { reason, result: None, follow_up });
            }
            Do::EndWith(text) => {
                let result = Some(text.to_owned());
                return self.stop(&AskedEnd { reason: EndReason::Ended, result, follow_up: None });
            }
            Do::Restore => {
                if let Some(fact) = restore(&self.session) {
                    self.push(fact);
                }
            }
            Do::Ask | Do::Defer | Do::Answer(_) | Do::Take(_) | Do::Cancel(_) => {
                return self.take_question(step);
            }
            Do::Claim(_) | Do::Materialize(_) | Do::Settle(..) | Do::Collect(..) => {
                return self.take_dispatch(step);
            }
            Do::Clock(ms) => self.now_ms = START_MS + ms,
            _ => return self.take_kept(step),
        }
        Ok(())
    }

    fn stop(&mut self, asked: &AskedEnd) -> Taken {
        let verdict = request_end(&self.session, asked)?;
        self.verdict(verdict);
        Ok(())
    }

    fn spawn(&mut self) {
        let Some(run_id) = self.session.live_run().map(|r| r.id) else { return };
        let process = |pid| ProcessFacts { pid, start_ticks: 5, boot_id: "b".to_owned() };
        let cgroup = Some("/user.slice/x".to_owned());
        self.push(RunSpawned { run_id, agent: process(10), holder: process(9), cgroup });
        self.push(NativeIdentified { run_id, native_session_id: "native-1".to_owned() });
    }

    fn take_question(&mut self, step: &Do) -> Taken {
        let id = RequestId::from_uuid(Uuid::from_u128(0x0c00 << 112 | (self.last_id + 1)));
        match *step {
            Do::Ask => {
                let asked = question::ask(&self.session, None, id, "which?")?;
                self.push(asked);
            }
            Do::Defer => {
                let asked = question::defer(&self.session, id, "maybe?")?;
                self.push(asked);
            }
            Do::Answer(n) => {
                let named = Some(self.question(n));
                let answered = question::answer(&self.session, named, "this one")?;
                self.push(answered);
            }
            Do::Take(n) => self.verdict(question::take(&self.session, self.question(n))),
            Do::Cancel(n) => self.verdict(question::cancel(&self.session, self.question(n))),
            _ => unreachable!("only questions come here"),
        }
        Ok(())
    }

    fn take_dispatch(&mut self, step: &Do) -> Taken {
        match *step {
            Do::Claim(n) => {
                let terms = ("sh/verdict", Caps::default());
                let claimed = dispatch::claim(&self.session, session_id(n), run_id(n), terms)?;
                self.push(claimed);
            }
            Do::Materialize(n) => {
                let made = dispatch::materialize(&self.session, session_id(n), run_id(n));
                if let Some(fact) = made {
                    self.push(fact);
                }
            }
            Do::Settle(n, outcome) => self.settle(n, outcome, false),
            Do::Collect(n, outcome) => self.settle(n, outcome, true),
            _ => unreachable!("only dispatches come here"),
        }
        Ok(())
    }

    fn take_kept(&mut self, step: &Do) -> Taken {
        let verdict = match *step {
            Do::Message => Verdict::Append(MessageReceived { text: "psst".to_owned() }.into()),
            Do::Room => {
                let (room, text) = ("room".to_owned(), "news".to_owned());
                Verdict::Append(RoomNoticed { room, through_sequence: 3, text }.into())
            }
            Do::WakeAt(ms) => {
                let wake_at = Some(Timestamp::from_millis(START_MS + ms));
                Verdict::Append(WakeScheduled { wake_at }.into())
            }
            Do::Switch(mode) => Verdict::Append(ModeSwitched { mode }.into()),
            Do::Account(name) => {
                Verdict::Append(AccountChanged { account: Some(name.to_owned()) }.into())
            }
            Do::Profile(name) => {
                Verdict::Append(ProfileChanged { profile: Some(name.to_owned()) }.into())
            }
            Do::Register(title, description) => keep::register(&self.session, title, description)?,
            Do::Set(key, value) => keep::set(&self.session, key, value)?,
            Do::Slice(name, json) => {
                keep::set_slice(&self.session, name, serde_json::from_str(json).unwrap())?
            }
            Do::Note => keep::note("a note")?,
            Do::Artifact(path) => keep::artifact(path)?,
            _ => unreachable!("every other step is taken elsewhere"),
        };
        self.verdict(verdict);
        Ok(())
    }

    /// A return that some other build wrote for another turn than the current one.
    pub(crate) fn push_return_of_turn(&mut self, turn: u128) {
        let run_id = self.session.current_run().unwrap().id;
        self.push(RunReturned {
            run_id,
            turn_id: turn_id(turn),
            disposition: Disposition::Finish,
            payload: "stray".to_owned(),
        });
    }

    /// An end that some other build wrote, whatever came before.
    pub(crate) fn push_end(&mut self, reason: EndReason) {
        let run_id = self.session.current_run().unwrap().id;
        self.push(RunEnded { run_id, reason, exit_code: None, signal: None, detail: None });
    }

    /// A start that some other build wrote, whatever came before.
    pub(crate) fn push_start(&mut self) {
        let (run_id, turn_id) = self.new_run();
        self.push(RunStarted {
            run_id,
            turn_id,
            number: self.session.run_count + 1,
            cause: Cause::Resume,
            attempt: 0,
            continues_run_id: None,
            prompt: Some("go on".to_owned()),
            machine_id: "m".to_owned(),
            boot_id: "b".to_owned(),
        });
    }

    /// Says in one line where the session stands.
    pub(crate) fn standing(&self) -> String {
        let session = &self.session;
        let run = session.current_run().map_or("no run".to_owned(), |run| {
            let is_asking = session.questions.iter().any(|q| {
                q.is_open() && q.kind == QuestionKind::Blocking && q.run_id == Some(run.id)
            });
            let end = run.end_reason.map_or("live", EndReason::as_str);
            format!("run {} {} ({end})", run.number, run.status(is_asking).as_str())
        });
        let owed = match self.owed() {
            Owed::Nothing => "nothing".to_owned(),
            Owed::LiveRun => "its live run".to_owned(),
            Owed::StartIntended => {
                let intent = session.intent.as_ref().unwrap();
                format!("its {} run", intent.cause)
            }
            Owed::Reprompt { attempt } => format!("re-prompt {attempt}"),
            Owed::Wake { .. } => "a wake".to_owned(),
        };
        let hidden = if session.discarded { ", hidden" } else { "" };
        format!("{}, shelf {}{hidden}; {run}; owed {owed}", session.work_state(), session.retention)
    }
}

pub(crate) type Taken = Result<(), Refusal>;
