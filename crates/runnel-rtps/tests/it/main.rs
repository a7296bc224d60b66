//! Tests of the RTPS engine in the virtual network.

#[path = "../net/mod.rs"]
mod net;

mod address_change;
mod addressed;
mod alternate_path;
mod attack;
mod attack_sequences;
mod attacks;
mod audience;
mod clocks;
mod embedded;
mod forged_discovery;
mod forged_pairs;
mod forgeries;
mod genuine_ends;
mod held_readers;
mod hostile;
mod ipv6;
mod limits;
mod locators;
mod match_time;
mod mutations;

mod completeness;
mod flow_control;
mod paused_pairs;
mod qos;
mod reflection;
mod repairs;
mod several_readers;
mod soak;
mod soak_churn;
mod three_contradictions;
mod topics;
mod unproved;
mod unrepeated;
mod unusual_writers;
mod writing;
