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
mod completeness;
mod datagram_sharing;
mod disposals;
mod embedded;
mod flow_control;
mod forged_discovery;
mod forged_pairs;
mod forgeries;
mod genuine_ends;
mod held_readers;
mod hostile;
mod ipv6;
mod limits;
mod locators;
mod long_samples;
mod match_time;
mod mutations;
mod pairs;
mod paused_pairs;
mod qos;
mod reflection;
mod released_samples;
mod repairs;
mod several_readers;
mod soak;
mod soak_churn;
mod three_contradictions;
mod topics;
mod unproved;
mod unrepeated;
mod unusual_writers;
