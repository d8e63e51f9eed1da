//! The recordings of real agents, and where they are cut.

use std::fs;
use std::path::Path;

/// The terminal in which all of them were recorded.
pub(crate) const COLUMNS: u16 = 100;
pub(crate) const LINES: u16 = 32;

/// How many places of each recording are looked at when nothing else is asked for.
const SAMPLED_CUTS: usize = 24;

/// One recording.
pub(crate) struct Capture {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Reads every recording.
pub(crate) fn all() -> Vec<Capture> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/captures");
    let mut captures: Vec<Capture> = fs::read_dir(dir)
        .expect("the recordings are in the repository")
        .map(|entry| entry.expect("a directory can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "bin"))
        .map(|path| Capture {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            bytes: fs::read(path).expect("a recording can be read"),
        })
        .collect();
    captures.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!(captures.len(), 15, "every recording is there");
    captures
}

/// Returns the offsets at which a recording is cut: some, or all with `CREEL_LAW_CUTS=all`.
pub(crate) fn cuts(capture: &Capture) -> Vec<usize> {
    let len = capture.bytes.len();
    if std::env::var_os("CREEL_LAW_CUTS").is_some_and(|cuts| cuts == "all") {
        return (0..=len).collect();
    }
    // Steps of a prime, so that cuts fall into sequences and characters as they come.
    let step = (len / SAMPLED_CUTS).max(1) | 1;
    (0..len).step_by(step).chain([len]).collect()
}
