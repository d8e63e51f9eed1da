//! Creel harness.
