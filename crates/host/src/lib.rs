//! The host: one process for each user and machine that knows what lives, tells it to whoever asks,
//! and looks after what nobody else does.
//!
//! Owns: worktrees (made, found, removed without loss); the projection of stores and run sockets to what lives now, the layout, the HTTP interface
//! and its event stream, taking over what dead holders left. Must not know: lifecycle rules (they
//! are `record`'s), file formats of spools (`spool`'s), what an agent's output means, which stores
//! are trusted (its caller says so), the command line.
//!
//! Start reading at [`daemon`], then the `supervisor` module, then `http::route`; for worktrees at
//! [`worktree`]. The two share nothing.
//!
//! # Invariants
//!
//! - It may be killed at any time: everything it holds is a projection, or a small file that is
//!   replaced whole. A damaged file of its own is set aside and named.
//! - No agent ends with it, and none needs it.
//! - It polls nothing: feeds, directories, sockets and processes wake it.
//! - It starts no process but to take over a session whose record says that it runs and whose lease
//!   is free, in a store that its user vouches for.
//! - No process that was not started here is signalled.
//! - Every git process has a deadline, an environment of its own, and an end to what it may print.
//! - No byte of a worktree is removed before it was saved and read back, or named as left out.
//! - Every queue, list, body and connection has a bound; a reader that is too slow is told so and
//!   begins again with a snapshot.

#![forbid(unsafe_code)]

mod board;
pub mod boundary;
pub mod client;
pub mod config;
mod contact;
pub mod daemon;
mod deaths;
pub mod environment;
pub mod git;
mod host;
pub mod http;
pub mod instance;
mod journal;
pub mod layout;
mod notice;
mod pending;
mod refusal;
mod runs;
mod say;
pub mod scope;
pub mod service;
pub mod start;
mod state_file;
pub mod supervisor;
mod takeover;
pub mod token;
pub mod view;
mod watching;
pub mod worktree;
