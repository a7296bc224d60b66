//! Nodes that move, while they run, to another host.

pub mod link;
