//! What stands above the holders and may be restarted at any time: so far the worktrees.
//!
//! Owns: worktrees (made, found, removed without loss), each in its module. Must not know: the
//! command line, how a session's files are stored, rules that a pure crate could hold.
//!
//! Start reading at [`worktree`]. A later module is a subject of its own beside it; modules share
//! nothing but [`git`].
//!
//! # Invariants
//!
//! - Everything kept here is a projection, or small state of its own that a restart reads back.
//! - No process that was not started here is signalled.
//! - Every git process has a deadline, an environment of its own, and an end to what it may print.
//! - No byte of a worktree is removed before it was saved and read back, or named as left out.

#![forbid(unsafe_code)]

pub mod git;
pub mod worktree;
