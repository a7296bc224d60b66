//! Nodes that move, running, to another host.
//!
//! | Module | Holds |
//! |---|---|
//! | `source` | the host that a node leaves: copying, the cut, the commitment |
//! | `hand_over` | what the source does afterwards |
//! | `arrival` | the host to which a node moves |
//! | `fate` | whether a node that comes goes on here |
//! | `arrivals` | the nodes that a host accepts |
//! | `remote` | the source, as the target knows it afterwards |
//! | `request` | moves that one host asks of another |
//! | `message`, `channel` | what they say to each other, and by what |
//! | [`link`] | the authenticated, encrypted connection between two hosts |
//! | `joining`, `passing` | what the target and the source do with the messages of a subscription, so that the guest gets each once |
//! | `meeting` | where two streams of one ROS 1 publisher meet |
mod arrival;
mod arrivals;
mod channel;
mod fate;
mod hand_over;
mod joining;
#[cfg(feature = "migration")]
pub mod link;
mod meeting;
mod message;
mod passing;
mod remote;
mod request;
mod source;

pub use arrival::Arrival;
pub(crate) use arrival::{Arrived as Arriving, arrive};
pub use arrivals::{Arrivals, Greeted};
pub use channel::{Channel, SharedChannel};
pub(crate) use hand_over::{HandOver, hand_over};
pub(crate) use joining::{Arrived, Joining, Positions, Publisher, Step};
pub(crate) use meeting::{Tail, digest};
pub use message::MoveAnswer;
pub(crate) use passing::{Passed, Passing};
pub(crate) use remote::{Remote, poll};
pub use request::{MoveRequest, request_move};
pub use source::{Migrated, MigrationError, MigrationOptions, Reach, Resolution, migrate};
