//! Creel testkit.
