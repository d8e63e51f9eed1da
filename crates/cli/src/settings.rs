//! The user's own settings: `config.toml` in the configuration directory. Never from a project.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::codes::Code;
use crate::report::{Report, chain};
use crate::starting::catalog::read_bounded;

/// Bytes of a settings file that are read; a hundred times what anyone writes by hand.
const MAX_SETTINGS_BYTES: u64 = 1024 * 1024;

/// The settings, with their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// What agents may do.
    pub(crate) agents: Agents,
    /// Where credentials are when the environment hasn't got them.
    pub(crate) credentials: Credentials,
    /// When a host is started, and where it serves.
    pub(crate) host: Host,
}

/// What agents may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Agents {
    /// Lets an agent end and answer sessions that it did not dispatch. Off by default: an agent
    /// can't approve itself.
    pub(crate) may_act_on_others: bool,
}

/// When a host is started, and where it serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Host {
    /// Lets verbs that start a run start a host too, when none runs.
    pub(crate) autostart: bool,
    /// The port of the loopback address on which HTTP is served; 0 takes a free one.
    pub(crate) http_port: u16,
}

impl Default for Host {
    fn default() -> Self {
        Self { autostart: true, http_port: 0 }
    }
}

/// Where credentials are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Credentials {
    /// A file of `NAME=VALUE` lines, by its absolute path, that nobody else may read. What a
    /// harness names as its credentials is taken from it when a run is started from an environment
    /// without them.
    pub(crate) environment_file: Option<PathBuf>,
}

impl Settings {
    /// Reads `config.toml` of `config_dir`; a missing file is no file.
    ///
    /// # Errors
    /// When the file can't be read, or on its first mistake, with file, line and column.
    pub(crate) fn load(config_dir: &Path) -> Result<Self, Report> {
        let path = config_dir.join("config.toml");
        match read_bounded(&path, MAX_SETTINGS_BYTES) {
            Ok(text) => Self::parse(&path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(invalid(&path, &format!("can't be read: {}", chain(&error)))),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Report> {
        toml::from_str(text).map_err(|error| {
            let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            let problem = error.message().lines().collect::<Vec<_>>().join(" ");
            let shown = path.display();
            Report::new(Code::SettingsInvalid, format!("{shown}:{line}:{column}: {problem}"))
                .next(format!("edit {shown}"))
        })
    }
}

fn invalid(path: &Path, problem: &str) -> Report {
    let shown = path.display();
    Report::new(Code::SettingsInvalid, format!("the settings {shown} {problem}"))
        .next(format!("ls -l {shown}"))
}

#[cfg(test)]
mod tests {
    use super::{Path, Settings};

    fn check(text: &str, expected: Result<bool, &str>) {
        let parsed = Settings::parse(Path::new("config.toml"), text)
            .map(|settings| settings.agents.may_act_on_others)
            .map_err(|report| report.to_string());
        assert_eq!(parsed, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn a_mistake_is_named_by_its_place() {
        check("", Ok(false));
        check("[agents]\nmay-act-on-others = true\n", Ok(true));
        check(
            "[agents]\nmay-act = true\n",
            Err("creel: config.toml:2:1: unknown field `may-act`, expected `may-act-on-others` \
                 [settings-invalid]\nNext: edit config.toml"),
        );
    }
}
