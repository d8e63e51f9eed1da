//! What a holder and its keeper tell each other.
//!
//! The holder sends its whole state whenever something of it changed, and first of all to a new
//! keeper, which therefore needs no memory of the one before. The keeper sends one of three words.
//! The holder reads nothing else: a keeper has seen what the agent wrote.

use creel_api::keeper::Survivor;
use creel_sys::exit::Exit;
use creel_sys::process::{ProcessIdentity, Signal};
use serde::{Deserialize, Serialize};

/// The longest word of a keeper in bytes.
pub(crate) const MAX_ASK_BYTES: usize = 64;

/// The longest state of a holder in bytes: its survivors are bounded in number, their texts by
/// the kernel.
pub(crate) const MAX_STATE_BYTES: usize = 64 * 1024;

/// How far the end of a run's processes is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tree {
    /// The agent lives and nobody ends it.
    Alive,
    /// It is being ended; these outlived the last attempt.
    Ending { survivors: Vec<Survivor> },
    /// Every process is proven dead.
    Dead,
}

/// The version of what holder and keeper say to each other, and of the numbers under which a keeper
/// finds what it inherits. A keeper of a newer program serves holders of all versions before; one
/// that meets a newer holder leaves, and the holder starts its own program instead.
pub(crate) const HOLDER_VERSION: u32 = 1;

/// All that a holder knows of its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// [`HOLDER_VERSION`] of the holder.
    #[serde(default)]
    pub(crate) version: u32,
    pub(crate) agent: ProcessIdentity,
    pub(crate) holder: ProcessIdentity,
    /// Directory of the run's cgroup.
    pub(crate) cgroup: Option<String>,
    /// How the agent ended.
    pub(crate) exit: Option<Exit>,
    pub(crate) tree: Tree,
    /// How many keepers were started.
    pub(crate) keeper_starts: u32,
    /// True once a signal told the holder to end, as at the end of a boot.
    pub(crate) is_leaving: bool,
}

/// What a keeper asks of its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// This keeper understands its holder and keeps the run.
    Here,
    /// End the run's processes, first with this signal.
    End { signal: Signal, grace_ms: u64 },
    /// The end of the run is recorded: leave.
    Leave,
}

impl Ask {
    pub(crate) fn encode(self) -> Vec<u8> {
        match self {
            Self::End { signal, grace_ms } => {
                format!("end {} {grace_ms}\n", signal.as_raw()).into_bytes()
            }
            Self::Here => b"here\n".to_vec(),
            Self::Leave => b"leave\n".to_vec(),
        }
    }

    /// Decodes a word; none when it is not one.
    pub(crate) fn decode(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        match line {
            "here" => return Some(Self::Here),
            "leave" => return Some(Self::Leave),
            _ => {}
        }
        let (signal, grace_ms) = line.strip_prefix("end ")?.split_once(' ')?;
        let signal = Signal::from_named_raw(signal.parse().ok()?)?;
        Some(Self::End { signal, grace_ms: grace_ms.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<Ask>) {
        assert_eq!(Ask::decode(line.as_bytes()), expected, "{line}");
        if let Some(ask) = expected {
            assert_eq!(ask.encode(), format!("{line}\n").into_bytes());
            assert!(line.len() <= MAX_ASK_BYTES);
        }
    }

    #[test]
    fn three_words_are_understood_and_nothing_else() {
        check("leave", Some(Ask::Leave));
        check("here", Some(Ask::Here));
        check("end 15 5000", Some(Ask::End { signal: Signal::TERM, grace_ms: 5000 }));
        check("end 9 0", Some(Ask::End { signal: Signal::KILL, grace_ms: 0 }));
        check(
            "end 15 18446744073709551615",
            Some(Ask::End { signal: Signal::TERM, grace_ms: u64::MAX }),
        );
        for line in ["", "end", "end 15", "end x 1", "end 4711 1", "end 15 -1", "leave now"] {
            check(line, None);
        }
    }
}
