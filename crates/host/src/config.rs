//! What a host is told when it starts.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use creel_sys::runtime_dir::RuntimeDir;

/// How long a host that was started by another verb stays without anything to look after.
pub const DEFAULT_IDLE_EXIT: Duration = Duration::from_secs(5 * 60);

/// The most stores one host watches; the machine store and trusted projects, each a watch and a
/// thread.
pub const MAX_STORES: usize = 64;

/// Everything a host needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// The directory of its lock, log, token and layout.
    pub state_dir: PathBuf,
    /// The directory of sockets.
    pub runtime: RuntimeDir,
    /// The stores it may watch and act in.
    pub stores: StoreSource,
    /// The list of trusted stores, whose changes are watched.
    pub trust_list: PathBuf,
    /// The program that takes over what a dead holder left.
    pub exe: PathBuf,
    /// Its version.
    pub version: String,
    /// Where it serves HTTP.
    pub http: Http,
    /// How long it stays with nothing to look after; none is for ever.
    pub idle_exit: Option<Duration>,
}

/// Where HTTP is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// Nowhere.
    Off,
    /// On a port of the loopback address; 0 takes a free one.
    Port(u16),
}

/// Names the stores that this user vouches for, as canonical roots, the machine store first.
///
/// The list of trusted stores is the caller's: a host that reads it by itself would be a second
/// place that decides about trust.
#[derive(Clone)]
pub struct StoreSource(pub Arc<Roots>);

/// See [`StoreSource`].
pub type Roots = dyn Fn() -> Result<Vec<PathBuf>, String> + Send + Sync;

impl fmt::Debug for StoreSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreSource")
    }
}
