//! How a keeper that is to leave ends the pauses of its recorder.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Whether nothing is to be started any more, since the machine or the user goes.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaving(Arc<(Mutex<bool>, Condvar)>);

impl Leaving {
    /// Ends the pause under way, and all later ones.
    pub(super) fn begin(&self) {
        let (is_leaving, changed) = &*self.0;
        *is_leaving.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Waits; true as soon as nothing is to be started any more.
    pub(super) fn within(&self, pause: Duration) -> bool {
        let (is_leaving, changed) = &*self.0;
        let is_leaving = is_leaving.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(is_leaving, pause, |is_leaving| !*is_leaving);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
