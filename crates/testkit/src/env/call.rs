//! One call of a program in a hermetic home.

use std::fmt;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use creel_sys::process::{ProcessIdentity, Signal};

use super::TestEnv;
use crate::viewing::Viewing;

/// Far longer than any call takes; only a hang is cut.
const DEADLINE: Duration = Duration::from_secs(120);

/// A call that is being prepared.
#[derive(Debug)]
pub struct Call<'e> {
    env: &'e TestEnv,
    command: Command,
    stdin: Vec<u8>,
}

/// What a call came to.
#[derive(Clone, PartialEq, Eq)]
pub struct Output {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code; 128 and the signal when one ended it.
    pub code: i32,
    normal: String,
}

impl Output {
    /// Returns code and both streams, normalised, for a golden test.
    #[must_use]
    pub fn normal(&self) -> &str {
        &self.normal
    }

    /// Returns itself when the code is 0.
    ///
    /// # Panics
    /// When it is another.
    #[track_caller]
    pub fn success(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.normal)
    }
}

impl<'e> Call<'e> {
    pub(super) fn new(env: &'e TestEnv, program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(resolve(env, program));
        command.arg0(program).args(arguments).env_clear().envs(env.variables());
        command.current_dir(env.work_dir());
        Self { env, command, stdin: Vec::new() }
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes a variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Adds an argument that may be no text.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Starts elsewhere.
    #[must_use]
    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Gives standard input; it is empty else.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Runs as another user; only root may.
    #[must_use]
    pub fn user(mut self, uid: u32) -> Self {
        self.command.uid(uid).gid(uid);
        self
    }

    /// Starts the program and leaves it running, with both streams readable.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn spawn(mut self) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the program under test can be started");
        let mut stdin = child.stdin.take().expect("it is piped");
        let bytes = self.stdin;
        // A program that doesn't read its input must not hold the test up.
        thread::spawn(move || stdin.write_all(&bytes));
        child
    }

    /// Starts the program on a terminal of its own, as a person would.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn on_terminal(self, columns: u16, lines: u16) -> Viewing {
        let program = PathBuf::from(self.command.get_program());
        let arguments = self.command.get_args().map(ToOwned::to_owned).collect();
        let variables = self.command.get_envs();
        let variables = variables.filter_map(|(name, value)| Some((name.into(), value?.into())));
        let cwd = self.command.get_current_dir().unwrap_or(Path::new("/")).to_owned();
        Viewing::start((program, arguments), (variables.collect(), cwd), (columns, lines))
    }

    /// Runs the program until its streams are closed and it has ended.
    ///
    /// # Panics
    /// When it can't be started, or doesn't end in time: it is then killed first.
    #[must_use]
    pub fn run(self) -> Output {
        let env = self.env;
        let child = self.spawn();
        let pid = i32::try_from(child.id()).expect("a pid is one");
        let identity = ProcessIdentity::of(pid).expect("it can be looked at");
        let (done, ended) = mpsc::channel();
        thread::spawn(move || done.send(child.wait_with_output()));
        let output = ended
            .recv_timeout(DEADLINE)
            .map_err(|_| identity.map(|identity| identity.signal(Signal::KILL)))
            .expect("the program ends within its deadline (it was killed)");
        finished(env, output.expect("its streams can be read"))
    }
}

/// Reads what an ended program left.
fn finished(env: &TestEnv, output: std::process::Output) -> Output {
    let text = |bytes| String::from_utf8(bytes).expect("all output is text");
    let stdout = text(output.stdout);
    let stderr = text(output.stderr);
    let code = output.status.code().or_else(|| output.status.signal().map(|s| 128 + s));
    let code = code.expect("it ended by an exit or by a signal");
    let mut normal = format!("exit {code}\n");
    for (name, text) in [("stdout", &stdout), ("stderr", &stderr)] {
        if !text.is_empty() {
            let text = env.normal(text);
            let end = if text.ends_with('\n') { "" } else { "\u{240a}\n" };
            normal.push_str(&format!("{name}:\n{text}{end}"));
        }
    }
    Output { stdout, stderr, code, normal }
}

/// Finds a program as the environment of the call would.
fn resolve(env: &TestEnv, program: &str) -> PathBuf {
    let path = env.path();
    path.split(':')
        .map(|dir| Path::new(dir).join(program))
        .find(|path| path.exists())
        .expect("the program is in PATH")
}
