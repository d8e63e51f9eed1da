use super::*;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::os::scripted::{Scripted, as_plain_user, copy_program, identity, in_own_process};

/// Checks who is found and why, by pid.
fn check(query: &SessionQuery, expected: &[(i32, Proof)]) {
    let found = query.find().expect("/proc");
    let mut found: Vec<_> =
        found.iter().map(|suspect| (suspect.identity.pid, suspect.proof)).collect();
    let mut expected = expected.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn an_orphan_is_found_by_its_environment() {
    let script = Scripted::start(
        "sh -c 'setsid sh -c \"echo \\$\\$; exec sleep 1000\" &' ; echo ready; read line",
    );
    let mut pids = script.lines(2);
    pids.retain(|line| line != "ready");
    let orphan = pids[0].parse().expect("a pid");
    let root = script.identity();
    let found = SessionQuery { root: Some(root), ..script.query() };
    check(&found, &[(orphan, Proof::Environment)]);
    check(&script.query(), &[(script.pid(), Proof::Environment), (orphan, Proof::Environment)]);
}

#[test]
fn a_process_without_environment_is_found_by_descent_or_process_session() {
    let mut script = Scripted::start(
        "env -i sh -c 'echo $$; exec sleep 1000' & \
         env -i setsid sh -c 'echo $$; exec sleep 1000' & read line",
    );
    let pids = script.pids(2);
    let leader = Some(script.identity());
    let query = SessionQuery { leader, ..script.query() };
    let same_session = pids
        .iter()
        .copied()
        .find(|pid| {
            let table = ProcessTable::read().expect("/proc");
            table.entry(*pid).is_some_and(|entry| entry.sid == script.pid())
        })
        .expect("one that stayed");
    check(&query, &[(script.pid(), Proof::Environment), (same_session, Proof::Session)]);
    let query = SessionQuery { root: query.leader.clone(), ..query };
    check(&query, &[(pids[0], Proof::Descendant), (pids[1], Proof::Descendant)]);
    script.kill_leader();
    check(&query, &[(same_session, Proof::Session)]);
    for pid in pids {
        identity(pid).signal(crate::process::Signal::KILL).expect("a pidfd");
    }
}

#[test]
fn the_number_of_a_process_session_alone_proves_nothing() {
    let script = Scripted::start("env -i sh -c 'echo ready; exec sleep 1000' & read line");
    script.lines(1);
    let mut leader = script.identity();
    leader.start_ticks += 1;
    let query = SessionQuery { leader: Some(leader), ..script.query() };
    check(&query, &[(script.pid(), Proof::Environment)]);
    for suspect in script.query().find().expect("/proc") {
        assert_ne!(suspect.proof, Proof::Session);
    }
    let query = SessionQuery { leader: Some(script.identity()), ..script.query() };
    assert_eq!(query.find().expect("/proc").len(), 2);
    for suspect in query.find().expect("/proc") {
        suspect.identity.signal(crate::process::Signal::KILL).expect("a pidfd");
    }
}

#[test]
fn the_exempt_and_the_caller_are_not_found_but_what_they_started_is() {
    let script = Scripted::start("sleep 1000 & echo $!; read line");
    let child = script.pids(1)[0];
    let query = SessionQuery { exempt: BTreeSet::from([script.pid()]), ..script.query() };
    check(&query, &[(child, Proof::Environment)]);
    let own = ProcessIdentity::current().expect("/proc");
    let query = SessionQuery { leader: Some(own), ..script.query() };
    let found = query.find().expect("/proc");
    let own_pid = i32::try_from(std::process::id()).expect("a pid");
    assert!(found.iter().all(|suspect| suspect.identity.pid != own_pid));
}

/// A copy of the shell that runs a script named `hold`, and so looks like a holder.
fn holder(dir: &Path) -> ExeIdentity {
    let path = dir.join("creel");
    copy_program("/bin/sh", &path);
    std::fs::write(dir.join("hold"), "sleep 1000 & echo $$ $!; wait").expect("a script");
    let stat = std::os::unix::fs::MetadataExt::ino(&path.metadata().expect("a stat"));
    let device = std::os::unix::fs::MetadataExt::dev(&path.metadata().expect("a stat"));
    let file_id = crate::fs::FileId { device, inode: stat };
    ExeIdentity { file_id, path }
}

#[test]
fn a_nested_holder_is_released_with_all_below_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let holder_exe = holder(dir.path());
    let script = Scripted::start(&format!(
        "cd {}; ORBH_SESSION_ID=nested ./creel hold & ./creel hold & ORBH_SESSION_ID=other sh ./hold & read line",
        dir.path().display()
    ));
    let mut below = Vec::new();
    for line in script.lines(3) {
        let pids: Vec<i32> = line.split(' ').map(|pid| pid.parse().expect("a pid")).collect();
        let is_holder = exe(pids[0]).expect("/proc").is_some_and(|exe| exe == holder_exe);
        let Environ::Value(id) = environ_value(pids[0], SESSION_VARIABLE) else {
            panic!("{} has no session", pids[0])
        };
        below.push((is_holder && id == "nested", pids));
    }
    let expected: Vec<(i32, Proof)> = below
        .iter()
        .filter(|(is_nested, _)| !is_nested)
        .flat_map(|(_, pids)| pids.iter().map(|pid| (*pid, Proof::Descendant)))
        .collect();
    assert_eq!(expected.len(), 4, "one of the three is released: {below:?}");
    let root = Some(script.identity());
    let query = SessionQuery { root, holder_exe, ..script.query() };
    check(&query, &expected);
    let strangers = below.iter().flat_map(|(_, pids)| pids);
    for pid in strangers {
        identity(*pid).signal(crate::process::Signal::KILL).expect("a pidfd");
    }
}

#[test]
fn a_host_below_an_agent_is_released_and_what_only_looks_like_one_is_not() {
    let dir = tempfile::tempdir().expect("a directory");
    let holder_exe = holder(dir.path());
    std::fs::write(dir.path().join("host"), "sleep 1000 & echo $$ $!; wait").expect("a script");
    // Of another session of processes and of no session of ours; then one that is marked, one of
    // another program, and one in the agent's own process session.
    let script = Scripted::start(&format!(
        "cd {}; env -u ORBH_SESSION_ID setsid ./creel host run & setsid ./creel host run & \
         env -u ORBH_SESSION_ID setsid sh ./host run & env -u ORBH_SESSION_ID ./creel host run & \
         read line",
        dir.path().display()
    ));
    let mut expected = Vec::new();
    let mut all = Vec::new();
    for line in script.lines(4) {
        let pids: Vec<i32> = line.split(' ').map(|pid| pid.parse().expect("a pid")).collect();
        let is_ours = exe(pids[0]).expect("/proc").is_some_and(|exe| exe == holder_exe);
        let is_unmarked = environ_value(pids[0], SESSION_VARIABLE) == Environ::Absent;
        let table = ProcessTable::read().expect("/proc");
        let is_apart = table.entry(pids[0]).is_some_and(|entry| entry.sid != script.pid());
        if !(is_ours && is_unmarked && is_apart) {
            expected.extend(pids.iter().map(|pid| (*pid, Proof::Descendant)));
        }
        all.extend(pids);
    }
    assert_eq!(expected.len(), 6, "one of the four is released");
    let root = Some(script.identity());
    let query = SessionQuery { root: root.clone(), leader: root, holder_exe, ..script.query() };
    check(&query, &expected);
    for pid in all {
        identity(pid).signal(crate::process::Signal::KILL).expect("a pidfd");
    }
}

#[test]
fn a_hidden_orphan_of_ours_is_a_suspect_and_no_more() {
    let name = concat!(module_path!(), "::a_hidden_orphan_of_ours_is_a_suspect_and_no_more");
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).expect("a mode");
    let path = dir.path().join("hidden");
    copy_program("/bin/sh", &path);
    // A program that its user can't read hides its environment from them.
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o111)).expect("a mode");
    let mut wrapper = as_plain_user().to_vec();
    let setting = format!("HIDDEN={}", path.display());
    wrapper.extend(["env", &setting]);
    in_own_process(name, &wrapper, || {
        let path = std::env::var("HIDDEN").expect("a path");
        let own = ProcessIdentity::current().expect("/proc");
        let mut script =
            Scripted::start(&format!("setsid {path} -c 'echo $$; sleep 1000; exit' & read line"));
        let pid = script.pids(1)[0];
        script.kill_leader();
        let orphan = identity(pid);
        let query = SessionQuery::new("of nobody").expect("an executable");
        let find = |since_ticks| SessionQuery { since_ticks, ..query.clone() }.find();
        let with_start = find(Some(own.start_ticks)).expect("/proc");
        let too_late = find(Some(orphan.start_ticks + 1)).expect("/proc");
        let without_start = find(None).expect("/proc");
        orphan.signal(crate::process::Signal::KILL).expect("a pidfd");
        let found: Vec<_> = with_start.iter().map(|s| (s.identity.pid, s.proof)).collect();
        assert_eq!(found, [(pid, Proof::Unreadable)]);
        assert_eq!((too_late, without_start), (vec![], vec![]));
    });
}
