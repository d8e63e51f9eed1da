//! A point in time to wait until, on the clock that suspend and time changes don't touch.

use std::time::{Duration, Instant};

/// The longest any wait lasts: 365 days. Longer ones are cut, so that no arithmetic overflows.
pub const MAX_WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A moment at which waiting ends, however often the wait is interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
}

impl Deadline {
    /// Returns the moment `within` from now.
    #[must_use]
    pub fn after(within: Duration) -> Self {
        Self { at: Instant::now() + within.min(MAX_WAIT) }
    }

    /// Returns what is left; zero once past.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// Tells whether the moment has come.
    #[must_use]
    pub fn is_past(self) -> bool {
        self.remaining().is_zero()
    }

    /// Returns the earlier of the two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self { at: self.at.min(other.at) }
    }
}
