//! Tests of the whole master: its answers against those recorded from rosmaster, and its behaviour towards nodes on a
//! virtual network.

mod bounds;
mod lifetimes;
mod network;
mod recorded;
mod third_parties;
mod updates;
