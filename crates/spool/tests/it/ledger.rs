//! What was acknowledged, and whether a store still keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use creel_record::{EventId, SessionId, Source};
use creel_spool::{
    Change, EventsFrom, HealError, Mint, ReadError, Rebuild, RowFilter, Store, TransactError,
    Visibility, WriteError, to_row,
};
use creel_sys::fs::Fs;

use crate::mint::{Minter, note};

pub(crate) const ROOT: &str = "/orb";
/// What a check appends.
const AFTER_REPAIR: &str = "after the repair";

/// What a writer was told about its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Acknowledged(u64),
    NotWritten,
    Unknown,
}

/// Every event that was ever tried, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    sessions: BTreeMap<SessionId, Vec<(EventId, Told)>>,
    /// Events that were damaged on purpose.
    pub(crate) spoiled: BTreeSet<EventId>,
    /// True when writes failed, so that a log may be marked.
    pub(crate) may_be_marked: bool,
}

impl Ledger {
    pub(crate) fn tell(&mut self, session: SessionId, event: EventId, told: Told) {
        self.sessions.entry(session).or_default().push((event, told));
    }

    pub(crate) fn told_by(error: &WriteError) -> Told {
        match error {
            WriteError::Unknown { .. } => Told::Unknown,
            _ => Told::NotWritten,
        }
    }

    /// Opens the store anew, repairs each session once, and checks that it keeps the ledger.
    pub(crate) fn check(&self, fs: Arc<dyn Fs>, boot_id: &str) {
        let Ok(store) = Store::create(Path::new(ROOT), fs, boot_id) else {
            assert!(self.acknowledged_count() == 0, "the store is gone");
            return;
        };
        let mut minter = Minter::new(999);
        for (id, events) in &self.sessions {
            self.check_session(&store, (*id, events), &mut minter);
        }
        check_rows(&store);
    }

    fn acknowledged_count(&self) -> usize {
        let all = self.sessions.values().flatten();
        all.filter(|(_, told)| matches!(told, Told::Acknowledged(_))).count()
    }

    fn check_session(
        &self,
        store: &Store,
        (id, told): (SessionId, &[(EventId, Told)]),
        minter: &mut Minter,
    ) {
        let is_acknowledged = told.iter().any(|(_, told)| matches!(told, Told::Acknowledged(_)));
        let may_need_heal = self.may_be_marked || !self.spoiled.is_empty();
        match repair((store, may_need_heal), id, minter) {
            Ok(()) => {}
            Err(reason) => {
                assert!(!is_acknowledged, "{id} can't be repaired: {reason}");
                return;
            }
        }
        self.check_events(store, (id, told));
        let published = store.read(id).unwrap();
        assert!(!published.is_stale && published.damage.is_none(), "{published:?}");
        let runs = store.runs(id, published.session()).unwrap();
        let lost = published.session().run_count - runs.len() as u64;
        assert!(lost <= self.spoiled.len() as u64, "{lost} runs are lost");
        let more = minter.draft(note(AFTER_REPAIR));
        let sequence = published.snapshot.log.sequence + 1;
        let committed =
            store.transact(id, |_| Ok::<_, WriteError>(Change::Append(more.clone(), ()))).unwrap();
        assert_eq!(committed.event, Some((more.id, sequence)));
        assert_eq!(committed.visibility, Visibility::Published);
    }

    /// Checks that acknowledged events are there once, in order, under their sequence, and that
    /// nothing is there that was reported as not written.
    fn check_events(&self, store: &Store, (id, told): (SessionId, &[(EventId, Told)])) {
        let stored: Vec<_> = store
            .events(id, EventsFrom::Start)
            .unwrap()
            .map(|event| event.unwrap().event)
            .collect();
        let sequences: Vec<u64> = stored.iter().map(|event| event.sequence).collect();
        assert_eq!(sequences, (1..=stored.len() as u64).collect::<Vec<_>>(), "gaps in {id}");
        let found: BTreeMap<EventId, u64> =
            stored.iter().map(|event| (event.id, event.sequence)).collect();
        assert_eq!(found.len(), stored.len(), "an event is there twice in {id}");
        for (event, told) in told {
            let sequence = found.get(event).copied();
            match told {
                Told::Acknowledged(at) if self.spoiled.contains(event) => {
                    assert!(sequence.is_none_or(|found| found == *at));
                }
                Told::Acknowledged(at) => assert_eq!(sequence, Some(*at), "{event} of {id}"),
                Told::NotWritten => assert_eq!(sequence, None, "{event} of {id} is there"),
                Told::Unknown => {}
            }
        }
        let known: BTreeSet<EventId> = told.iter().map(|(event, _)| *event).collect();
        for event in &stored {
            let is_ours = known.contains(&event.id)
                || event.fact.text() == Some(AFTER_REPAIR)
                || event.fact.type_name() == "orb.spool.healed"
                || (!self.spoiled.is_empty() && event.source == Source::Maintenance);
            assert!(is_ours, "{event:?} came from nowhere");
        }
    }
}

/// Repairs a session as an operator would, once, and checks that it is whole then.
fn repair(
    (store, may_need_heal): (&Store, bool),
    id: SessionId,
    minter: &mut Minter,
) -> Result<(), String> {
    let report = match store.verify(id) {
        Err(error) => return Err(error.to_string()),
        Ok(report) if report.is_clean() => return Ok(()),
        Ok(report) => report,
    };
    if report.needs_heal() {
        assert!(may_need_heal, "{report:?}");
        heal(store, id, minter).map_err(|error| error.to_string())?;
    } else {
        store.rebuild(id, Rebuild::Write).map_err(|error| error.to_string())?;
    }
    match store.verify(id) {
        Ok(report) => assert!(report.is_clean(), "{report:?}"),
        Err(ReadError::NotFound { .. }) => return Err("nothing is left".to_owned()),
        Err(error) => panic!("{error}"),
    }
    Ok(())
}

/// Heals a session with ids of its own.
pub(crate) fn heal(
    store: &Store,
    id: SessionId,
    minter: &mut Minter,
) -> Result<creel_spool::Healed, HealError> {
    let now = minter.now();
    store.heal(id, &mut Mint { now, event_id: &mut || minter.event_id() })
}

/// Checks that the list has exactly the readable sessions, each as its snapshot has it.
pub(crate) fn check_rows(store: &Store) {
    let rows = store.rows(RowFilter::All).unwrap();
    let mut listed: Vec<_> = rows.iter().map(|row| row.parse().unwrap()).collect();
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    let mut expected = Vec::new();
    for id in store.ids().unwrap() {
        if let Ok(published) = store.read(id) {
            expected.push(to_row(published.session(), published.flags()));
        }
    }
    expected.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(listed, expected);
}

/// Appends a fact, made from the session, and enters what came of it.
pub(crate) fn append(
    (store, ledger): (&Store, &mut Ledger),
    (id, minter): (SessionId, &mut Minter),
    make: &dyn Fn(&creel_record::Session, &mut Minter) -> creel_record::Fact,
) -> Result<(), WriteError> {
    let event = minter.event_id();
    let now = minter.now();
    let result = store.transact(id, |session| {
        let fact = make(session, minter);
        let source = creel_record::Source::Operator;
        let draft = creel_record::event::Draft { id: event, source, time: now, fact };
        Ok::<_, WriteError>(Change::Append(draft, ()))
    });
    match result {
        Ok(committed) => {
            let (_, sequence) = committed.event.unwrap();
            ledger.tell(id, event, Told::Acknowledged(sequence));
            Ok(())
        }
        Err(TransactError::Write(error) | TransactError::Refused(error)) => {
            ledger.tell(id, event, Ledger::told_by(&error));
            Err(error)
        }
    }
}
