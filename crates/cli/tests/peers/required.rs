//! The number of agents that must be there.

use std::sync::Arc;

use libtest_mimic::Trial;

use crate::server::Server;
use crate::shelf::Shelf;

/// The variable that says how many.
const VARIABLE: &str = "CREEL_REQUIRE_PEERS";

/// Returns the trial that fails when there are too few; none when no number is required.
pub(crate) fn trial(shelf: &Shelf, server: &Result<Arc<Server>, String>) -> Option<Trial> {
    let required = std::env::var(VARIABLE).ok().filter(|value| !value.is_empty())?;
    let usable = if server.is_ok() { shelf.count() } else { 0 };
    let why = match server {
        Ok(_) => "the others are not installed",
        Err(why) => why.as_str(),
    }
    .to_owned();
    Some(Trial::test("enough_peers_are_installed", move || {
        let number: usize =
            required.parse().map_err(|error| format!("{VARIABLE}={required}: {error}"))?;
        if usable < number {
            return Err(format!(
                "{usable} agents can be used, {number} are required ({why}); try: cargo xtask peers"
            )
            .into());
        }
        Ok(())
    }))
}
