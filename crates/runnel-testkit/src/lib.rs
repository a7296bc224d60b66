//! What Runnel's tests are made with: a virtual network on a clock of its own, processes that end with the test, messages,
//! and proof that no packet of a test leaves the machine.

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
