//! What the host knows at the moment, with the journal of how it came to be so: one lock, so that a
//! snapshot and the place in the journal it belongs to are one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use creel_api::host::{HostStore, RunContact, RunEntry, RunEvent, StoresEvent};
use creel_record::RunId;
use serde::Serialize;
use tokio::sync::{mpsc, watch};

use crate::contact::Ask;
use crate::journal::{Begin, Found, Journal};

/// The most runs that are known at a time; a machine runs out of memory for agents long before.
pub(crate) const MAX_RUNS: usize = 10_000;

#[derive(Debug)]
struct Known {
    entry: RunEntry,
    asks: Option<mpsc::Sender<Ask>>,
}

#[derive(Debug)]
struct State {
    journal: Journal,
    runs: BTreeMap<RunId, Known>,
    stores: Vec<HostStore>,
    degraded: BTreeMap<String, String>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Board {
    state: Mutex<State>,
    last: watch::Sender<u64>,
}

/// Everything on the board at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) sequence: u64,
    pub(crate) runs: Vec<RunEntry>,
    pub(crate) stores: Vec<HostStore>,
    pub(crate) degraded: Vec<String>,
}

impl Board {
    pub(crate) fn new(epoch: String) -> Self {
        let state = State {
            journal: Journal::new(epoch),
            runs: BTreeMap::new(),
            stores: Vec::new(),
            degraded: BTreeMap::new(),
        };
        Self { state: Mutex::new(state), last: watch::Sender::new(0) }
    }

    pub(crate) fn epoch(&self) -> String {
        self.state().journal.epoch().to_owned()
    }

    /// Returns what changes whenever an event is written.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    pub(crate) fn begin(&self, cursor: Option<&str>) -> Begin {
        self.state().journal.begin(cursor)
    }

    pub(crate) fn after(&self, sequence: u64, max_bytes: usize) -> Found {
        self.state().journal.after(sequence, max_bytes)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = self.state();
        Snapshot {
            sequence: state.journal.last(),
            runs: state.runs.values().map(|known| known.entry.clone()).collect(),
            stores: state.stores.clone(),
            degraded: state.degraded.values().cloned().collect(),
        }
    }

    /// Writes an event.
    pub(crate) fn publish(&self, kind: &'static str, data: &impl Serialize) {
        self.push(&mut self.state(), kind, data);
    }

    fn push(&self, state: &mut State, kind: &'static str, data: &impl Serialize) {
        // Plain data with text keys always has a JSON form.
        let Ok(data) = serde_json::to_string(data) else { return };
        state.journal.push(kind, data);
        self.last.send_replace(state.journal.last());
    }

    /// Puts a run on the board, or changes what is known of it. False when the board is full.
    pub(crate) fn set_run(&self, id: RunId, entry: RunEntry) -> bool {
        let mut state = self.state();
        if state.runs.len() >= MAX_RUNS && !state.runs.contains_key(&id) {
            return false;
        }
        let event = event_of(&entry, Some(entry.contact));
        let known =
            state.runs.entry(id).or_insert_with(|| Known { entry: entry.clone(), asks: None });
        known.entry = entry;
        self.push(&mut state, "run", &event);
        true
    }

    /// Changes what is known of a run's processes.
    pub(crate) fn set_contact(&self, id: RunId, contact: RunContact) {
        let mut state = self.state();
        let Some(known) = state.runs.get_mut(&id) else { return };
        if known.entry.contact != contact {
            known.entry.contact = contact;
            let event = event_of(&known.entry, Some(contact));
            self.push(&mut state, "run", &event);
        }
    }

    /// Sets through whom a run's keeper is asked.
    pub(crate) fn set_asks(&self, id: RunId, asks: Option<mpsc::Sender<Ask>>) {
        if let Some(known) = self.state().runs.get_mut(&id) {
            known.asks = asks;
        }
    }

    /// Takes a run from the board.
    pub(crate) fn remove_run(&self, id: RunId) {
        let mut state = self.state();
        if let Some(known) = state.runs.remove(&id) {
            let event = event_of(&known.entry, None);
            self.push(&mut state, "run", &event);
        }
    }

    /// Returns the runs, each with whom to ask.
    pub(crate) fn askable(&self) -> Vec<(RunEntry, Option<mpsc::Sender<Ask>>)> {
        let state = self.state();
        state.runs.values().map(|known| (known.entry.clone(), known.asks.clone())).collect()
    }

    /// Counts the runs whose holder lives.
    pub(crate) fn holder_count(&self) -> u64 {
        let lives = |contact| !matches!(contact, RunContact::LostUnrecorded);
        self.state().runs.values().filter(|known| lives(known.entry.contact)).count() as u64
    }

    pub(crate) fn set_stores(&self, stores: Vec<HostStore>) {
        let mut state = self.state();
        state.stores = stores;
        self.push_stores(&mut state);
    }

    /// Says again how the stores are: something changed that no single event tells.
    pub(crate) fn repeat_stores(&self) {
        self.push_stores(&mut self.state());
    }

    /// Notes what can't be done at the moment, or no longer.
    pub(crate) fn set_degraded(&self, about: &str, why: Option<String>) {
        let mut state = self.state();
        let has_changed = match why {
            Some(why) if state.degraded.get(about) == Some(&why) => false,
            Some(why) => {
                state.degraded.insert(about.to_owned(), why);
                true
            }
            None => state.degraded.remove(about).is_some(),
        };
        if has_changed {
            self.push_stores(&mut state);
        }
    }

    fn push_stores(&self, state: &mut State) {
        let stores = state.stores.clone();
        let degraded = state.degraded.values().cloned().collect();
        self.push(state, "stores", &StoresEvent { stores, degraded });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn event_of(entry: &RunEntry, contact: Option<RunContact>) -> RunEvent {
    let (run_id, session_id) = (entry.run_id.clone(), entry.session_id.clone());
    RunEvent { run_id, session_id, contact }
}

/// The board as tasks share it.
pub(crate) type SharedBoard = Arc<Board>;
