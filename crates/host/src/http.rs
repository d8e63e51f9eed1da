//! The host's interface: HTTP on a Unix socket and on the loopback address, and events as a stream.

pub(crate) mod call;
pub(crate) mod doors;
mod endpoints;
mod events;
mod guard;
pub mod openapi;
pub(crate) mod route;
mod stall;
