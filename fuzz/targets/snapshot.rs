//! A snapshot: any bytes are one or an error, and one survives being written again.
#![no_main]

use creel_record::SessionId;
use creel_record::snapshot::Snapshot;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let id: SessionId = "00000000-0000-4000-8000-000000000000".parse().expect("it is an id");
    // The checksum would stop nearly every input: it is put right first.
    let body = data.strip_suffix(b"\n").unwrap_or(data);
    let crc = crc32c::crc32c_append(creel_record::line::chain_seed(id), body);
    let mut sealed = body.to_vec();
    sealed.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
    let Ok(snapshot) = Snapshot::decode(&sealed, id) else { return };
    if let Ok(bytes) = snapshot.encode() {
        assert_eq!(Snapshot::decode(&bytes, id).expect("what was written can be read"), snapshot);
    }
});
