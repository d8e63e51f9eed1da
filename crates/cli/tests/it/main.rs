//! End-to-end tests of the program: real processes in a hermetic home.

#![cfg(test)]

mod maintenance;
mod reading;
mod reference;
mod refusals;
mod scene;
mod session;
mod stores;
mod waiting;
mod worktrees;
