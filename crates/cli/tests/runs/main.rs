//! Runs, end to end: real processes in hermetic homes, with `sh` as the agent.

mod checklist;
mod ends;
mod keys;
mod mcp;
mod projects;
mod questions;
mod recovery;
mod reprompts;
mod resumes;
mod returns;
mod shown;
mod targets;
mod trees;
mod unreachable;
mod wakes;
mod world;
