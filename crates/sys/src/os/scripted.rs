//! Real processes for tests: shell scripts that say when they are ready, and tests that need a
//! process of their own.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use crate::end_tree::{Pressure, end_tree};
use crate::process::ProcessIdentity;
use crate::session::{SESSION_VARIABLE, SessionQuery};
use crate::socket::LineReader;

/// Long enough for any machine, so that a test that reaches it has found a fault.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A running shell script with a session id of its own. All of its processes end with it.
pub(crate) struct Scripted {
    pub(crate) session_id: String,
    child: Child,
    talk: UnixStream,
}

impl Scripted {
    /// Starts `sh -c script` as leader of a process session. What it prints goes to
    /// [`Scripted::lines`], what it reads comes from [`Scripted::say`].
    pub(crate) fn start(script: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let session_id = format!("test-{}-{count}", std::process::id());
        let (talk, other) = UnixStream::pair().expect("a pair of sockets");
        let child = Command::new("setsid")
            .args(["sh", "-c", script])
            .env(SESSION_VARIABLE, &session_id)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(other.try_clone().expect("a clone"))))
            .stdout(Stdio::from(std::os::fd::OwnedFd::from(other)))
            .spawn()
            .expect("setsid and sh");
        Self { session_id, child, talk }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid")
    }

    pub(crate) fn identity(&self) -> ProcessIdentity {
        identity(self.pid())
    }

    pub(crate) fn query(&self) -> SessionQuery {
        SessionQuery::new(self.session_id.clone()).expect("an own executable")
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.talk, "{line}").expect("a listening script");
    }

    /// The next `count` lines.
    pub(crate) fn lines(&self, count: usize) -> Vec<String> {
        let mut reader = LineReader::new(&self.talk, 4096);
        (0..count)
            .map(|_| {
                let line = reader.next_line(LONG).expect("a talking script").expect("a line");
                String::from_utf8(line).expect("text")
            })
            .collect()
    }

    /// The next `count` lines, each of them a pid.
    pub(crate) fn pids(&self, count: usize) -> Vec<i32> {
        self.lines(count).iter().map(|line| line.trim().parse().expect("a pid")).collect()
    }

    /// Waits until no process holds the script's output any more, and returns what it still said.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let mut reader = LineReader::new(&self.talk, 4096);
        std::iter::from_fn(|| reader.next_line(LONG).expect("an end"))
            .map(|line| String::from_utf8(line).expect("text"))
            .collect()
    }

    pub(crate) fn kill_leader(&mut self) {
        self.child.kill().expect("our child");
        self.child.wait().expect("our child");
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        let leader = ProcessIdentity::of(self.pid()).expect("/proc");
        let query = SessionQuery { root: leader.clone(), leader, ..self.query() };
        let pressure = Pressure { first: Signal::KILL, grace: LONG, limit: LONG };
        let _ended = end_tree(|| query.find(), pressure);
        let _gone = self.child.kill();
        let _collected = self.child.wait();
    }
}

pub(crate) fn identity(pid: i32) -> ProcessIdentity {
    ProcessIdentity::of(pid).expect("/proc").expect("a process")
}

/// Copies a program in order to run it.
///
/// Another process does the writing: were it this one, a child that another test is forking would
/// hold the file open for writing for a moment, in which it can't be run.
pub(crate) fn copy_program(from: &str, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp");
    assert!(status.success(), "cp {from} {}", to.display());
}

/// Runs the body of a test in a process of its own, when it changes what all threads share.
///
/// `name` is the test's whole path; `wrapper` a command to start it with, e.g. as another user.
pub(crate) fn in_own_process(name: &str, wrapper: &[&str], body: impl FnOnce()) {
    const VARIABLE: &str = "CREEL_SYS_OWN_PROCESS";
    if std::env::var_os(VARIABLE).is_some() {
        return body();
    }
    let name = name.strip_prefix("creel_sys::").expect("a test of this crate");
    let exe = std::env::current_exe().expect("a path");
    let mut command = match wrapper.split_first() {
        Some((program, args)) => {
            let mut command = Command::new(program);
            command.args(args).arg(exe);
            command
        }
        None => Command::new(exe),
    };
    let output = command
        .args(["--exact", name, "--nocapture"])
        .env(VARIABLE, "1")
        .output()
        .expect("a second test process");
    let text = String::from_utf8_lossy(&output.stdout);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{talk}");
}

/// The start of a command as a user who is not root; nothing when we aren't root either.
pub(crate) fn as_plain_user() -> &'static [&'static str] {
    if rustix::process::geteuid().is_root() {
        &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    } else {
        &[]
    }
}
