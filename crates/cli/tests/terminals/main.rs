//! Terminals that outlive what is above them, end to end: real processes on real terminals.

mod attaching;
mod crashes;
mod endings;
mod leaving;
mod places;
mod protocol;
mod refusals;
mod scene;
mod sizes;
mod upgrades;
mod verbs;
