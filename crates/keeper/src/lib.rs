//! Creel keeper.
