//! `creel layout`.

use std::fmt::Write as _;
use std::io::Read as _;

use clap::Subcommand;
use creel_api::host::MAX_BODY_BYTES;
use creel_api::layout::{
    AttachedState, Direction, Layout, LayoutChange, LayoutView, Node, Pane, Tab,
};
use creel_host::layout::validate;

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::hosting;
use crate::report::{Report, chain};
use crate::terminal;

/// Show and change the layout of tabs and splits
///
/// The host keeps it, so that every face shows the same, also after a restart. A pane whose session
/// is gone stays as a placeholder.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the layout
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace the layout by the one in a file
    ///
    /// The file holds the member `layout` of what `layout show --json` prints, or all of that.
    Apply {
        /// The file; `-` is standard input
        file: String,
        /// Refuse when the layout has another revision than this by now
        #[arg(long)]
        revision: Option<u64>,
    },
}

/// Runs the verb.
///
/// # Errors
/// When no host runs, or it refuses.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    match &args.verb {
        Verb::Show { json } => {
            let view: LayoutView = hosting::client()?.get("/v1/layout")?;
            if *json {
                context.output.json(&view)?;
            } else {
                context.output.raw(page(&view).as_bytes())?;
            }
        }
        Verb::Apply { file, revision } => {
            let layout = parse(&read(file)?)?;
            let change = LayoutChange { revision: *revision, layout };
            let view: LayoutView = hosting::client()?.put("/v1/layout", &change)?;
            context.output.line(&format!("Applied: revision {}", view.revision))?;
        }
    }
    Ok(Exit::Done)
}

fn read(file: &str) -> Result<Vec<u8>, Report> {
    let mut bytes = Vec::new();
    let limit = MAX_BODY_BYTES as u64 + 1;
    let read = match file {
        "-" => std::io::stdin().take(limit).read_to_end(&mut bytes),
        path => std::fs::File::open(path).and_then(|it| it.take(limit).read_to_end(&mut bytes)),
    };
    match read {
        Ok(_) if bytes.len() > MAX_BODY_BYTES => {
            let message = format!("the layout is longer than {MAX_BODY_BYTES} bytes");
            Err(Report::new(Code::TooLong, message).next("creel layout show --json"))
        }
        Ok(_) => Ok(bytes),
        Err(error) => {
            let message = format!("the layout {file} can't be read: {}", chain(&error));
            Err(Report::new(Code::TextUnreadable, message).next(format!("ls -l {file}")))
        }
    }
}

/// Reads a layout, alone or within what `show` prints.
fn parse(bytes: &[u8]) -> Result<Layout, Report> {
    let invalid = |problem: String| {
        let message = format!("the layout is invalid: {problem}; nothing was changed");
        Report::new(Code::LayoutInvalid, message).next("creel layout show --json")
    };
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
    let layout = match value.get("layout") {
        Some(layout) => layout.clone(),
        None => value,
    };
    let layout = serde_json::from_value(layout).map_err(|error| invalid(error.to_string()))?;
    validate(&layout).map_err(|error| invalid(error.to_string()))?;
    Ok(layout)
}

fn page(view: &LayoutView) -> String {
    let mut text = format!("Revision {}\n", view.revision);
    for tab in &view.layout.tabs {
        let is_active = view.layout.active.as_ref() == Some(&tab.id);
        let mark = if is_active { "*" } else { " " };
        let title = tab.title.as_deref().unwrap_or("");
        // Writing to a String can't fail.
        let _ = writeln!(text, "{mark} {} {}", tab.id, terminal::line(title, usize::MAX));
        node(&mut text, (view, tab), &tab.root, 2);
    }
    text
}

fn node(text: &mut String, place: (&LayoutView, &Tab), node_: &Node, indent: usize) {
    match node_ {
        Node::Pane(pane) => pane_line(text, place, pane, indent),
        Node::Split(split) => {
            let how = match split.direction {
                Direction::Row => "side by side",
                Direction::Column => "one below the other",
            };
            let percent = f64::from(split.ratio) / 10.0;
            let _ = writeln!(text, "{:indent$}{how}, the first {percent} %", "");
            node(text, place, &split.first, indent + 2);
            node(text, place, &split.second, indent + 2);
        }
    }
}

fn pane_line(text: &mut String, (view, tab): (&LayoutView, &Tab), pane: &Pane, indent: usize) {
    let mark = if tab.focus == pane.id { ">" } else { " " };
    let shown = match &pane.session {
        None => "empty".to_owned(),
        Some(id) => {
            let state = view.sessions.iter().find(|session| session.id == *id);
            let state = match state.map(|session| session.state) {
                Some(AttachedState::Live) => "live",
                Some(AttachedState::Ended) => "ended",
                Some(AttachedState::Gone) | None => "gone",
            };
            let title = terminal::line(pane.title.as_deref().unwrap_or(""), usize::MAX);
            format!("{id} {state} {title}")
        }
    };
    let _ = writeln!(text, "{:indent$}{mark} {}: {}", "", pane.id, shown.trim_end());
}
