//! From the errors of the layers below to what a person is told.

use creel_record::Refusal;

use crate::codes::Code;
use crate::report::Report;

impl From<&Refusal> for Code {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::TooLong { .. } => Self::TooLong,
            Refusal::Empty { .. } => Self::Empty,
            Refusal::ControlCharacter { .. } => Self::ControlCharacter,
            Refusal::ReservedKey { .. } => Self::ReservedKey,
            Refusal::TooMany { .. } => Self::TooMany,
            Refusal::NoRun { .. } => Self::NoRun,
            Refusal::UnknownRun { .. } => Self::UnknownRun,
            Refusal::AlreadyReturned { .. } => Self::AlreadyReturned,
            Refusal::RunLive { .. } => Self::RunLive,
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
        let next = match &refusal {
            Refusal::TooLong {
                what: "result" | "prompt" | "note" | "question" | "answer", ..
            } => "creel session artifact PATH".to_owned(),
            Refusal::TooLong { .. }
            | Refusal::Empty { .. }
            | Refusal::ControlCharacter { .. }
            | Refusal::NotAskable { .. } => "creel --help".to_owned(),
            Refusal::ReservedKey { key } => {
                let free = key.trim_start_matches("core:");
                format!("creel session set {free} VALUE")
            }
            Refusal::TooMany { .. } => "creel list".to_owned(),
            Refusal::NoRun { session } => format!("creel resume {session} PROMPT"),
            Refusal::UnknownRun { session, .. } => format!("creel inspect {session}"),
            Refusal::AlreadyReturned { run_number, .. } => {
                format!("creel result ID --run {run_number}")
            }
            Refusal::RunLive { session, .. } => format!("creel wait {session}"),
            Refusal::Discarded { session } => format!("creel resume {session} --restore PROMPT"),
            Refusal::DeliveryOwned { session }
            | Refusal::WrongMode { session, .. }
            | Refusal::WrongState { session, .. }
            | Refusal::NoQuestion { session }
            | Refusal::KeyTaken { session, .. } => format!("creel inspect {session}"),
            Refusal::WhichQuestion { session, .. } => format!("creel inspect {session} --json"),
            Refusal::AlreadyAnswered { .. } => "creel list -S needs-input".to_owned(),
            Refusal::TooDeep { .. } => "creel launch TARGET PROMPT".to_owned(),
            Refusal::TooWide { session, .. } => format!("creel inspect {session}"),
        };
        Self::of(Code::from(&refusal), &refusal).next(next)
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
            "creel: key has 129 bytes; at most 128 are taken [too-long]\nNext: creel --help",
        );
    }
}
