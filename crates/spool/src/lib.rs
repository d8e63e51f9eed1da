//! Creel spool.
