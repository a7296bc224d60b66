//! Test tools of Runnel: a virtual network with its own clock, child processes that end with the test, test messages,
//! and a check that no test packet leaves the machine.

pub mod counting_allocator;
pub mod embedded_rtps;
pub mod hosts;
pub mod loopback_participant;
pub mod messages;
pub mod namespace;
pub mod net;
pub mod packets;
pub mod process;
pub mod scarce_memory;
