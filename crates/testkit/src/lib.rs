//! Creel testkit.

pub mod disk;
