//! Creel testkit.

pub mod disk;
pub mod env;
