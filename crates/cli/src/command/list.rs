//! `creel list`.

use creel_api::session::SessionRow;
use creel_record::{Timestamp, WorkState};
use creel_spool::{Row, RowFilter};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::say;
use crate::report::{Report, chain};
use crate::table::{Table, age};
use crate::terminal;

/// Rows of a table for a person; the newest ones.
const TABLE_ROWS: usize = 50;

/// Characters of an id that are shown when they tell the listed sessions apart.
const SHORT_ID_CHARS: usize = 8;

/// Characters of a title in a table.
const MAX_TITLE_CHARS: usize = 72;

/// List the sessions, the last changed one first
///
/// Discarded ones show only with `--all`. Within a session the output is JSON Lines.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
    /// Show discarded sessions too
    #[arg(short, long)]
    all: bool,
    /// Only sessions in this work state: working, needs-input, awaiting, finished or abandoned
    #[arg(short = 'S', long, value_name = "STATE")]
    state: Option<WorkState>,
    /// Only sessions of this harness
    #[arg(short, long)]
    runtime: Option<String>,
    /// Only sessions with this text in their id, title or description
    #[arg(short, long, value_name = "TEXT")]
    query: Option<String>,
    /// Show at most this many (a table shows 50 when nothing else is said)
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Runs the verb.
///
/// # Errors
/// When the store can't be opened or listed.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let is_json = args.json || context.environment.session_id.is_some();
    let limit = args.limit.or((!is_json).then_some(TABLE_ROWS)).unwrap_or(usize::MAX);
    let Some(store) = context.store_if_any()? else { return Ok(Exit::Done) };
    let rows = store.rows(if args.all { RowFilter::All } else { RowFilter::Visible })?;
    for (id, error) in rows.unreadable() {
        say(&format!("creel: session {id} is left out: {}", chain(error)));
    }
    let mut wanted = rows.iter().filter(|row| args.wants(row));
    if is_json {
        for row in wanted.by_ref().take(limit) {
            context.output.json_line(row.json)?;
        }
        return Ok(Exit::Done);
    }
    let shown: Vec<SessionRow> =
        wanted.by_ref().take(limit).filter_map(|row| row.parse().ok()).collect();
    context.output.raw(table(&shown, context.now()).as_bytes())?;
    let left_out = wanted.count();
    if left_out > 0 {
        context.output.flush()?;
        let all = left_out + shown.len();
        say(&format!("creel: {left_out} more (creel list --limit {all})"));
    }
    Ok(Exit::Done)
}

impl Args {
    /// Tells whether a row is asked for. A row is only parsed when its content is asked about.
    fn wants(&self, row: &Row<'_>) -> bool {
        if self.state.is_none() && self.runtime.is_none() && self.query.is_none() {
            return true;
        }
        let Ok(row) = row.parse() else { return false };
        let has = |text: &Option<String>, query: &str| {
            text.as_ref().is_some_and(|text| text.to_lowercase().contains(query))
        };
        self.state.is_none_or(|state| row.work_state == state.as_str())
            && self.runtime.as_ref().is_none_or(|runtime| row.runtime == *runtime)
            && self.query.as_ref().map(|query| query.to_lowercase()).is_none_or(|query| {
                row.id.contains(&query) || has(&row.title, &query) || has(&row.description, &query)
            })
    }
}

fn table(rows: &[SessionRow], now: Timestamp) -> String {
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let id_chars = short_len(&ids);
    let mut table =
        Table::new(["ID", "STATE", "SHELF", "MODE", "TARGET", "RUNS", "CHANGED", "TITLE"]);
    for row in rows {
        let target = match &row.profile {
            Some(profile) => format!("{}/{profile}", row.runtime),
            None => row.runtime.clone(),
        };
        table.push([
            row.id.chars().take(id_chars).collect(),
            row.work_state.clone(),
            row.retention.clone(),
            row.mode.clone(),
            terminal::line(&target, MAX_TITLE_CHARS),
            row.run_count.to_string(),
            changed(row, now),
            title(row),
        ]);
    }
    table.render()
}

fn changed(row: &SessionRow, now: Timestamp) -> String {
    let at = row.updated.parse::<Timestamp>().map_or(0, Timestamp::as_millis);
    age(at, now.as_millis())
}

fn title(row: &SessionRow) -> String {
    let title = terminal::line(row.title.as_deref().unwrap_or(""), MAX_TITLE_CHARS);
    let mark = match (row.damaged, row.stale, row.discarded) {
        (true, ..) => "[damaged] ",
        (_, true, _) => "[stale] ",
        (.., true) => "[discarded] ",
        _ => "",
    };
    format!("{mark}{title}")
}

/// Returns how many characters tell all of `ids` apart, at least eight.
fn short_len(ids: &[&str]) -> usize {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    let shared = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let longest = sorted.windows(2).map(|pair| shared(pair[0], pair[1]) + 1).max().unwrap_or(0);
    longest.max(SHORT_ID_CHARS)
}
