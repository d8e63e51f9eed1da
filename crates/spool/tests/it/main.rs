//! The spool as its callers and its disk see it.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that can't go on has failed")]

mod bits;
mod crash;
mod creating;
mod faults;
mod golden;
mod laws;
mod ledger;
mod lost_starts;
mod mint;
mod processes;
mod refusals;
mod script;
mod watching;
