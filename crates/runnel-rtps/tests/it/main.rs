//! The RTPS engine in the virtual network.

#[path = "../net/mod.rs"]
mod net;

mod alternate_path;
mod attack;
mod attack_sequences;
mod attacks;
mod audience;
mod bounds;
mod clocks;
mod embedded;
mod forged_discovery;
mod forged_twice;
mod forgeries;
mod genuine_ends;
mod held;
mod hostile;
mod ipv6;
mod locators;
mod meeting;
mod moving;
mod mutations;

mod qos;
mod reflection;
mod repairs;
mod room;
mod run_of_three;
mod several_readers;
mod sight;
mod soak;
mod soak_meeting;
mod strange_writers;
mod topics;
mod unproved;
mod writing;
