//! Terminals that outlive what is above them, end to end: real processes on real terminals.

mod attaching;
mod crashes;
mod disk;
mod endings;
mod leaving;
mod places;
mod protocol;
mod refusals;
mod scene;
mod shapes;
mod sizes;
mod upgrades;
mod verbs;
