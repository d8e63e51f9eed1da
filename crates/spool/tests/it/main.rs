//! The spool as its callers and its disk see it.

#![forbid(unsafe_code)]

mod bits;
mod crash;
mod faults;
mod ledger;
mod mint;
mod script;
