//! From the errors of the layers below to what a person is told.

use creel_host::view::LookError;
use creel_record::Refusal;
use creel_spool::{
    FeedWatchError, HealError, LeaseError, OpenError, ReadError, ResolveError, Store, WriteError,
};

use crate::codes::Code;
use crate::report::Report;

impl From<&Refusal> for Code {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::TooLong { .. } | Refusal::EnvironmentTooLong { .. } => Self::TooLong,
            Refusal::Empty { .. } => Self::Empty,
            Refusal::ControlCharacter { .. } => Self::ControlCharacter,
            Refusal::ReservedKey { .. } => Self::ReservedKey,
            Refusal::TooMany { .. } => Self::TooMany,
            Refusal::NoRun { .. } => Self::NoRun,
            Refusal::UnknownRun { .. } => Self::UnknownRun,
            Refusal::AlreadyReturned { .. } => Self::AlreadyReturned,
            Refusal::RunLive { .. } => Self::RunLive,
            Refusal::BeingEnded { .. } => Self::BeingEnded,
            Refusal::Discarded { .. } => Self::Discarded,
            Refusal::DeliveryOwned { .. } => Self::DeliveryOwned,
            Refusal::WrongMode { .. } => Self::WrongMode,
            Refusal::WrongState { .. } => Self::WrongState,
            Refusal::NoQuestion { .. } => Self::NoQuestion,
            Refusal::WhichQuestion { .. } => Self::WhichQuestion,
            Refusal::AlreadyAnswered { .. } => Self::AlreadyAnswered,
            Refusal::TooDeep { .. } => Self::TooDeep,
            Refusal::TooWide { .. } => Self::TooWide,
            Refusal::KeyTaken { .. } => Self::KeyTaken,
            Refusal::NotAskable { .. } => Self::NotAskable,
        }
    }
}

impl From<Refusal> for Report {
    fn from(refusal: Refusal) -> Self {
        refused(&refusal, "ID")
    }
}

/// Reports what the record refused to do with the session that `id` names.
pub(crate) fn refused(refusal: &Refusal, id: &str) -> Report {
    let says_what_stands =
        matches!(refusal, Refusal::AlreadyReturned { .. } | Refusal::ReservedKey { .. });
    let clause = if says_what_stands { "" } else { "; nothing was changed" };
    Report::new(Code::from(refusal), format!("{refusal}{clause}")).next(next(refusal, id))
}

fn next(refusal: &Refusal, id: &str) -> String {
    match refusal {
        Refusal::TooLong { what: "result" | "prompt" | "note" | "question" | "answer", .. } => {
            "creel session artifact PATH".to_owned()
        }
        Refusal::TooLong { what, .. } => format!("the same command with less text as {what}"),
        Refusal::EnvironmentTooLong { largest, .. } => {
            format!("the same command with a shorter {largest}")
        }
        Refusal::Empty { what } => format!("the same command with some text as {what}"),
        Refusal::ControlCharacter { what } => format!("the same command with one line as {what}"),
        Refusal::NotAskable { .. } => "creel --help".to_owned(),
        Refusal::ReservedKey { key } => {
            let free = key.trim_start_matches("core:");
            format!("creel session set {free} VALUE")
        }
        Refusal::TooMany { .. } => "creel list".to_owned(),
        Refusal::NoRun { session } => format!("creel resume {session} PROMPT"),
        Refusal::UnknownRun { session, .. } => format!("creel inspect {session}"),
        Refusal::AlreadyReturned { run_number, .. } => {
            format!("creel result {id} --run {run_number}")
        }
        Refusal::RunLive { session, .. } | Refusal::BeingEnded { session, .. } => {
            format!("creel wait {session}")
        }
        Refusal::Discarded { session } => format!("creel resume {session} --undiscard PROMPT"),
        Refusal::DeliveryOwned { session }
        | Refusal::WrongMode { session, .. }
        | Refusal::WrongState { session, .. }
        | Refusal::NoQuestion { session }
        | Refusal::KeyTaken { session, .. } => format!("creel inspect {session}"),
        Refusal::WhichQuestion { session, .. } => format!("creel inspect {session} --json"),
        Refusal::AlreadyAnswered { .. } => "creel list -S needs-input".to_owned(),
        Refusal::TooDeep { .. } => "creel launch TARGET PROMPT".to_owned(),
        Refusal::TooWide { session, .. } => format!("creel inspect {session}"),
    }
}

impl From<OpenError> for Report {
    fn from(error: OpenError) -> Self {
        let (code, next) = match &error {
            OpenError::Missing { root } => {
                let next =
                    format!("the same command with --orb-root {} --create-store", root.display());
                (Code::StoreMissing, next)
            }
            OpenError::NotADirectory { root } => {
                (Code::StoreUnusable, format!("ls -ld {}", root.display()))
            }
            OpenError::Foreign { .. } => (Code::ForeignStore, "creel scope".to_owned()),
            OpenError::Manifest { path, .. } => {
                (Code::ForeignStore, format!("cat {}", path.display()))
            }
            OpenError::Io { path, .. } => {
                (Code::StoreUnusable, format!("ls -ld {}", path.display()))
            }
        };
        Self::of(code, &error).next(next)
    }
}

impl From<ResolveError> for Report {
    fn from(error: ResolveError) -> Self {
        let code = match &error {
            ResolveError::Malformed { .. } => Code::MalformedId,
            ResolveError::NotFound { .. } => Code::UnknownId,
            ResolveError::Ambiguous { .. } => Code::AmbiguousId,
            ResolveError::Io { .. } => Code::StoreUnusable,
        };
        Self::of(code, &error).next("creel list --all")
    }
}

impl From<ReadError> for Report {
    fn from(error: ReadError) -> Self {
        let (code, next) = match &error {
            ReadError::NotFound { .. } => (Code::UnknownId, "creel list --all".to_owned()),
            ReadError::NoSnapshot { id }
            | ReadError::BadSnapshot { id, .. }
            | ReadError::StaleIndex { id } => {
                (Code::SnapshotInvalid, format!("creel rebuild-session-snapshots {id}"))
            }
            ReadError::NoRun { id, .. } => (Code::UnknownRun, format!("creel inspect {id}")),
            ReadError::Damaged { id, .. } => (Code::SessionDamaged, format!("creel verify {id}")),
            ReadError::Busy { id, .. } => (Code::SessionBusy, format!("creel inspect {id}")),
            ReadError::Io { path, .. } => {
                (Code::StoreUnusable, format!("ls -l {}", path.display()))
            }
        };
        Self::of(code, &error).next(next)
    }
}

impl From<LookError> for Report {
    fn from(error: LookError) -> Self {
        match error {
            LookError::Read(error) => error.into(),
            LookError::Lease(_) => Self::of(Code::StoreUnusable, &error).next("creel scope"),
        }
    }
}

impl From<WriteError> for Report {
    fn from(error: WriteError) -> Self {
        write_failure(&error)
    }
}

/// Reports a write that failed, or may have.
pub(crate) fn write_failure(error: &WriteError) -> Report {
    let (code, next) = match error {
        WriteError::NotFound { .. } => (Code::UnknownId, "creel list --all".to_owned()),
        WriteError::Exists { id } => (Code::SessionExists, format!("creel inspect {id}")),
        WriteError::ReadOnly { id, .. } => (Code::ReadOnlyStore, format!("creel verify {id}")),
        WriteError::Damaged { id, .. } => (Code::SessionDamaged, format!("creel heal {id}")),
        WriteError::Busy { id, .. } => (Code::SessionBusy, format!("creel inspect {id}")),
        WriteError::NotWritten { id, .. } => (Code::NotWritten, format!("creel verify {id}")),
        WriteError::Unknown { id, .. } => (Code::OutcomeUnknown, format!("creel verify {id}")),
    };
    Report::of(code, error).next(next)
}

/// Reports a write to a store that failed; a damaged session is read-only and can be healed.
pub(crate) fn write_failure_in(store: &Store, error: &WriteError) -> Report {
    match error {
        WriteError::ReadOnly { id, reason }
            if store.read(*id).is_ok_and(|published| published.damage.is_some()) =>
        {
            let message = format!("session {id} is read-only: {reason}");
            Report::new(Code::SessionDamaged, message).next(format!("creel heal {id}"))
        }
        error => write_failure(error),
    }
}

impl From<HealError> for Report {
    fn from(error: HealError) -> Self {
        let (code, next) = match &error {
            HealError::NotFound { .. } => (Code::UnknownId, "creel list --all".to_owned()),
            HealError::ReadOnly { .. } => (Code::ReadOnlyStore, "creel scope".to_owned()),
            HealError::Busy { id, .. } => (Code::SessionBusy, format!("creel inspect {id}")),
            HealError::NoCreation { id } => (Code::SessionDamaged, format!("creel verify {id}")),
            HealError::Io { id, .. } => (Code::NotWritten, format!("creel verify {id}")),
        };
        Self::of(code, &error).next(next)
    }
}

impl From<FeedWatchError> for Report {
    fn from(error: FeedWatchError) -> Self {
        Self::of(Code::WatchFailed, &error).next("creel list")
    }
}

impl From<LeaseError> for Report {
    fn from(error: LeaseError) -> Self {
        let code = match &error {
            LeaseError::ReadOnly { .. } => Code::ReadOnlyStore,
            LeaseError::Io { .. } => Code::StoreUnusable,
        };
        Self::of(code, &error).next("creel scope")
    }
}

#[cfg(test)]
mod tests {
    use creel_record::Refusal;

    use crate::report::Report;

    fn check(refusal: Refusal, expected: &str) {
        let code = refusal.code();
        let report = Report::from(refusal);
        assert_eq!(report.code().as_str(), code);
        assert_eq!(report.to_string(), expected);
    }

    #[test]
    fn a_refusal_keeps_its_code_and_names_the_next_step() {
        check(
            Refusal::ReservedKey { key: "core:wake-at".to_owned() },
            "creel: keys under 'core:' belong to the system; 'core:wake-at' was not set \
             [reserved-key]\nNext: creel session set wake-at VALUE",
        );
        check(
            Refusal::TooLong { what: "key", len_bytes: 129, max_bytes: 128 },
            "creel: key has 129 bytes; at most 128 are taken; nothing was \
             changed [too-long]\nNext: the same command with less text as key",
        );
    }
}
