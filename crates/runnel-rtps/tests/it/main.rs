//! The RTPS engine in the virtual network.

#[path = "../net/mod.rs"]
mod net;

mod attack;
mod attacks;
mod audience;
mod bounds;
mod clocks;
mod elsewhere;
mod embedded;
mod forged_twice;
mod forgeries;
mod hostile;
mod ipv6;
mod meeting;
mod moving;
mod other_way;
mod qos;
mod reflection;
mod repairs;
mod room;
mod several_readers;
mod sight;
mod soak;
mod soak_meeting;
mod strange_writers;
mod topics;
mod writing;
