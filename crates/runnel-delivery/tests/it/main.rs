//! Tests of the public API: exploration, simulation, hostile peers.

mod configs;
mod explore;
mod hostile;
mod links;
mod moves;
mod oracle;
mod pacing;
mod random;
mod receiving;
mod relocation;
mod sending;
mod shared_link;
mod shared_link_ends;
mod shared_link_rules;
mod simulation;
mod statements;
mod world;
