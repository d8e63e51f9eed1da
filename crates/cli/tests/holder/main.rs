//! Holder and keeper as real processes: what they start, record, leave behind and survive.
//!
//! The tests run in a child of this program, which has a home of its own and whose processes are
//! all looked for when it is done: one that is left fails the whole.

mod bounds;
mod crashes;
mod disk_full;
mod exits;
mod flood;
mod follow;
mod home;
mod nested;
mod output;
mod protocol;
mod rounds;
mod scene;
mod signals;
mod spawning;
mod trees;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let first = std::env::args().nth(1);
    match first.as_deref() {
        Some(rounds::DRIVER) => return rounds::drive(),
        Some(disk_full::DRIVER) => return disk_full::drive(),
        Some(disk_full::OWING_DRIVER) => return disk_full::drive_owing(),
        Some(nested::DRIVER) => return nested::drive(),
        Some(spawning::DRIVER) => return spawning::drive(),
        _ => {}
    }
    if !home::is_inside() {
        return home::run_inside();
    }
    let arguments = Arguments::from_args();
    let tests = [
        bounds::tests(),
        crashes::tests(),
        disk_full::tests(),
        exits::tests(),
        flood::tests(),
        follow::tests(),
        nested::tests(),
        output::tests(),
        protocol::tests(),
        rounds::tests(),
        signals::tests(),
        spawning::tests(),
        trees::tests(),
    ];
    let trials = tests
        .into_iter()
        .flatten()
        .map(|(name, test)| {
            Trial::test(name, move || {
                test();
                Ok(())
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A test by its name.
type Test = (&'static str, fn());
