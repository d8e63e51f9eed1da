//! A feed file: whatever it holds, listing a store doesn't fail on it, since it is a cache.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use creel_spool::{RowFilter, Store};
use creel_sys::fs::{Fs, OpenHow, write_all_at};
use creel_testkit::disk::DiskFs;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let disk = Arc::new(DiskFs::new());
    let root = Path::new("/orb");
    let fs: Arc<dyn Fs> = Arc::clone(&disk) as Arc<dyn Fs>;
    let store = Store::create(root, Arc::clone(&fs), "boot").expect("an empty disk takes a store");
    let feed = fs
        .open(&root.join("indexes/changes.jsonl"), OpenHow::Create)
        .expect("the feed can be made");
    feed.set_len(0).expect("it can be emptied");
    write_all_at(feed.as_ref(), data, 0).expect("it can be filled");
    let rows = store.rows(RowFilter::All).expect("a feed is a cache");
    for row in rows.iter() {
        let _ = row.parse();
    }
});
