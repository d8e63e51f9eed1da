//! What tests of several crates share: the written disk model and hermetic homes, terminals
//! on which programs show something.
//!
//! Only ever a dev-dependency. Start at [`disk`] for durability, at [`env`] for end-to-end tests.

pub mod disk;
pub mod env;
pub mod viewing;
