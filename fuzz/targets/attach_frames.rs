//! The frames of a viewer and a keeper: any bytes are frames, an unfinished one or an error, and a
//! frame that was read survives its own bytes.
#![no_main]

use creel_api::attach::{Frame, FromViewer, ToViewer, take_frame};
use libfuzzer_sys::fuzz_target;

fn check<F: Frame + PartialEq + std::fmt::Debug>(data: &[u8]) {
    let mut buffer = data.to_vec();
    while let Ok(Some(frame)) = take_frame::<F>(&mut buffer) {
        let mut again = Vec::new();
        frame.encode(&mut again);
        assert_eq!(take_frame::<F>(&mut again), Ok(Some(frame)));
        assert!(again.is_empty());
    }
}

fuzz_target!(|data: &[u8]| {
    check::<ToViewer>(data);
    check::<FromViewer>(data);
});
