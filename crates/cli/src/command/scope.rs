//! `creel scope`.

use std::path::PathBuf;

use creel_api::scope::ScopeView;

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::scope::{Basis, Scope, absolute};
use crate::terminal;

/// Print which store a command would use, and why
///
/// Creates nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Fail when the store is another one than this
    #[arg(long, value_name = "DIR")]
    expect: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When there is no telling, or the store is not the expected one.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let scope = context.scope()?;
    let view = ScopeView {
        root: scope.root.display().to_string(),
        basis: scope.basis.as_str().to_owned(),
        exists: scope.root.join("manifest.json").is_file(),
        untrusted: scope.untrusted.as_ref().map(|dir| dir.display().to_string()),
    };
    if args.json {
        context.output.json(&view)?;
    } else {
        context.output.line(&sentence(&view, scope.basis))?;
    }
    match &args.expect {
        Some(expected) => expect(&scope, expected),
        None => Ok(Exit::Done),
    }
}

fn sentence(view: &ScopeView, basis: Basis) -> String {
    let why = match basis {
        Basis::Flag => "named by --orb-root",
        Basis::Variable => "named by ORBH_ORB_ROOT_DIR",
        Basis::Project => "a trusted .orb, found upward",
        Basis::Machine => "the machine store",
    };
    let state = if view.exists { "" } else { ", not created yet" };
    format!("{} ({why}{state})", terminal::line(&view.root, usize::MAX))
}

fn expect(scope: &Scope, expected: &std::path::Path) -> Result<Exit, Report> {
    let expected = absolute(expected)?;
    let same = |a: &std::path::Path, b: &std::path::Path| {
        a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
    };
    if same(&scope.root, &expected) {
        return Ok(Exit::Done);
    }
    let message = format!("the store is {}, not {}", scope.root.display(), expected.display());
    Err(Report::new(Code::ScopeMismatch, message)
        .next(format!("creel --orb-root {} scope", expected.display())))
}
