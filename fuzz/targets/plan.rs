//! The plan a holder is handed: any bytes are a plan or an error, and a plan survives its own text.
#![no_main]

use creel_api::plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(plan) = serde_json::from_slice::<Plan>(data) else { return };
    let text = serde_json::to_vec(&plan).expect("a plan that was read can be written");
    let again: Plan = serde_json::from_slice(&text).expect("a plan that was written can be read");
    assert_eq!(again, plan);
});
