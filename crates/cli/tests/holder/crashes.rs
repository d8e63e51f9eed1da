//! What is left of a run when holder, keeper or both are killed.

use std::path::PathBuf;
use std::time::Duration;

use creel_api::transcript::Content;
use creel_keeper::takeover::{OldTree, TakeoverOptions, Unproven, takeover};
use creel_keeper::{Grouping, TakenOver, TakeoverError};
use creel_record::command::start::{Start, start};
use creel_record::{Cause, EndReason, Refusal, Source};
use creel_spool::Change;
use creel_sys::Deadline;
use creel_sys::boot::{boot_id, machine_id};
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::tree::{ProcessTable, cmdline};

use crate::Test;
use crate::scene::{CREEL, LONG, Live, Scene, draft};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("crashes::a_killed_keeper_costs_one_marked_chunk_at_most", killed_keeper),
        ("crashes::a_keeper_that_starts_reads_what_it_was_not_told", untold_end),
        ("crashes::the_end_is_recorded_once_though_keepers_die_over_it", dying_keepers),
        ("crashes::a_killed_holder_loses_its_run_and_leaves_nothing", killed_holder),
        ("crashes::a_killed_holder_leaves_nothing_without_a_cgroup", killed_holder_without_cgroup),
        ("crashes::a_returned_run_stays_returned_when_its_holder_is_killed", returned_first),
        ("crashes::after_both_are_killed_the_next_ends_the_tree_first", both_killed),
        ("crashes::both_killed_without_a_cgroup", both_killed_without_cgroup),
        ("crashes::suspects_are_listed_and_nothing_is_recorded", suspects_are_listed),
        ("crashes::a_live_run_is_not_taken_over", a_live_run_is_not_taken_over),
        ("crashes::a_run_of_another_machine_is_refused", another_machine),
        ("crashes::a_run_of_another_boot_is_lost_at_once", another_boot),
        ("crashes::a_holder_that_is_told_to_end_ends_its_run_first", told_to_end),
    ]
}

/// Finds the keeper of a run: the holder's child that was started as `keep`.
pub(crate) fn keeper_of(live: &Live<'_>) -> Option<ProcessIdentity> {
    let table = ProcessTable::read().expect("/proc");
    let entry = table.entries().find(|entry| {
        entry.ppid == live.launched.holder.pid
            && !entry.is_dead()
            && cmdline(entry.pid).get(1).is_some_and(|arg| arg == "keep")
    })?;
    ProcessIdentity::of(entry.pid).expect("/proc")
}

/// Kills the keeper that serves now.
fn kill_keeper(live: &Live<'_>) {
    live.client();
    let keeper = keeper_of(live).expect("a keeper");
    keeper.signal(Signal::KILL).expect("kills");
    assert!(keeper.wait_gone(LONG).expect("waits"));
}

fn killed_keeper() {
    let scene = Scene::new();
    let mut half = scene.pipe("half");
    let go = scene.pipe("go");
    // 2,000 lines of 100 bytes before the kill, as many after it, and some while there is none.
    let live = scene.script(&format!(
        "lines() {{ seq -f '%099g' $1 $2; }}
         lines 1 2000; echo > {}; lines 2001 2600; read line < {}; lines 2601 4000; exit 5",
        half.path.display(),
        go.path.display()
    ));
    half.line();
    kill_keeper(&live);
    let status = live.client().status(LONG).expect("a new keeper answers");
    assert_eq!(status.keeper_starts, 2);
    assert_eq!(status.exit_code, None);
    std::fs::write(&go.path, "now\n").expect("writes");
    live.check_end((EndReason::ExitNonzero, Some(5), None));

    let dir = creel_keeper::output_dir(&scene.run_dir(1));
    let pieces = creel_keeper::output::tail(&dir, u64::MAX).expect("a log");
    let all: Vec<u8> = (1..=4000).flat_map(|n| format!("{n:099}\n").into_bytes()).collect();
    let kept: usize = pieces.iter().map(|piece| piece.bytes.len()).sum();
    assert!(all.len() - kept <= 64 * 1024, "{} of {} bytes kept", kept, all.len());
    assert_eq!(pieces.len(), 2, "one mark");
    assert!(!pieces[0].follows_unknown_loss && pieces[1].follows_unknown_loss);
    assert!(all.starts_with(&pieces[0].bytes), "the first piece is what came first");
    assert!(all.ends_with(&pieces[1].bytes), "the second piece is what came last");
    let gaps = scene.transcript().into_iter().filter(
        |entry| matches!(&entry.content, Content::Gap { reason, .. } if reason == "keeper-restart"),
    );
    assert_eq!(gaps.count(), 1, "one mark in the transcript as well");
    let text = scene.raw();
    assert!(text.ends_with(&format!("{:099}\n", 4000)));
}

fn untold_end() {
    let scene = Scene::new();
    let mut ready = scene.pipe("ready");
    let live = scene.script(&format!("echo > {}; exec sleep 1000", ready.path.display()));
    ready.line();
    scene.wait_for(|session| session.live_run().is_some_and(|run| run.agent.is_some()));
    scene.request_end(EndReason::Parked);
    kill_keeper(&live);
    live.check_end((EndReason::Parked, None, Some(15)));
}

fn dying_keepers() {
    let scene = Scene::new();
    let mut ready = scene.pipe("ready");
    let go = scene.pipe("go");
    let mut plan = scene.plan(&format!(
        "echo > {}; read line < {}; exit 3",
        ready.path.display(),
        go.path.display()
    ));
    plan.watch.verdict_by_exit = true;
    let live = scene.launch(plan);
    ready.line();
    kill_keeper(&live);
    std::fs::write(&go.path, "now\n").expect("writes");
    // Whatever the keeper is doing, the next one goes on.
    for _ in 0..3 {
        if let Some(keeper) = keeper_of(&live) {
            keeper.signal(Signal::KILL).expect("kills");
            keeper.wait_gone(LONG).expect("waits");
        }
    }
    let run = live.ended();
    assert_eq!(run.end_reason, Some(EndReason::Returned));
    let session = scene.session();
    assert_eq!((session.result_count, session.run_count), (1, 1));
}

fn leaving(scene: &Scene) -> (Live<'_>, Vec<ProcessIdentity>) {
    let mut pipe = scene.pipe("pids");
    let path = pipe.path.display();
    let live = scene.script(&format!(
        "trap '' TERM HUP
         (setsid sh -c 'echo $$ > {path}; exec sleep 1000' &)
         nohup sh -c 'echo $$ > {path}; exec sleep 1000' >/dev/null 2>&1 &
         echo $$ > {path}
         while :; do sleep 1000; done"
    ));
    let processes = (0..3).map(|_| pipe.process()).collect();
    scene.wait_for(|session| session.live_run().is_some_and(|run| run.agent.is_some()));
    (live, processes)
}

#[track_caller]
fn check_dead(processes: &[ProcessIdentity]) {
    for process in processes {
        assert!(!process.is_alive().expect("/proc"), "{process} lives on");
    }
}

fn check_killed_holder(grouping: Grouping) {
    let mut scene = Scene::new();
    scene.options.grouping = grouping;
    let (live, processes) = leaving(&scene);
    live.client();
    live.launched.holder.signal(Signal::KILL).expect("kills");
    // The lease is held until the tree is dead and the end is recorded.
    drop(scene.lease());
    check_dead(&processes);
    live.check_end((EndReason::Lost, None, None));
}

fn killed_holder() {
    check_killed_holder(Grouping::OwnCgroup);
}

fn killed_holder_without_cgroup() {
    check_killed_holder(Grouping::None);
}

fn returned_first() {
    let scene = Scene::new();
    let (live, processes) = leaving(&scene);
    live.client();
    scene.record_return(live.run_id, "the result");
    live.launched.holder.signal(Signal::KILL).expect("kills");
    drop(scene.lease());
    check_dead(&processes);
    live.check_end((EndReason::Returned, None, None));
}

fn options(old_tree: OldTree) -> TakeoverOptions {
    TakeoverOptions { old_tree, unproven: Unproven::Refuse, exe: PathBuf::from(CREEL) }
}

/// Takes a session over that nobody keeps. Other tests fork in this process, and have the lease
/// until they start their program.
fn take(scene: &Scene, old_tree: OldTree) -> Result<TakenOver, TakeoverError> {
    let deadline = Deadline::after(LONG);
    loop {
        match takeover(&scene.store, scene.id, &options(old_tree)) {
            Err(TakeoverError::Live { .. }) if !deadline.is_past() => drop(scene.lease()),
            taken => return taken,
        }
    }
}

fn kill_both(live: &Live<'_>) {
    live.client();
    let keeper = keeper_of(live).expect("a keeper");
    // Stopped first, so that it can't act on the death of its holder.
    keeper.signal(Signal::STOP).expect("stops");
    live.launched.holder.signal(Signal::KILL).expect("kills");
    keeper.signal(Signal::KILL).expect("kills");
    assert!(live.launched.holder.wait_gone(LONG).expect("waits"));
    assert!(keeper.wait_gone(LONG).expect("waits"));
}

fn check_both_killed(grouping: Grouping) {
    let mut scene = Scene::new();
    scene.options.grouping = grouping;
    let (live, processes) = leaving(&scene);
    kill_both(&live);
    assert!(processes.iter().all(|process| process.is_alive().expect("/proc")));
    let grace = Duration::from_millis(100);
    let taken = take(&scene, OldTree::End { grace }).expect("is taken over");
    check_dead(&processes);
    assert_eq!(taken.recorded.expect("is recorded").reason, EndReason::Lost);
    drop(taken.lease);
    live.check_end((EndReason::Lost, None, None));
    // And the session runs again.
    scene.script("exit 0").check_end((EndReason::ExitZero, Some(0), None));
}

fn both_killed() {
    check_both_killed(Grouping::OwnCgroup);
}

fn both_killed_without_cgroup() {
    check_both_killed(Grouping::None);
}

fn suspects_are_listed() {
    let scene = Scene::new();
    let (live, processes) = leaving(&scene);
    kill_both(&live);
    let refused = take(&scene, OldTree::List);
    let Err(TakeoverError::Suspects { suspects, .. }) = refused else {
        unreachable!("is refused: {refused:?}")
    };
    for process in &processes {
        assert!(suspects.iter().any(|suspect| suspect.identity == *process), "{suspects:?}");
    }
    assert!(scene.session().live_run().is_some(), "nothing is recorded");
    let grace = Duration::ZERO;
    take(&scene, OldTree::End { grace }).expect("is taken over");
    check_dead(&processes);
}

fn a_live_run_is_not_taken_over() {
    let scene = Scene::new();
    let mut ready = scene.pipe("ready");
    let go = scene.pipe("go");
    let live = scene.script(&format!(
        "echo > {}; read line < {}",
        ready.path.display(),
        go.path.display()
    ));
    ready.line();
    let grace = Duration::ZERO;
    let refused = takeover(&scene.store, scene.id, &options(OldTree::End { grace }));
    let Err(TakeoverError::Live { note, .. }) = refused else {
        unreachable!("is refused: {refused:?}")
    };
    let holder = format!("run 1, holder {}", live.launched.holder.pid);
    assert_eq!(note, Some(holder));
    std::fs::write(&go.path, "now\n").expect("writes");
    live.check_end((EndReason::ExitZero, Some(0), None));
}

/// Records the start of a run that nobody starts.
fn start_elsewhere(scene: &Scene, machine_id: String, boot_id: String) {
    let plan = scene.plan("");
    let wanted = Start {
        run_id: plan.run.run_id.parse().expect("an id"),
        turn_id: plan.run.turn_id.parse().expect("an id"),
        cause: Cause::Launch,
        prompt: None,
        machine_id,
        boot_id,
    };
    scene
        .store
        .transact(scene.id, |session| {
            let started = start(session, wanted)?;
            Ok::<_, Refusal>(Change::Append(draft(Source::Operator, started), ()))
        })
        .expect("is recorded");
}

fn another_machine() {
    let scene = Scene::new();
    start_elsewhere(&scene, "elsewhere".to_owned(), boot_id().expect("a boot id"));
    let grace = Duration::ZERO;
    let refused = take(&scene, OldTree::End { grace });
    let Err(TakeoverError::OtherMachine { machine_id, run_number, .. }) = refused else {
        unreachable!("is refused: {refused:?}")
    };
    assert_eq!((machine_id.as_str(), run_number), ("elsewhere", 1));
    assert!(scene.session().live_run().is_some(), "nothing is recorded");
}

fn another_boot() {
    let scene = Scene::new();
    start_elsewhere(&scene, machine_id(), "an earlier one".to_owned());
    let taken = take(&scene, OldTree::List).expect("is taken over");
    let ended = taken.recorded.expect("is recorded");
    assert_eq!(ended.reason, EndReason::Lost);
    assert_eq!(ended.detail.as_deref(), Some("the machine was started anew since"));
}

fn told_to_end() {
    let scene = Scene::new();
    let (live, processes) = leaving(&scene);
    live.launched.holder.signal(Signal::TERM).expect("is told");
    live.check_end((EndReason::Signal, None, Some(9)));
    check_dead(&processes);
}
