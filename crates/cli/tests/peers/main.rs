//! Sessions of real agents, against the lab's scripted model server: what only an agent that
//! nobody here wrote can show.
//!
//! A missing agent is an ignored trial, which the summary counts. With `CREEL_REQUIRE_PEERS=K`
//! fewer than K agents are a failure.

mod agent;
mod configuration;
mod gate;
mod home;
mod mcp;
mod provider;
mod required;
mod returning;
mod sandbox;
mod scene;
mod server;
mod settling;
mod shelf;
mod tree;

use std::sync::Arc;

use libtest_mimic::{Arguments, Conclusion};

use agent::AGENTS;
use server::Server;
use shelf::Shelf;

/// Agents at work at once: each keeps a core busy while it starts.
const DEFAULT_THREADS: usize = 2;

fn main() {
    home::sweep();
    let conclusion = run();
    home::clear();
    conclusion.exit();
}

fn run() -> Conclusion {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(DEFAULT_THREADS);
    let shelf = Shelf::look();
    let server = if arguments.list { Err("only listed".to_owned()) } else { Server::start() };
    let server = server.map(Arc::new);

    let mut trials = Vec::new();
    trials.extend(required::trial(&shelf, &server));
    for agent in &AGENTS {
        trials.push(configuration::trial(agent));
        let lab = shelf.lab(agent, &server);
        trials.push(settling::trial(agent, &lab));
        trials.push(returning::trial(agent, &lab));
        trials.push(mcp::trial(agent, &lab));
        trials.push(provider::trial(agent, &lab));
    }
    trials.extend(sandbox::trials(&shelf, &server));
    trials.push(tree::trial(&shelf, &server));
    libtest_mimic::run(&arguments, trials)
}
