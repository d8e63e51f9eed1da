//! A home of its own for one end-to-end test: nothing of the user's is seen or touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

mod call;
mod normal;
mod sweep;

pub use call::{Call, Output};

use normal::Names;

/// The programs that agents of tests may use, behind the shims.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A hermetic home. Dropping it ends every process that was started in it, and removes it.
///
/// `HOME`, the XDG directories and `CREEL_RUNTIME_DIR` point below one directory with a short path
/// (sockets allow 107 bytes); no other variable of the caller's is passed on. `PATH` begins with a
/// directory in which `creel` and `flint` are the program under test. `CREEL_NO_HOST` keeps start
/// verbs from leaving a host behind.
#[derive(Debug)]
pub struct TestEnv {
    root: PathBuf,
    names: Names,
}

impl TestEnv {
    /// Makes a home for `creel`, the path of the program under test (`CARGO_BIN_EXE_creel`).
    ///
    /// # Panics
    /// When the home can't be made.
    #[must_use]
    pub fn new(creel: impl AsRef<Path>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("ct{}-{number}", std::process::id()));
        for dir in ["home", "bin", "r", "w"] {
            fs::create_dir_all(root.join(dir)).expect("a home can be made");
        }
        for name in ["creel", "flint"] {
            std::os::unix::fs::symlink(creel.as_ref(), root.join("bin").join(name))
                .expect("a link can be made");
        }
        let root = root.canonicalize().expect("it was just made");
        let env = Self { names: Names::new(&root), root };
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(env.runtime_dir(), fs::Permissions::from_mode(0o700))
            .expect("it is ours");
        env
    }

    /// Returns the directory that everything is below.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns `HOME`.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the directory that calls start in.
    #[must_use]
    pub fn work_dir(&self) -> PathBuf {
        self.root.join("w")
    }

    /// Returns `CREEL_RUNTIME_DIR`.
    #[must_use]
    pub fn runtime_dir(&self) -> PathBuf {
        self.root.join("r")
    }

    /// Returns the root of the machine store. It may not be there yet.
    #[must_use]
    pub fn store_root(&self) -> PathBuf {
        self.home().join(".local/share/creel/orb")
    }

    /// Returns `PATH`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}:{SYSTEM_PATH}", self.root.join("bin").display())
    }

    /// Returns every variable that calls get.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let below = |dir: &str| self.home().join(dir).display().to_string();
        [
            ("HOME", below("")),
            ("XDG_DATA_HOME", below(".local/share")),
            ("XDG_STATE_HOME", below(".local/state")),
            ("XDG_CONFIG_HOME", below(".config")),
            ("XDG_CACHE_HOME", below(".cache")),
            ("CREEL_RUNTIME_DIR", self.runtime_dir().display().to_string()),
            ("PATH", self.path()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("COLUMNS", "100".to_owned()),
            // A test that wants a host starts it, or removes this.
            ("CREEL_NO_HOST", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value.trim_end_matches('/').to_owned()))
        .into()
    }

    /// Prepares a call of `creel`.
    #[must_use]
    pub fn call(&self, arguments: &[&str]) -> Call<'_> {
        Call::new(self, "creel", arguments)
    }

    /// Prepares a call of another program of `PATH`.
    #[must_use]
    pub fn call_of(&self, program: &str, arguments: &[&str]) -> Call<'_> {
        Call::new(self, program, arguments)
    }

    /// Calls `creel` and waits for it.
    ///
    /// # Panics
    /// When it can't be started, or doesn't end in time.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.call(arguments).run()
    }

    /// Replaces what differs between two runs of a test: ids by `<id-1>`, `<id-2>`... in the order
    /// in which this home saw them first, times by `<time>`, the home by `<root>`, process ids by
    /// `<pid>`.
    #[must_use]
    pub fn normal(&self, text: &str) -> String {
        self.names.normal(text)
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        sweep::end_all(&self.root);
        let removed = fs::remove_dir_all(&self.root);
        assert!(
            removed.is_ok() || std::thread::panicking(),
            "{} stays behind: {removed:?}",
            self.root.display()
        );
    }
}
