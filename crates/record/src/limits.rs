//! Every bound of the record, in bytes of UTF-8 unless it says otherwise.
//!
//! Sources: the payload, key, value and snapshot bounds are the product's design; the caps on depth
//! and fan-out are the contract of dispatch trees; the others are set so that a session at all its
//! bounds still encodes below [`MAX_SNAPSHOT_BYTES`] (a test adds them up).

/// A return, prompt, question, answer, note or message.
pub const MAX_PAYLOAD_BYTES: usize = 8 * 1024 * 1024;
/// An interface key.
pub const MAX_KEY_BYTES: usize = 128;
/// An interface value.
pub const MAX_VALUE_BYTES: usize = 4 * 1024;
/// All interface keys and values together, as encoded in JSON.
pub const MAX_INTERFACE_BYTES: usize = 32 * 1024;
/// All reserved slices together, as encoded in JSON.
pub const MAX_SLICES_BYTES: usize = 3 * 1024;
/// A title, as encoded in JSON.
pub const MAX_TITLE_BYTES: usize = 512;
/// A description, as encoded in JSON.
pub const MAX_DESCRIPTION_BYTES: usize = 2 * 1024;
/// A working directory or artifact path, as encoded in JSON (PATH_MAX is 4096; longer is refused).
pub const MAX_PATH_BYTES: usize = 1024;
/// A runtime, profile, account or target name.
pub const MAX_NAME_BYTES: usize = 128;
/// A `launch --key`.
pub const MAX_LAUNCH_KEY_BYTES: usize = 256;
/// The launch environment that is kept for wakes, as encoded in JSON: what Linux takes as one
/// variable, which is the most that a long PATH can have.
pub const MAX_ENVIRONMENT_BYTES: usize = 128 * 1024;
/// Runs kept in the snapshot: a turn and its two re-prompts, and the run before it. Older ones are
/// in the run index.
pub const MAX_RECENT_RUNS: usize = 4;
/// Open questions of a session.
pub const MAX_OPEN_QUESTIONS: usize = 6;
/// Artifacts named in the snapshot (the newest ones).
pub const MAX_RECENT_ARTIFACTS: usize = 2;
/// Undischarged dispatches of a session: the live fan-out cap's upper bound.
pub const MAX_DISPATCHES: usize = 24;
/// A snapshot file.
pub const MAX_SNAPSHOT_BYTES: usize = 64 * 1024;
/// A log line: a payload in which every byte needs a six-byte escape, the environment of a creation
/// and the envelope.
pub const MAX_LINE_BYTES: usize = 6 * MAX_PAYLOAD_BYTES + MAX_ENVIRONMENT_BYTES + 64 * 1024;
/// The detail line of a run's end, as encoded in JSON; longer ones are cut.
pub const MAX_DETAIL_BYTES: usize = 200;
/// A harness's own session id, as encoded in JSON; a longer one is not kept.
pub const MAX_NATIVE_ID_BYTES: usize = 128;
/// A control group path, as encoded in JSON; a longer one is not kept.
pub const MAX_CGROUP_BYTES: usize = 256;
/// A machine id or boot id (a UUID with hyphens has 36).
pub const MAX_MACHINE_ID_BYTES: usize = 64;
/// Nesting of a reserved slice; the snapshot's reader follows 128 levels in all.
pub const MAX_SLICE_DEPTH: usize = 32;
/// Re-prompts of one un-returned turn.
pub const MAX_REPROMPTS: u32 = 2;

/// Returns the length of `text` inside a JSON string.
pub fn encoded_len(text: &str) -> usize {
    text.bytes().map(encoded_byte_len).sum()
}

fn encoded_byte_len(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..=0x1f => 6,
        _ => 1,
    }
}

/// Returns the longest beginning of `text` that takes at most `max_bytes` inside a JSON string.
pub fn truncated(text: &str, max_bytes: usize) -> &str {
    let mut len_bytes = 0;
    for (start, character) in text.char_indices() {
        let next = &text[start..start + character.len_utf8()];
        len_bytes += encoded_len(next);
        if len_bytes > max_bytes {
            return &text[..start];
        }
    }
    text
}
