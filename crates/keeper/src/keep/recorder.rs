//! Writing the run's events into the record, one after the other, until each of them is there.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use std::{io, path};

use creel_api::plan::Watch;
use creel_api::transcript::Content;
use creel_record::command::Verdict as Command;
use creel_record::command::end::{self, record_end};
use creel_record::command::returning::{Return, return_turn};
use creel_record::event::fact::{NativeIdentified, RunSpawned};
use creel_record::{Disposition, EndReason, Refusal, RunId, Session, SessionId, Source};
use creel_spool::{Change, Committed, OpenError, Store, TransactError, WriteError};
use creel_sys::boot::boot_id;
use creel_sys::exit::Exit;
use creel_sys::os_fs::OsFs;

use super::bell::{Bell, Note};
use super::follow::Follow;
use super::leaving::Leaving;
use crate::mint::draft;
use crate::order::Order;
use crate::say::say;

/// Pause before an event that could not be written is tried again; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// Something to record, in the order of a run.
#[derive(Debug)]
pub(super) enum Job {
    /// The agent exists.
    Spawned(RunSpawned),
    /// The agent named its own session.
    Native(String),
    /// The agent left a return in the run's directory.
    Returned(Disposition, String),
    /// The run is over: where the exit code is the verdict, it is returned.
    Judge { exit: Option<Exit>, tail: Vec<u8> },
    /// The end.
    End(end::Exit),
    /// Start what is owed next.
    Follow { holder_pid: Option<i32> },
}

/// What the record says of a run that is over.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// True when an earlier keeper recorded the end.
    pub(super) is_ended: bool,
    /// The result, as the transcript has it.
    pub(super) result: Option<Content>,
}

/// The recorder's thread.
pub(super) struct Recorder {
    jobs: Receiver<Job>,
    bell: Bell,
    orb_root: path::PathBuf,
    session_id: SessionId,
    run_id: RunId,
    watch: Watch,
    follow: Follow,
    store: Option<Store>,
    is_failing: bool,
}

impl Recorder {
    /// Starts the thread; `fds` are the inherited order and lease. Returns where its jobs go, and
    /// what ends its tries to start what follows.
    pub(super) fn start(
        order: &Order,
        ids: (SessionId, RunId),
        fds: (OwnedFd, OwnedFd),
        bell: Bell,
    ) -> io::Result<(Sender<Job>, Leaving)> {
        let (sender, jobs) = channel();
        let follow = Follow::new(order, ids, fds);
        let leaving = follow.leaving();
        let mut recorder = Self {
            jobs,
            bell,
            orb_root: order.plan.record.orb_root.clone(),
            session_id: ids.0,
            run_id: ids.1,
            watch: order.plan.watch.clone(),
            follow,
            store: None,
            is_failing: false,
        };
        thread::Builder::new().name("recorder".to_owned()).spawn(move || {
            while let Ok(job) = recorder.jobs.recv() {
                recorder.take(job);
            }
        })?;
        Ok((sender, leaving))
    }

    fn take(&mut self, job: Job) {
        match job {
            Job::Spawned(spawned) => {
                self.persist(|session| {
                    let is_known =
                        session.run(spawned.run_id).is_none_or(|run| run.agent.is_some());
                    Ok(if is_known {
                        Change::Nothing(())
                    } else {
                        Change::Append(draft(Source::Keeper, spawned.clone()), ())
                    })
                });
            }
            Job::Native(id) => self.identify(&id),
            Job::Returned(disposition, payload) => {
                self.give_back(disposition, &payload);
            }
            Job::Judge { exit, tail } => {
                let verdict = self.judge(exit, &tail);
                self.bell.ring(Note::Judged(verdict));
            }
            Job::End(exit) => {
                let reason = self.end(&exit);
                self.bell.ring(Note::Ended(reason));
            }
            Job::Follow { holder_pid } => {
                if let Some(store) = self.store() {
                    let bell = self.bell.clone();
                    self.follow.run(&store, holder_pid, |why| bell.ring(Note::Record(why)));
                }
                self.bell.ring(Note::Followed);
            }
        }
    }

    fn identify(&mut self, native_id: &str) {
        let run_id = self.run_id;
        self.persist(|session| {
            let run = session.run(run_id);
            let is_known =
                run.is_none_or(|run| run.native_session_id.as_deref() == Some(native_id));
            let fact = NativeIdentified { run_id, native_session_id: native_id.to_owned() };
            Ok(if is_known {
                Change::Nothing(())
            } else {
                Change::Append(draft(Source::Keeper, fact), ())
            })
        });
    }

    fn give_back(&mut self, disposition: Disposition, payload: &str) -> Option<Committed<()>> {
        let run_id = self.run_id;
        self.persist(|session| {
            let Some(run) = session.run(run_id) else { return Ok(Change::Nothing(())) };
            if !run.is_live() || run.is_returned() {
                return Ok(Change::Nothing(()));
            }
            let asked = Return { run_id: Some(run_id), disposition, payload };
            Ok(match return_turn(session, &asked)? {
                Command::Append(fact) => Change::Append(draft(Source::Keeper, fact), ()),
                Command::Already(_) => Change::Nothing(()),
            })
        })
    }

    fn judge(&mut self, exit: Option<Exit>, tail: &[u8]) -> Verdict {
        let code = match exit {
            Some(Exit::Code(code)) if self.watch.verdict_by_exit => Some(code),
            _ => None,
        };
        let run_id = self.run_id;
        let committed = self.persist(|session| {
            let run = session.run(run_id).filter(|run| run.is_live());
            // An exit that somebody asked for is no verdict.
            let judges = run.is_some_and(|run| run.end_requested.is_none() && !run.is_returned());
            let (Some(code), true) = (code, judges) else { return Ok(Change::Nothing(())) };
            let payload = verdict_text(code, tail);
            let disposition = Disposition::Finish;
            let asked = Return { run_id: Some(run_id), disposition, payload: &payload };
            Ok(match return_turn(session, &asked)? {
                Command::Append(fact) => Change::Append(draft(Source::Keeper, fact), ()),
                Command::Already(_) => Change::Nothing(()),
            })
        });
        let Some(session) = committed.map(|committed| committed.session) else {
            return Verdict::default();
        };
        let Some(run) = session.run(run_id) else { return Verdict::default() };
        let result = run.result.as_ref().filter(|_| run.is_returned());
        let result = result.and_then(|result| {
            let text = self.store()?.text(self.session_id, result.payload);
            match text {
                Ok(text) => {
                    let disposition = result.disposition.to_string();
                    Some(Content::Result { disposition, text, is_cut: false })
                }
                Err(error) => {
                    say!("creel keep: can't read the result: {error}");
                    None
                }
            }
        });
        Verdict { is_ended: !run.is_live(), result }
    }

    fn end(&mut self, exit: &end::Exit) -> Option<EndReason> {
        let run_id = self.run_id;
        let committed = self.persist(|session| {
            Ok(match record_end(session, run_id, exit.clone()) {
                Some(ended) => {
                    let reason = ended.reason;
                    Change::Append(draft(Source::Keeper, ended), Some(reason))
                }
                None => Change::Nothing(session.run(run_id).and_then(|run| run.end_reason)),
            })
        });
        committed.and_then(|committed| committed.value)
    }

    /// Applies a rule until it is applied. None when it was refused, or there is no session any
    /// more to apply it to.
    fn persist<R>(
        &mut self,
        rule: impl Fn(&Session) -> Result<Change<R>, Refusal>,
    ) -> Option<Committed<R>> {
        let mut pause = FIRST_PAUSE;
        loop {
            let store = self.store()?;
            let error = match store.transact(self.session_id, &rule) {
                Ok(committed) => {
                    if std::mem::take(&mut self.is_failing) {
                        self.bell.ring(Note::Record(None));
                    }
                    return Some(committed);
                }
                Err(TransactError::Refused(refusal)) => {
                    say!("creel keep: refused by the record: {refusal}");
                    return None;
                }
                Err(TransactError::Write(error @ WriteError::NotFound { .. })) => {
                    say!("creel keep: nothing left to record in: {error}");
                    return None;
                }
                Err(TransactError::Write(error)) => error,
            };
            self.failed(&error);
            thread::park_timeout(pause);
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// Returns the store, once it can be opened; none when it is gone.
    fn store(&mut self) -> Option<Store> {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(store) = &self.store {
                return Some(store.clone());
            }
            let opened = boot_id().map(|boot| Store::open(&self.orb_root, Arc::new(OsFs), &boot));
            match opened {
                Ok(Ok(store)) => self.store = Some(store),
                Ok(Err(error @ OpenError::Missing { .. })) => {
                    say!("creel keep: nothing left to record in: {error}");
                    return None;
                }
                Ok(Err(error)) => self.failed(&error),
                Err(error) => self.failed(&error),
            }
            if self.store.is_none() {
                thread::park_timeout(pause);
                pause = (pause * 2).min(LAST_PAUSE);
            }
        }
    }

    fn failed(&mut self, error: &dyn std::error::Error) {
        let text = crate::word::chain(error);
        if !self.is_failing {
            say!("creel keep: can't record yet: {text}");
        }
        self.is_failing = true;
        self.bell.ring(Note::Record(Some(text)));
    }
}

fn verdict_text(code: i32, tail: &[u8]) -> String {
    let tail = String::from_utf8_lossy(tail);
    let tail = tail.trim_end();
    if tail.is_empty() { format!("exit code {code}") } else { format!("exit code {code}\n{tail}") }
}
