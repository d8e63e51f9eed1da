//! After a kill of Creel's own processes.

use creel_record::command::start::{Start, start};
use creel_record::event::Draft;
use creel_record::event::fact::{FirstRun, LaunchKey, SessionCreated};
use creel_record::{
    Authority, Cause, EventId, Mode, Refusal, RunId, Session, SessionId, Source, ThreadId,
    Timestamp, TurnId,
};
use creel_spool::Change;
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::tree::ProcessTable;

use crate::world::{World, ends, shelf, told};

/// Returns a session's holder and keeper.
pub(crate) fn machinery(session: &Session) -> (ProcessIdentity, ProcessIdentity) {
    let facts = session.current_run().and_then(|run| run.holder.clone()).expect("a holder");
    let (pid, start_ticks, boot_id) = (facts.pid, facts.start_ticks, facts.boot_id);
    let holder = ProcessIdentity { pid, start_ticks, boot_id };
    let table = ProcessTable::read().expect("readable");
    let keeper = table
        .entries()
        .filter(|entry| entry.ppid == holder.pid)
        .find(|entry| creel_sys::tree::cmdline(entry.pid).get(1).is_some_and(|arg| arg == "keep"))
        .expect("a keeper");
    let keeper = ProcessIdentity::of(keeper.pid).expect("readable").expect("it lives");
    (holder, keeper)
}

/// Kills holder and keeper together: stopped first, so that neither sees the other go.
pub(crate) fn kill_machinery(session: &Session) {
    let (holder, keeper) = machinery(session);
    for signal in [Signal::STOP, Signal::KILL] {
        for process in [&holder, &keeper] {
            process.signal(signal).expect("it is ours");
        }
    }
    for process in [&holder, &keeper] {
        assert!(process.wait_gone(crate::world::DEADLINE).expect("a wait"));
    }
}

/// An agent that ignores polite signals, and whose children say which home they are of.
const HANGS: &str = "trap '' TERM HUP; creel session set phase ready; \
                     if [ -n \"$ORBH_PROMPT\" ]; then exit; fi; \
                     while :; do sh -c 'sleep 600; : \"$PWD\"' \"$PWD/mark\" & wait; done";

#[test]
fn reconcile_records_a_killed_run_as_lost_after_its_tree_is_dead() {
    let world = World::new();
    world.configure("catalog.toml", "[harness.sh]\nend-grace-ms = 100\n");
    let id = world.launch(HANGS);
    let session = world.until_phase(id, "ready");
    let session = world.until(session.id, |s| s.live_run().is_some_and(|r| r.holder.is_some()));
    let agent = session.live_run().and_then(|run| run.agent.clone()).expect("an agent");
    kill_machinery(&session);

    let young = world.out(&["reconcile", "--grace", "600"]);
    assert_eq!(young, "", "a young run is left alone");
    let dry = world.out(&["reconcile", "--grace", "0", "--dry-run"]);
    assert!(dry.contains(&id.to_string()), "{dry}");
    assert_eq!(ends(&world.session(id)), ["live"]);

    let done = world.out(&["reconcile", "--grace", "0", "--json"]);
    let view: serde_json::Value = serde_json::from_str(&done).expect("one object");
    assert_eq!(view["id"], id.to_string());
    assert_eq!(view["action"], "run 1 recorded as lost");
    let session = world.session(id);
    assert_eq!(ends(&session), ["lost"]);
    assert_eq!(shelf(&session), ("abandoned", "error"));
    let agent =
        ProcessIdentity { pid: agent.pid, start_ticks: agent.start_ticks, boot_id: agent.boot_id };
    assert!(!agent.is_alive().expect("readable"));
    assert_eq!(world.out(&["reconcile", "--grace", "0"]), "", "there is nothing left to do");
}

#[test]
fn a_clock_that_stepped_back_hides_no_dead_run() {
    let world = World::new();
    // Of another boot, and as it seems not started yet.
    let (id, _) = half_launched(&world, None, "creel session return made");
    let later = Timestamp::from_millis(world.session(id).updated.as_millis() + 3_600_000);
    let run_id = world.session(id).intent.expect("a first run").run_id;
    let fact = |session: &Session| {
        let intent = session.intent.as_ref().expect("a first run");
        let wanted = Start {
            run_id,
            turn_id: intent.turn_id,
            cause: intent.cause,
            prompt: None,
            machine_id: creel_sys::boot::machine_id(),
            boot_id: "another".to_owned(),
        };
        start(session, wanted)
    };
    let started = world.store().transact(id, |session| {
        let id = EventId::ordered(later, [9; 10]);
        let draft =
            Draft { id, source: Source::Operator, time: later, fact: fact(session)?.into() };
        Ok::<_, Refusal>(Change::Append(draft, ()))
    });
    started.expect("it can be recorded");
    world.out(&["reconcile"]);
    assert_eq!(ends(&world.session(id)), ["lost"]);
}

#[test]
fn a_resume_ends_what_a_killed_holder_left_before_it_starts_anything() {
    let world = World::new();
    let id = world.launch(HANGS);
    world.until_phase(id, "ready");
    let session = world.until(id, |s| s.live_run().is_some_and(|r| r.holder.is_some()));
    let seek = format!("pgrep -f '^sh -c sleep 600.*{}/mark'", session.cwd);
    let sought = || std::process::Command::new("sh").args(["-c", &seek]).status();
    assert!(sought().expect("pgrep is there").success(), "its child is seen while it lives");
    kill_machinery(&session);
    let script = format!("{seek} > left; creel session return back");
    world.out(&["resume", &id.to_string(), &script]);
    world.until(id, |session| session.result_count == 1);
    let session = world.at_rest(id);
    assert_eq!(ends(&session), ["lost", "returned"]);
    assert_eq!(world.file("left"), "");
}

#[test]
fn a_waiting_request_sees_that_its_run_was_lost() {
    let world = World::new();
    let script = "creel session set phase ready; exec sleep 600";
    let mut waiting = world.call(&["request", "-q", "sh", script]).spawn();
    let id = told(&mut waiting).parse().expect("an id");
    world.until_phase(id, "ready");
    let session = world.until(id, |s| s.live_run().is_some_and(|r| r.holder.is_some()));
    kill_machinery(&session);
    let output = waiting.wait_with_output().expect("it ends");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{talk}");
    assert!(talk.contains("abandoned"), "{talk}");
    assert_eq!(ends(&world.session(id)), ["lost"]);
}

#[test]
fn a_killed_holder_alone_ends_the_run_as_lost() {
    let world = World::new();
    let id = world.launch(HANGS);
    world.until_phase(id, "ready");
    let session = world.until(id, |s| s.live_run().is_some_and(|r| r.holder.is_some()));
    machinery(&session).0.signal(Signal::KILL).expect("it is ours");
    world.until(id, |session| session.live_run().is_none());
    assert_eq!(ends(&world.at_rest(id)), ["lost"]);
}

#[test]
fn a_killed_keeper_is_replaced_and_the_agent_never_notices() {
    let world = World::new();
    let gate = world.gate("gate");
    let script =
        format!("creel session set phase ready; {}; creel session return unhurt", gate.wait());
    let id = world.launch(&script);
    world.until_phase(id, "ready");
    let session = world.until(id, |s| s.live_run().is_some_and(|r| r.holder.is_some()));
    let (_, keeper) = machinery(&session);
    keeper.signal(Signal::KILL).expect("it is ours");
    assert!(keeper.wait_gone(crate::world::DEADLINE).expect("a wait"));
    gate.open();
    world.until(id, |session| session.result_count == 1);
    assert_eq!(ends(&world.at_rest(id)), ["returned"]);
}

/// Writes a session as a launcher that was killed right after its first step leaves it.
fn half_launched(world: &World, key: Option<&str>, script: &str) -> (SessionId, RunId) {
    // The store is made by a launch of its own.
    let other = world.launch("creel session return other");
    let template = world.at_rest(other);
    let store = world.store();
    let root = store.root().canonicalize().expect("it is there").display().to_string();
    let now = Timestamp::from_millis(template.updated.as_millis());
    let id = match key {
        Some(key) => SessionId::from_key(&root, key),
        None => SessionId::random([7; 16]),
    };
    let run_id = RunId::ordered(now, [1; 10]);
    let created = SessionCreated {
        kind: "session".to_owned(),
        runtime: "sh".to_owned(),
        profile: None,
        account: None,
        mode: Mode::Headless,
        authority: Authority::Record,
        prompt: script.to_owned(),
        cwd: template.cwd.clone(),
        root_thread_id: ThreadId::ordered(now, [2; 10]),
        title: None,
        description: None,
        key: key.map(|key| launch_key(key, script, &template.cwd)),
        parent: None,
        continues: None,
        root_session_id: id,
        depth: 0,
        first_run: FirstRun { run_id, turn_id: TurnId::ordered(now, [3; 10]) },
        cause: Cause::Launch,
        environment: store.environment(other, &template).expect("it is there"),
    };
    let draft = Draft {
        id: EventId::ordered(now, [4; 10]),
        source: Source::Operator,
        time: now,
        fact: created.into(),
    };
    store.create_session(id, draft).expect("it can be created");
    (id, run_id)
}

/// The key as `launch --key KEY sh SCRIPT` makes it.
fn launch_key(key: &str, script: &str, cwd: &str) -> LaunchKey {
    use sha2::{Digest as _, Sha256};
    let arguments =
        serde_json::json!(["sh", script, null, null, cwd, null, null, true]).to_string();
    let digest = Sha256::digest(arguments.as_bytes());
    let arguments_hash = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    LaunchKey { key: key.to_owned(), arguments_hash }
}

#[test]
fn a_launch_that_was_cut_off_is_finished_by_the_same_launch_under_the_same_run_id() {
    let world = World::new();
    let script = "echo run >> runs; creel session return made";
    let (id, run_id) = half_launched(&world, Some("k"), script);
    assert_eq!(world.session(id).run_count, 0);
    assert_eq!(world.out(&["launch", "--key", "k", "sh", script]), id.to_string());
    world.until(id, |session| session.result_count == 1);
    let session = world.at_rest(id);
    assert_eq!(session.runs[0].id, run_id);
    assert_eq!(session.runs[0].cause, Cause::Launch);
    assert_eq!(world.file("runs").lines().count(), 1);
}

#[test]
fn a_launch_that_was_cut_off_is_finished_by_reconcile_under_the_same_run_id() {
    let world = World::new();
    let (id, run_id) = half_launched(&world, None, "creel session return made");
    let told = world.out(&["reconcile", &id.to_string(), "--grace", "0"]);
    assert!(told.contains("run 1 started (launch)"), "{told}");
    world.until(id, |session| session.result_count == 1);
    assert_eq!(world.at_rest(id).runs[0].id, run_id);
}

#[test]
fn a_launch_that_was_cut_off_is_finished_by_who_waits_under_the_same_run_id() {
    let world = World::new();
    let (id, run_id) = half_launched(&world, None, "creel session return made");
    let output = world.run(&["wait", &id.to_string()]).success();
    assert_eq!(output.stdout, format!("{id} result run 1\n"));
    assert_eq!(world.at_rest(id).runs[0].id, run_id);
}

#[test]
fn a_resume_of_a_session_that_never_started_tells_it_both_prompts() {
    let world = World::new();
    let (id, _) = half_launched(&world, None, "echo first >> order");
    world.out(&["resume", &id.to_string(), "echo second >> order; creel session return both"]);
    world.until(id, |session| session.result_count == 1);
    assert_eq!(world.file("order"), "first\nsecond\n");
}

/// Loses holder and keeper of an agent that hangs, and returns its session.
fn deserted(world: &World, script: &str) -> SessionId {
    let id = world.launch(script);
    world.until_phase(id, "ready");
    let session = world.until(id, |s| s.live_run().is_some_and(|r| r.holder.is_some()));
    kill_machinery(&session);
    id
}

#[test]
fn a_deliberate_end_needs_no_living_keeper() {
    let world = World::new();
    world.configure("catalog.toml", "[harness.sh]\nend-grace-ms = 100\n");
    for (verb, reason) in [("kill", "killed"), ("close", "closed"), ("park", "parked")] {
        let id = deserted(&world, HANGS);
        world.run(&[verb, &id.to_string()]).success();
        let session = world.at_rest(id);
        assert_eq!((verb, ends(&session)), (verb, vec![reason]));
    }
}

#[test]
fn an_interrupt_goes_on_although_nobody_keeps_the_run() {
    let world = World::new();
    let script = "if [ -n \"$ORBH_PROMPT\" ]; then creel session return turned; exit; fi; \
                  creel session set phase ready; exec sleep 600";
    let id = deserted(&world, script);
    world.out(&["interrupt", &id.to_string(), "turn left"]);
    world.until(id, |session| session.result_count == 1);
    assert_eq!(ends(&world.at_rest(id)), ["interrupted", "returned"]);
}

#[test]
fn a_waiting_request_goes_on_where_a_keeper_could_not() {
    let world = World::new();
    let gate = world.gate("gate");
    let script = format!(
        "if [ -n \"$ORBH_PROMPT\" ]; then creel session return on; exit; fi; {}",
        gate.wait()
    );
    let mut waiting = world.call(&["request", "-q", "sh", &script]).spawn();
    let id = told(&mut waiting).parse().expect("an id");
    world.until(id, |session| session.live_run().is_some_and(|run| run.agent.is_some()));
    // The keeper's planner reads the catalog anew, and finds a mistake in it.
    world.configure("catalog.toml", "[harness.sh]\nprogramm = \"sh\"\n");
    gate.open();
    world.until_logged(id, "can't start what is owed yet");
    // The request read the catalog before.
    kill_machinery(&world.session(id));
    let output = waiting.wait_with_output().expect("it ends");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "on");
    assert_eq!(ends(&world.at_rest(id)), ["exit-zero", "returned"]);
}
