//! Events as this process makes them: its clock, its randomness.

use std::hash::{BuildHasher, Hasher, RandomState};

use creel_record::event::Draft;
use creel_record::{EventId, Fact, RunId, Source, Timestamp, TurnId};
use creel_sys::boot::wall_time_ms;

/// Returns the time.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(i64::try_from(wall_time_ms()).unwrap_or(i64::MAX))
}

/// Makes the id of a run.
pub(crate) fn run_id() -> RunId {
    RunId::ordered(now(), random())
}

/// Makes the id of a turn.
pub(crate) fn turn_id() -> TurnId {
    TurnId::ordered(now(), random())
}

/// Makes an event that happens now.
pub(crate) fn draft(source: Source, fact: impl Into<Fact>) -> Draft {
    let time = now();
    Draft { id: EventId::ordered(time, random()), source, time, fact: fact.into() }
}

/// Ids need bytes that differ, not bytes that nobody can guess: those with which the standard
/// library keys its maps do, and can't fail.
fn random() -> [u8; 10] {
    let mut bytes = [0; 10];
    for part in bytes.chunks_mut(8) {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        part.copy_from_slice(&hasher.finish().to_ne_bytes()[..part.len()]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_differ() {
        let ids: BTreeSet<_> = (0..10_000).map(|_| random()).collect();
        assert_eq!(ids.len(), 10_000);
    }
}
