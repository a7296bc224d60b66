//! Tests of the master as a whole: its answers against those recorded from the original, and its behaviour
//! towards nodes on a virtual network.

mod bounds;
mod lifetimes;
mod network;
mod recorded;
mod third_parties;
mod updates;
