//! A transcript entry: any bytes are one or an error, and one survives being written again.
#![no_main]

use creel_api::transcript::Entry;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(entry) = serde_json::from_slice::<Entry>(data) else { return };
    let once = serde_json::to_vec(&entry).expect("an entry that was read can be written");
    let again: Entry = serde_json::from_slice(&once).expect("what was written can be read");
    let twice = serde_json::to_vec(&again).expect("an entry that was read can be written");
    assert_eq!(once, twice);
});
