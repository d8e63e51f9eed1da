//! Creel record.
