//! Everything that is Linux: `/proc`, pidfds, `flock`, inotify, cgroups, Unix sockets.
//!
//! Nothing outside this tree names a system call.

pub mod boot;
pub mod cgroup;
pub mod end_tree;
pub mod exit;
pub mod flock_table;
mod lock_wait;
pub mod occupants;
pub mod os_fs;
pub mod passing;
pub mod poll;
mod proc_stat;
pub mod process;
pub mod pty;
pub mod runtime_dir;
#[cfg(test)]
pub(crate) mod scripted;
pub mod session;
pub mod signal;
pub mod socket;
pub mod spawn;
pub mod tree;
pub mod tty;
pub mod watch;
