//! The crate with system calls: an epoll reactor, TCP, UDP and Unix sockets, network interfaces, shared memory,
//! doorbells, clocks, signals, name look-up, CPU placement, worker threads, names of files, the terminal, files written
//! past the page cache (feature `direct_file`).
//!
//! It is independent of ROS. Each module is a thin wrapper of one facility of the operating system. Descriptors close
//! when their owner is dropped.

pub mod clock;
pub mod cpu;
mod deferred_close;
#[cfg(feature = "direct_file")]
pub mod direct_file;
pub mod doorbell;
pub mod files;
pub mod host;
pub mod interfaces;
pub mod lookup;
pub mod memory;
pub mod output;
pub mod reactor;
pub mod segment;
pub mod signals;
mod socket;
pub mod tcp;
pub mod terminal;
pub mod udp;
pub mod unix;
pub mod workers;

pub use doorbell::{Doorbell, Ringer};
pub use reactor::{Events, Interest, Reactor, Ready, Token, Waker};
pub use tcp::{Listener, Stream};
pub use udp::{Datagrams, Sent};
pub use unix::{PacketListener, Packets};
