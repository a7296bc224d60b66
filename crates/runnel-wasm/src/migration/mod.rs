//! Nodes that move, running, to another host.
//!
//! | Module | Holds |
//! |---|---|
//! | `source` | the host that a node leaves: copying, the cut, the commitment |
//! | `outcome` | how a node is moved, and how that went |
//! | `hand_over` | what the source does afterwards |
//! | `arrival` | the host to which a node moves |
//! | `fate` | whether a node that comes goes on here |
//! | `arrivals` | the nodes that a host accepts |
//! | `remote` | the source, as the target knows it afterwards |
//! | `request` | moves that one host asks of another |
//! | `message`, `channel` | what they say to each other, and by what |
//! | [`link`] | the authenticated, encrypted connection between two hosts |
mod arrival;
mod arrivals;
mod channel;
mod fate;
mod hand_over;
#[cfg(feature = "migration")]
pub mod link;
mod message;
mod outcome;
mod remote;
mod request;
mod source;

pub use arrival::Arrival;
pub use arrivals::{Arrivals, Greeted};
pub use channel::{Channel, SharedChannel};
pub use message::MoveAnswer;
pub use outcome::{Migrated, MigrationError, MigrationOptions, Resolution};
pub use request::{MoveRequest, request_move};
pub use source::{Reach, migrate};
