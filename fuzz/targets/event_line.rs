//! A line of a session's log: any bytes are an event or an error, and an event survives its line.
#![no_main]

use creel_record::line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(event) = line::parse(data) else { return };
    let once = line::encode(&event, 0).expect("an event that was read can be written");
    let again = line::parse(once.bytes.trim_ascii_end()).expect("what was written can be read");
    let twice = line::encode(&again, 0).expect("an event that was read can be written");
    assert_eq!(once.bytes, twice.bytes);
});
