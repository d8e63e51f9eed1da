//! A user's catalog file: any text is refused whole with a printable message, or every name that
//! the catalog then lists is a target.
#![no_main]

use creel_harness::Catalog;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Catalog::builtin().with_overrides(text, "harnesses.toml") {
        Ok(catalog) => {
            for name in catalog.target_names() {
                catalog.target(&name).expect("a listed name is a target");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
