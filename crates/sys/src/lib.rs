//! The machine under Creel: files, processes, sockets, clocks and the ways they fail.
//!
//! Owns every call to the operating system that the other crates need, and knows nothing of
//! sessions but the name of the environment variable that marks their processes.
//!
//! Start reading at [`fs`] (what the spool writes through), then [`process`] (who a process is)
//! and [`end_tree`] (how a tree of them is ended and proven dead).
//!
//! # Invariants
//!
//! - Every descriptor made here is close-on-exec; files are 0600, directories 0700.
//! - No process is signalled by its pid alone: a pidfd is opened and the start time re-checked.
//! - Every wait has a deadline and is an event, never a poll in a loop with a sleep.
//! - A lock is `flock` and ends with its open file description; nothing here breaks one.

mod deadline;
pub mod fault;
pub mod fs;
pub mod os;

pub use crate::deadline::{Deadline, MAX_WAIT};
pub use crate::os::{
    boot, cgroup, end_tree, exit, flock_table, occupants, os_fs, passing, poll, process, pty,
    runtime_dir, session, signal, socket, spawn, tree, tty, watch,
};
