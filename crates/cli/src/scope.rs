//! Which store a command uses, and why. Finding out creates nothing.

use std::path::{Path, PathBuf};

use crate::codes::Code;
use crate::environment::Environment;
use crate::report::{Report, chain};
use crate::trust::TrustList;

/// The name of a project's store, in the project's directory.
pub(crate) const PROJECT_STORE: &str = ".orb";

/// What the command line says about the store.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Selection {
    /// Use the store with this root, trusted or not
    #[arg(long, value_name = "DIR", global = true, help_heading = "Store")]
    pub(crate) orb_root: Option<PathBuf>,
    /// Look for a trusted `.orb` from this directory upward, instead of from the current one
    #[arg(short = 'p', long = "path", value_name = "DIR", global = true, help_heading = "Store")]
    pub(crate) start: Option<PathBuf>,
    /// Create the named store when it doesn't exist yet
    #[arg(long, global = true, help_heading = "Store")]
    pub(crate) create_store: bool,
}

/// Why a store is the one to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// `--orb-root` names it.
    Flag,
    /// `ORBH_ORB_ROOT_DIR` names it.
    Variable,
    /// It is a trusted `.orb`, found upward.
    Project,
    /// Nothing else was found: the user's own.
    Machine,
}

impl Basis {
    /// Returns the published spelling.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Variable => "variable",
            Self::Project => "project",
            Self::Machine => "machine",
        }
    }

    /// Tells whether somebody named the store, so that a missing one is a mistake.
    pub(crate) fn is_named(self) -> bool {
        matches!(self, Self::Flag | Self::Variable)
    }
}

/// The store a command uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Its root; absolute.
    pub(crate) root: PathBuf,
    /// Why it is the one.
    pub(crate) basis: Basis,
    /// A store that was passed over, since it isn't trusted.
    pub(crate) untrusted: Option<PathBuf>,
}

impl Scope {
    /// Finds the store: `--orb-root`, else `ORBH_ORB_ROOT_DIR`, else the nearest `.orb` from the
    /// working place upward when it is trusted, else the machine store.
    ///
    /// # Errors
    /// When a named directory can't be, the environment names no home, or the list of trusted
    /// stores can't be read.
    pub(crate) fn find(selection: &Selection, environment: &Environment) -> Result<Self, Report> {
        if let Some(start) = selection.start.as_ref().filter(|start| !start.is_dir()) {
            let message = format!("'{}' is no directory", start.display());
            return Err(Report::new(Code::Usage, message).next("creel scope"));
        }
        let named = [
            (selection.orb_root.as_ref(), Basis::Flag),
            (environment.orb_root.as_ref(), Basis::Variable),
        ];
        for (root, basis) in named {
            if let Some(root) = root {
                return Ok(Self { root: absolute(root)?, basis, untrusted: None });
            }
        }
        let start = match selection.start.as_ref().or(environment.workspace.as_ref()) {
            Some(start) => absolute(start)?,
            None => current_dir()?,
        };
        let mut untrusted = None;
        if let Some(root) = upward(&start) {
            if TrustList::read(&environment.trust_list()?)?.trusts(&root) {
                return Ok(Self { root, basis: Basis::Project, untrusted: None });
            }
            untrusted = Some(root);
        }
        Ok(Self { root: environment.machine_store()?, basis: Basis::Machine, untrusted })
    }

    /// Returns what to tell a person about a store that was passed over.
    pub(crate) fn notice(&self) -> Option<String> {
        let dir = self.untrusted.as_ref()?;
        Some(format!(
            "creel: {} is not trusted on this machine; the machine store is used \
             (creel store trust {})",
            dir.display(),
            dir.display()
        ))
    }
}

/// Makes a path absolute without asking whether it is there.
///
/// # Errors
/// When there is no current directory to start from.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Report> {
    std::path::absolute(path).map_err(|error| {
        let message = format!("'{}' names no place: {}", path.display(), chain(&error));
        Report::new(Code::Usage, message).next("creel scope")
    })
}

fn current_dir() -> Result<PathBuf, Report> {
    std::env::current_dir().map_err(|error| {
        let message = format!("the current directory can't be told: {}", chain(&error));
        Report::new(Code::StoreUnusable, message).next("cd / && creel scope")
    })
}

fn upward(start: &Path) -> Option<PathBuf> {
    start.ancestors().map(|dir| dir.join(PROJECT_STORE)).find(|dir| dir.is_dir())
}
