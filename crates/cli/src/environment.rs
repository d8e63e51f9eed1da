//! The variables that verbs read, captured once.

use std::path::PathBuf;

use creel_record::{RunId, SessionId};

use crate::codes::Code;
use crate::report::Report;

/// The session whose agent calls.
pub(crate) const SESSION_ID: &str = "ORBH_SESSION_ID";
/// The workspace of that session.
pub(crate) const WORKSPACE: &str = "ORBH_CWD";
/// A store, by its root.
pub(crate) const ORB_ROOT: &str = "ORBH_ORB_ROOT_DIR";
/// The run that speaks.
pub(crate) const RUN_ID: &str = "CREEL_RUN_ID";
/// Set, keeps start verbs from starting a host.
pub(crate) const NO_HOST: &str = "CREEL_NO_HOST";

/// What the environment says. Empty variables count as unset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// `ORBH_SESSION_ID`.
    pub(crate) session_id: Option<String>,
    /// `CREEL_RUN_ID`.
    pub(crate) run_id: Option<String>,
    /// `ORBH_ORB_ROOT_DIR`.
    pub(crate) orb_root: Option<PathBuf>,
    /// `ORBH_CWD`.
    pub(crate) workspace: Option<PathBuf>,
    /// Whether `CREEL_NO_HOST` is set.
    pub(crate) wants_no_host: bool,
    home: Option<PathBuf>,
    data_home: Option<PathBuf>,
    state_home: Option<PathBuf>,
    config_home: Option<PathBuf>,
}

impl Environment {
    /// Reads the process's own.
    pub(crate) fn capture() -> Self {
        let text = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let path =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // The base directory specification: a relative path is to be ignored.
        let base = |name| path(name).filter(|dir| dir.is_absolute());
        Self {
            session_id: text(SESSION_ID),
            run_id: text(RUN_ID),
            orb_root: path(ORB_ROOT),
            workspace: path(WORKSPACE),
            wants_no_host: text(NO_HOST).is_some(),
            home: base("HOME"),
            data_home: base("XDG_DATA_HOME"),
            state_home: base("XDG_STATE_HOME"),
            config_home: base("XDG_CONFIG_HOME"),
        }
    }

    /// Returns the session whose agent calls; none outside of any.
    ///
    /// # Errors
    /// When the variable holds no id.
    pub(crate) fn caller(&self) -> Result<Option<SessionId>, Report> {
        parse(SESSION_ID, self.session_id.as_deref())
    }

    /// Returns the run that the caller speaks for.
    ///
    /// # Errors
    /// When the variable holds no id.
    pub(crate) fn calling_run(&self) -> Result<Option<RunId>, Report> {
        parse(RUN_ID, self.run_id.as_deref())
    }

    /// Returns where the machine store is.
    ///
    /// # Errors
    /// When the environment names no home.
    pub(crate) fn machine_store(&self) -> Result<PathBuf, Report> {
        self.data_dir().map(|dir| dir.join("orb"))
    }

    /// Returns Creel's own data directory.
    ///
    /// # Errors
    /// When the environment names no home.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, Report> {
        self.base(self.data_home.as_ref(), ".local/share").map(|dir| dir.join("creel"))
    }

    /// Returns where this machine's list of trusted stores is.
    ///
    /// # Errors
    /// When the environment names no home.
    pub(crate) fn trust_list(&self) -> Result<PathBuf, Report> {
        self.base(self.state_home.as_ref(), ".local/state").map(|dir| dir.join("creel/stores.json"))
    }

    /// Returns the directory of the host's own files.
    ///
    /// # Errors
    /// When the environment names no home.
    pub(crate) fn host_dir(&self) -> Result<PathBuf, Report> {
        self.base(self.state_home.as_ref(), ".local/state").map(|dir| dir.join("creel/host"))
    }

    /// Returns the directory of the user's own systemd units.
    ///
    /// # Errors
    /// When the environment names no home.
    pub(crate) fn unit_dir(&self) -> Result<PathBuf, Report> {
        self.base(self.config_home.as_ref(), ".config").map(|dir| dir.join("systemd/user"))
    }

    /// Returns the directory of the user's own settings.
    ///
    /// # Errors
    /// When the environment names no home.
    pub(crate) fn config_dir(&self) -> Result<PathBuf, Report> {
        self.base(self.config_home.as_ref(), ".config").map(|dir| dir.join("creel"))
    }

    fn base(&self, named: Option<&PathBuf>, default: &str) -> Result<PathBuf, Report> {
        named.cloned().or_else(|| self.home.as_ref().map(|home| home.join(default))).ok_or_else(
            || {
                Report::new(Code::NoHome, "HOME is not set to an absolute path")
                    .next("HOME=/absolute/path creel list")
            },
        )
    }
}

fn parse<T: std::str::FromStr>(name: &str, text: Option<&str>) -> Result<Option<T>, Report>
where
    T::Err: std::fmt::Display,
{
    let Some(text) = text else { return Ok(None) };
    text.parse().map(Some).map_err(|error| {
        Report::new(Code::Usage, format!("{name} holds no id: {error}"))
            .next(format!("unset {name}"))
    })
}
