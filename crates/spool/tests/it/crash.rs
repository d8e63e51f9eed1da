//! Every process killed, or the power gone, at every operation of the script.

use std::path::Path;
use std::sync::Arc;

use creel_spool::Store;
use creel_sys::fault::{Fault, FaultFs};
use creel_sys::fs::Fs;
use creel_testkit::disk::DiskFs;

use crate::ledger::ROOT;
use crate::script::{BOOT, Stage, steps};

/// Ways in which the power is lost at each operation.
const SEEDS: u64 = 5;

/// Crashes at every operation of the script, and hands the stage and a running number over.
fn check(after_crash: impl Fn(&Stage, u64)) {
    let steps = steps();
    let mut total = 0;
    let count = Stage::each_operation(|mut stage, at, n| {
        stage.faulty.arm(n, Fault::Crash);
        stage.take(steps[at]);
        assert!(stage.faulty.op_count() >= n, "step {at} has no operation {n}");
        total += 1;
        after_crash(&stage, total);
    });
    assert!(count > 200, "the script has only {count} operations");
}

#[test]
fn acknowledged_events_survive_a_kill_at_every_operation() {
    check(|stage, _| stage.ledger.check(Arc::new(stage.disk.crash_processes()), BOOT));
}

#[test]
fn acknowledged_events_survive_a_power_loss_at_every_operation() {
    check(|stage, n| {
        for seed in 0..SEEDS {
            let after = stage.disk.power_loss(n * SEEDS + seed);
            stage.ledger.check(Arc::new(after), "boot-2");
        }
    });
}

#[test]
fn acknowledged_events_survive_a_power_loss_after_every_kill() {
    check(|stage, n| {
        let killed = stage.disk.crash_processes();
        // Writers of the same boot go on before the power goes.
        stage.ledger.check(Arc::new(killed.clone()), BOOT);
        stage.ledger.check(Arc::new(killed.power_loss(n)), "boot-2");
    });
}

#[test]
fn a_store_is_made_again_after_a_crash_at_every_operation_of_making_it() {
    let make = |fs: Arc<dyn Fs>| Store::create(Path::new(ROOT), fs, BOOT);
    for n in 1.. {
        let disk = DiskFs::new();
        let faulty = FaultFs::new(Arc::new(disk.clone()));
        faulty.arm(n, Fault::Crash);
        if make(Arc::new(faulty)).is_ok() {
            assert!(n > 8, "making a store has only {n} operations");
            break;
        }
        let store = make(Arc::new(disk.crash_processes())).unwrap();
        assert_eq!(store.ids().unwrap(), []);
        for seed in 0..SEEDS {
            let store = make(Arc::new(disk.power_loss(n * SEEDS + seed))).unwrap();
            assert_eq!(store.ids().unwrap(), []);
        }
    }
}
