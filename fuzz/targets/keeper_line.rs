//! A line of the keeper's protocol, in every direction: any bytes are a message or an error.
#![no_main]

use creel_api::keeper;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = keeper::decode_line::<keeper::Hello>(data);
    let _ = keeper::decode_line::<keeper::Request>(data);
    let _ = keeper::decode_line::<keeper::Reply>(data);
    let _ = keeper::decode_line::<keeper::Owed>(data);
});
