//! The command line of Creel: one program, one verb a call.
//!
//! Owns: the grammar, what is printed where, exit codes, which store is meant, which stores are
//! trusted. Must not know: lifecycle rules (they are `record`'s), file formats (`spool`'s), how a
//! process is started and ended (`keeper`'s).
//!
//! Start reading at [`main`], then `command`, then any verb below it.
//!
//! # Invariants
//!
//! - Data goes to standard output, talk to standard error; a refusal is one line and a `Next:` line.
//! - Text that agents wrote reaches a terminal only with its control characters spelt out.
//! - A store that nobody named and nobody trusted is not opened.
//! - Read verbs touch no async runtime, no TOML, no MCP and no host.

#![forbid(unsafe_code)]

mod attaching;
mod codes;
mod collecting;
mod command;
mod context;
mod convert;
mod descent;
mod dispatching;
mod ending;
mod environment;
mod exit;
mod hosting;
mod invocation;
mod kinship;
mod lookup;
mod machinery;
mod mcp;
mod output;
mod report;
mod scope;
mod settings;
mod starting;
mod table;
mod terminal;
mod text;
mod trust;
mod waiting;

pub use invocation::main;
