//! The table of peers.

use super::shelf::State;

/// One peer's line.
#[derive(Debug)]
pub(super) struct Row {
    name: String,
    version: String,
    state: State,
}

impl Row {
    /// Returns the line of a peer that the lab knows.
    pub(super) fn new(name: &str, version: &str, state: State) -> Self {
        Self { name: name.to_owned(), version: version.to_owned(), state }
    }

    /// Returns the line of a name that the lab does not know.
    pub(super) fn unknown(name: &str) -> Self {
        Self::new(name, "-", State::Missing("no such agent in lab/agent.sh".to_owned()))
    }

    /// Returns true when a test may use the peer.
    pub(super) fn is_ready(&self) -> bool {
        !matches!(self.state, State::Missing(_))
    }
}

/// Returns the table, and under it how many peers there are.
pub(super) fn render(rows: &[Row]) -> String {
    let width = |head: &str, cell: fn(&Row) -> &str| {
        rows.iter().map(|row| cell(row).len()).chain([head.len()]).max().unwrap_or(0)
    };
    let names = width("peer", |row| &row.name);
    let versions = width("version", |row| &row.version);
    let line = |name: &str, version: &str, state: &str| {
        format!("{name:names$}  {version:versions$}  {state}\n")
    };
    let mut text = line("peer", "version", "state");
    for row in rows {
        text += &line(&row.name, &row.version, &row.state.to_string());
    }
    let ready = rows.iter().filter(|row| row.is_ready()).count();
    text + &format!("{ready} peers ready, {} missing\n", rows.len() - ready)
}

#[cfg(test)]
mod tests {
    use super::{Row, State, render};

    #[test]
    fn each_peer_is_a_line_and_the_last_line_counts() {
        let rows = [
            Row::new("claude", "2.1.332", State::Present),
            Row::new("pi", "1.6.0", State::Installed),
            Row::new("qwen", "0.24.4", State::Missing("npm: no network".to_owned())),
            Row::unknown("nobody"),
        ];
        assert_eq!(
            render(&rows),
            "\
peer    version  state
claude  2.1.332  ready
pi      1.6.0    ready, installed now
qwen    0.24.4   missing: npm: no network
nobody  -        missing: no such agent in lab/agent.sh
2 peers ready, 2 missing
"
        );
    }
}
