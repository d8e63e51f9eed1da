//! The host as a real process: who may be it, what it knows, what kills of it cost (nothing), and
//! what it answers to the hostile.

mod diagnosis;
mod events;
mod hostile;
mod idle;
mod instance;
mod kills;
mod knows;
mod layout;
mod nested;
mod scene;
mod service;
#[path = "../runs/world.rs"]
#[allow(dead_code)]
mod world;
