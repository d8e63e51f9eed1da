//! Real processes on a real file system: killed, stopped, and many at once.
//!
//! The other processes are this test's own executable, run again for [`child`] alone.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use creel_record::{EventId, SessionId};
use creel_spool::{Change, EventsFrom, Rebuild, Store, TransactError, WriteError};
use creel_sys::fault::FaultFs;
use creel_sys::fs::Fs;
use creel_sys::os_fs::OsFs;
use creel_testkit::disk::SplitMix;

use crate::ledger::check_rows;
use crate::mint::{Minter, note, session_id};

/// What the other process shall do; see [`Task`].
const TASK: &str = "CREEL_SPOOL_TEST_TASK";
const BOOT: &str = "boot";

/// The task of another process, as words.
#[derive(Clone, Copy, Debug)]
enum Task<'a> {
    /// Makes the session if it is missing, appends, and prints each acknowledged event.
    Append { root: &'a Path, session: u8, salt: u16, count: u64 },
    /// Takes the session's lock, says so, and keeps it until its standard input ends.
    Hold { root: &'a Path, session: u8 },
}

impl Task<'_> {
    fn spawn(self, fault: Option<&str>) -> Child {
        let words = match self {
            Self::Append { root, session, salt, count } => {
                format!("append {session} {salt} {count} {}", root.display())
            }
            Self::Hold { root, session } => format!("hold {session} 0 0 {}", root.display()),
        };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["processes::child", "--exact", "--nocapture"]).env(TASK, words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(fault) = fault {
            command.env("CREEL_FAULT", fault);
        }
        command.spawn().unwrap()
    }
}

/// Not a test of its own: the other process of the tests here, when they ask for it.
#[test]
fn child() {
    let Ok(words) = std::env::var(TASK) else { return };
    let mut words = words.splitn(5, ' ');
    let mut next = || words.next().unwrap();
    let (what, session, salt, count) = (next(), next(), next(), next());
    let root = Path::new(next());
    let fs: Arc<dyn Fs> = Arc::new(FaultFs::from_env(Arc::new(OsFs)).unwrap());
    let store = Store::create(root, fs, BOOT).unwrap();
    let id = session_id(session.parse().unwrap());
    let mut minter = Minter::new(salt.parse().unwrap());
    match what {
        "append" => append_all(&store, id, &mut minter, count.parse().unwrap()),
        _ => hold(&store, id),
    }
}

fn append_all(store: &Store, id: SessionId, minter: &mut Minter, count: u64) {
    let created = minter.created(id);
    let draft = minter.draft(created);
    let event = draft.id;
    match store.create_session(id, draft) {
        Ok(_) => say(&format!("{event} 1")),
        Err(WriteError::Exists { .. }) => {}
        Err(error) => panic!("{error:?}"),
    }
    for n in 0..count {
        let draft = minter.draft(note(&format!("number {n}")));
        let committed =
            store.transact(id, |_| Ok::<_, WriteError>(Change::Append(draft, ()))).unwrap();
        let (event, sequence) = committed.event.unwrap();
        say(&format!("{event} {sequence}"));
    }
    say("done");
}

fn hold(store: &Store, id: SessionId) {
    let held = store.transact(id, |_| {
        say("holding");
        let _ = std::io::stdin().read(&mut [0]);
        Ok::<_, WriteError>(Change::Nothing(()))
    });
    held.unwrap();
}

/// Prints a line past the test harness.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("said {text}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}

/// What a process said, line by line, without what its test harness prints.
struct Said(Lines<BufReader<ChildStdout>>);

impl Said {
    fn of(child: &mut Child) -> Self {
        Self(BufReader::new(child.stdout.take().unwrap()).lines())
    }
}

impl Iterator for Said {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            let line = self.0.next()?.ok()?;
            if let Some((_, said)) = line.split_once("said ") {
                return Some(said.to_owned());
            }
        }
    }
}

type Acknowledged = Vec<(EventId, u64)>;

fn acknowledged(said: &[String]) -> Acknowledged {
    let events = said.iter().filter_map(|line| line.split_once(' '));
    events.map(|(event, sequence)| (event.parse().unwrap(), sequence.parse().unwrap())).collect()
}

fn open(root: &Path) -> Store {
    Store::create(root, Arc::new(OsFs), BOOT).unwrap()
}

/// Checks that every acknowledged event is there once, in order, after one repair.
fn check(root: &Path, id: SessionId, acknowledged: &Acknowledged) {
    let store = open(root);
    match store.rebuild(id, Rebuild::Write) {
        Ok(_) => {}
        Err(WriteError::NotFound { .. }) if acknowledged.is_empty() => return,
        Err(error) => panic!("{error:?}"),
    }
    let events = store.events(id, EventsFrom::Start).unwrap();
    let stored: Vec<_> = events.map(|event| event.unwrap().event).collect();
    let sequences: Vec<u64> = stored.iter().map(|event| event.sequence).collect();
    assert_eq!(sequences, (1..=stored.len() as u64).collect::<Vec<_>>());
    let found: BTreeMap<_, _> = stored.iter().map(|event| (event.id, event.sequence)).collect();
    assert_eq!(found.len(), stored.len());
    for (event, sequence) in acknowledged {
        assert_eq!(found.get(event), Some(sequence), "{event}");
    }
    assert!(store.verify(id).unwrap().is_clean());
    check_rows(&store);
}

fn check_killed_at_every_operation(word: &str) {
    for n in 1.. {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("orb");
        let task = Task::Append { root: &root, session: 1, salt: 1, count: 3 };
        let mut child = task.spawn(Some(&format!("{word}:{n}")));
        let said: Vec<String> = Said::of(&mut child).collect();
        let is_done = child.wait().unwrap().success();
        assert_eq!(is_done, said.last().is_some_and(|line| line == "done"));
        check(&root, session_id(1), &acknowledged(&said));
        if is_done {
            assert!(n > 30, "there are only {n} operations");
            break;
        }
    }
}

#[test]
fn what_a_process_printed_survives_its_kill_before_every_operation() {
    check_killed_at_every_operation("kill");
}

#[test]
fn what_a_process_printed_survives_its_kill_within_every_write() {
    check_killed_at_every_operation("kill-short");
}

#[test]
fn what_processes_printed_survives_their_kill_at_any_instant() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("orb");
    let mut random = SplitMix::new(7);
    let mut all = Acknowledged::new();
    for salt in 1..=12 {
        let task = Task::Append { root: &root, session: 1, salt, count: u64::MAX };
        let mut child = task.spawn(None);
        let mut said = Said::of(&mut child);
        let count = 1 + usize::try_from(random.below(8)).unwrap();
        let mut lines: Vec<String> = said.by_ref().take(count).collect();
        child.kill().unwrap();
        lines.extend(said);
        child.wait().unwrap();
        all.extend(acknowledged(&lines));
        check(&root, session_id(1), &all);
    }
}

/// Runs many processes at once and checks that nothing is lost.
fn check_together(processes: u16, sessions: u8, count: u64) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("orb");
    open(&root);
    let mut children = Vec::new();
    for salt in 1..=processes {
        let session = u8::try_from(salt % u16::from(sessions)).unwrap() + 1;
        let task = Task::Append { root: &root, session, salt, count };
        children.push((session, task.spawn(None)));
    }
    let mut all: BTreeMap<u8, Acknowledged> = BTreeMap::new();
    for (session, mut child) in children {
        let said: Vec<String> = Said::of(&mut child).collect();
        assert!(child.wait().unwrap().success(), "{said:?}");
        all.entry(session).or_default().extend(acknowledged(&said));
    }
    let total: usize = all.values().map(Vec::len).sum();
    assert_eq!(total as u64, u64::from(processes) * count + u64::from(sessions));
    for (session, acknowledged) in all {
        check(&root, session_id(session), &acknowledged);
    }
}

#[test]
fn eight_processes_on_one_spool_lose_nothing() {
    check_together(8, 1, 12);
}

#[test]
fn sixty_four_processes_on_many_spools_lose_nothing() {
    check_together(64, 16, 4);
}

/// Starts a process that holds the lock of a session, and returns when it does.
fn start_holder(root: &Path) -> (Child, Said) {
    let mut child = Task::Hold { root, session: 1 }.spawn(None);
    let mut said = Said::of(&mut child);
    assert_eq!(said.next().as_deref(), Some("holding"));
    (child, said)
}

fn append_one(store: &Store, salt: u16) -> Result<(), TransactError<WriteError>> {
    let draft = Minter::new(salt).draft(note("one more"));
    store.transact(session_id(1), |_| Ok(Change::Append(draft, ()))).map(|_| ())
}

fn with_session(root: &Path) -> Store {
    let store = open(root);
    let mut minter = Minter::new(1);
    let created = minter.created(session_id(1));
    store.create_session(session_id(1), minter.draft(created)).unwrap();
    store
}

#[test]
fn a_killed_holder_of_the_lock_delays_nobody_beyond_its_death() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_session(&dir.path().join("orb"));
    let (mut holder, _said) = start_holder(store.root());
    let waiting = std::thread::spawn({
        let store = store.clone();
        move || append_one(&store, 2).map_err(|error| error.to_string())
    });
    let is_busy = append_one(&store.clone().with_lock_wait(Duration::ZERO), 3);
    assert!(matches!(is_busy, Err(TransactError::Write(WriteError::Busy { .. }))), "{is_busy:?}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(waiting.join().unwrap(), Ok(()));
    assert!(append_one(&store.with_lock_wait(Duration::ZERO), 4).is_ok());
}

#[test]
fn a_stopped_holder_of_the_lock_is_reported_and_its_lock_never_broken() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_session(&dir.path().join("orb"));
    let (mut holder, _said) = start_holder(store.root());
    signal(&holder, "STOP");
    let before = OsFs.stat(&store.log_path(session_id(1))).unwrap();
    let short = store.clone().with_lock_wait(Duration::from_millis(20));
    for salt in 2..5 {
        let busy = append_one(&short, salt);
        assert!(matches!(busy, Err(TransactError::Write(WriteError::Busy { .. }))), "{busy:?}");
    }
    assert_eq!(OsFs.stat(&store.log_path(session_id(1))).unwrap(), before);
    assert!(!store.read(session_id(1)).unwrap().is_stale);
    signal(&holder, "CONT");
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    assert!(append_one(&store, 5).is_ok());
}

fn signal(child: &Child, name: &str) {
    let command = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
}
