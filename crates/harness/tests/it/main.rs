//! The harness catalog as a caller sees it.

mod contracts;
mod fixture;
mod overrides;
mod plans;
mod scripts;
mod targets;
