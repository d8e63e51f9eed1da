//! Every operation of the script failing in every way.

use std::sync::Arc;

use creel_record::SessionId;
use creel_spool::{Store, WriteError};
use creel_sys::fault::{Fault, FaultErrno};

use crate::mint::{note, session_id};
use crate::script::{BOOT, Stage, steps};

/// How long a disk stays full, in steps.
const FULL_STEPS: usize = 3;
/// How many steps the script goes on after the trouble began.
const LATER_STEPS: usize = 6;

#[derive(Clone, Copy, Debug)]
enum Trouble {
    Once(Fault),
    FullForAWhile,
}

/// Makes trouble at every operation of the script, lets the script go on, and checks that nothing
/// acknowledged is lost, also by a power loss at the end.
fn check(trouble: Trouble) {
    let steps = steps();
    let mut total = 0;
    let count = Stage::each_operation(|mut stage, at, n| {
        stage.ledger.may_be_marked = true;
        match trouble {
            Trouble::Once(fault) => stage.faulty.arm(n, fault),
            Trouble::FullForAWhile => stage.faulty.arm_from(n, Fault::Fail(FaultErrno::NoSpace)),
        }
        for (since, step) in steps[at..].iter().take(LATER_STEPS).enumerate() {
            let is_taken = stage.take(*step);
            if since == FULL_STEPS {
                stage.faulty.clear();
            }
            for id in [session_id(1), session_id(2)] {
                if !is_taken {
                    check_readable(&stage.store, id);
                }
                if since >= FULL_STEPS {
                    check_goes_on(&mut stage, id);
                }
            }
        }
        stage.faulty.clear();
        total += 1;
        let after = stage.disk.power_loss(total);
        stage.ledger.check(Arc::new(stage.disk.clone()), BOOT);
        stage.ledger.check(Arc::new(after), "boot-2");
    });
    assert!(count > 200, "the script has only {count} operations");
}

/// A session is readable, or says what to do.
fn check_readable(store: &Store, id: SessionId) {
    if let Err(error) = store.read(id) {
        let text = error.to_string();
        let says = ["no session", "rebuild-session-snapshots"];
        assert!(says.iter().any(|part| text.contains(part)), "{text}");
    }
}

/// Once the trouble is over, appends work, or the spool says that it wants to be healed, and then
/// they work.
fn check_goes_on(stage: &mut Stage, id: SessionId) {
    match stage.append(id, |_, _| note("going on")) {
        Ok(()) | Err(WriteError::NotFound { .. }) => {}
        Err(WriteError::ReadOnly { .. } | WriteError::Damaged { .. }) => {
            let is_there = stage.store.verify(id).is_ok();
            let healed = stage.heal(id);
            assert!(healed.is_ok() || !is_there, "{healed:?}");
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn an_input_output_error_at_any_operation_loses_nothing_acknowledged() {
    check(Trouble::Once(Fault::Fail(FaultErrno::Io)));
}

#[test]
fn a_full_disk_at_any_operation_loses_nothing_acknowledged() {
    check(Trouble::Once(Fault::Fail(FaultErrno::NoSpace)));
}

#[test]
fn a_short_write_at_any_operation_loses_nothing_acknowledged() {
    check(Trouble::Once(Fault::ShortWrite));
}

#[test]
fn an_effect_reported_as_an_error_loses_nothing_acknowledged() {
    check(Trouble::Once(Fault::FailAfter));
}

#[test]
fn a_disk_that_stays_full_for_a_while_loses_nothing_acknowledged() {
    check(Trouble::FullForAWhile);
}
