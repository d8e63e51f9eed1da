//! End-to-end tests of `creel worktree`: real repositories and the real git, in a hermetic home.

#![cfg(test)]

mod branches;
mod crashes;
mod creating;
mod history;
mod listing;
mod refusals;
mod rescues;
mod scene;
mod sessions;
