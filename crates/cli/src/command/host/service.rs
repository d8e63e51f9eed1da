//! `creel host install-service` and `uninstall-service`.

use std::io;
use std::path::Path;

use creel_host::service::{
    Installed, Removed, UNIT_NAME, install as write, uninstall as remove, unit,
};

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::hosting;
use crate::output::say;
use crate::report::{Report, chain};
use crate::terminal;

/// Write a systemd user unit that keeps a host up
///
/// A stop of the unit ends the host alone, no agent. Nothing is started: the line that starts it is
/// printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Install {
    /// Print the unit, and write nothing
    #[arg(long)]
    print: bool,
}

/// Remove the systemd user unit
#[derive(Debug, clap::Args)]
pub(crate) struct Uninstall {}

/// Runs `install-service`.
///
/// # Errors
/// When the unit can't be written, or another one has its name.
pub(crate) fn install(args: &Install, context: &mut Context) -> Result<Exit, Report> {
    let runtime_dir = std::env::var_os("CREEL_RUNTIME_DIR").filter(|dir| !dir.is_empty());
    let text = unit(&hosting::own_exe()?, runtime_dir.as_deref().map(Path::new));
    if args.print {
        context.output.raw(text.as_bytes())?;
        return Ok(Exit::Done);
    }
    let dir = context.environment.unit_dir()?;
    let (word, path) = match write(&dir, &text).map_err(|error| unusable(&dir, &error))? {
        Installed::Written(path) => ("Written", path),
        Installed::Already(path) => ("Already there", path),
        Installed::Foreign(path) => return Err(foreign(&path)),
    };
    let shown = terminal::line(&path.display().to_string(), usize::MAX);
    context.output.line(&format!("{word}: {shown}"))?;
    context.output.flush()?;
    say(&format!(
        "Next: systemctl --user daemon-reload && systemctl --user enable --now {UNIT_NAME}"
    ));
    Ok(Exit::Done)
}

/// Runs `uninstall-service`.
///
/// # Errors
/// When the unit can't be removed, or another one has its name.
pub(crate) fn uninstall(_args: &Uninstall, context: &mut Context) -> Result<Exit, Report> {
    let dir = context.environment.unit_dir()?;
    match remove(&dir).map_err(|error| unusable(&dir, &error))? {
        Removed::Gone(path) => {
            let shown = terminal::line(&path.display().to_string(), usize::MAX);
            context.output.line(&format!("Removed: {shown}"))?;
            context.output.flush()?;
            say(&format!("Next: systemctl --user disable --now {UNIT_NAME}"));
            Ok(Exit::Done)
        }
        Removed::Nothing => {
            context.output.line("Nothing is installed")?;
            Ok(Exit::Done)
        }
        Removed::Foreign(path) => Err(foreign(&path)),
    }
}

fn unusable(dir: &Path, error: &io::Error) -> Report {
    let message = format!("the unit in {} can't be used: {}", dir.display(), chain(error));
    Report::new(Code::ServiceUnusable, message).next(format!("ls -ld {}", dir.display()))
}

fn foreign(path: &Path) -> Report {
    let message = format!("{} is not of our making; nothing was changed", path.display());
    Report::new(Code::ServiceUnusable, message).next(format!("less {}", path.display()))
}
