//! Ends of runs whose keeper can't be reached, or whose processes were stopped.

use std::time::{Duration, Instant};

use creel_record::SessionId;
use creel_sys::process::{ProcessIdentity, Signal};

use crate::recovery::machinery;
use crate::world::{World, ends};

/// Far less than the minute that used to pass, and enough for a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(30);

const HANGS: &str = "creel session set phase ready; exec sleep 600";

/// Launches an agent that hangs; returns it with its holder and keeper.
fn running(world: &World) -> (SessionId, [ProcessIdentity; 2]) {
    let id = world.launch(HANGS);
    world.until_phase(id, "ready");
    let session = world.until(id, |s| s.live_run().is_some_and(|run| run.holder.is_some()));
    let (holder, keeper) = machinery(&session);
    (id, [holder, keeper])
}

/// Ends a session, which must succeed soon, and leave nothing.
#[track_caller]
fn check(world: &World, id: SessionId, (verb, reason): (&str, &str)) {
    let begun = Instant::now();
    world.run(&[verb, &id.to_string()]).success();
    assert!(begun.elapsed() < SOON, "{verb} took {:?}", begun.elapsed());
    assert_eq!((verb, ends(&world.at_rest(id))), (verb, vec![reason]));
}

#[test]
fn an_end_needs_no_runtime_directory() {
    let world = World::new();
    for ending in [("kill", "killed"), ("close", "closed"), ("park", "parked")] {
        let (id, _) = running(&world);
        // The holder may put its socket back while the directory is removed.
        while std::fs::remove_dir_all(world.env.runtime_dir()).is_err() {}
        check(&world, id, ending);
    }
}

#[test]
fn an_end_reaches_processes_that_were_stopped() {
    let world = World::new();
    let stop = |process: &ProcessIdentity| {
        assert!(process.signal(Signal::STOP).expect("it is ours"), "it lives");
    };
    let (id, [holder, _]) = running(&world);
    stop(&holder);
    check(&world, id, ("kill", "killed"));
    let (id, [_, keeper]) = running(&world);
    stop(&keeper);
    check(&world, id, ("close", "closed"));
    let (id, both) = running(&world);
    both.iter().for_each(stop);
    check(&world, id, ("discard", "discarded"));
}
