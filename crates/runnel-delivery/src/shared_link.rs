//! Shared link: a ROS 1 link between nodes in both graphs, and the handover of its subscriptions to RTPS and back.
//!
//! The publisher's node and the subscriber's node are in both graphs. Each writer of the publication and each
//! subscription that RTPS matches form a *pair*. A pair is on the link until the subscriber [requests](Statement::Ask)
//! RTPS for it, so the link serves a subscriber without statements. The change is *drained*: the publisher states
//! [`Leave`](Statement::Leave) in order on the link and queues the pair's later messages. When the subscriber reads
//! that statement, it has all earlier messages, and it answers [`Reached`](Statement::Reached). Only then does the
//! publisher send by RTPS, so no message can overtake another.
//!
//! ```text
//!                  Ask, then Leave              Reached
//!   on the link ──────────────────► leaving ─────────────► on RTPS
//!        ▲                             │                      │ the writer has unmatched the reader, or Return
//!        └────── Resent, Begin ────────┴──────────────────────┘
//! ```
//! On the return to the link, the publisher first sends the messages that RTPS is not known to have delivered and that
//! it still holds, only for the pair ([`Resent`](Statement::Resent)). From Begin on the link carries all messages.
//! After the first of these statements the subscriber accepts nothing from RTPS, and it skips messages that it already
//! has. Messages that the publisher no longer holds are lost.
//!
//! A subscriber that connects again gets a new link. A pair that was leaving the old one leaves the new one from the same
//! message: the subscriber may have handled the first Leave, and neither link carries the pair's messages after it.
//!
//! RTPS may serve a pair before the link exists; the publisher then states Leave immediately. If the subscriber has not
//! matched the pair, it requests the pair [back](Statement::Return) and delivers none of its messages until they are
//! sent again.
//!
//! The link carries a writer's messages unless the subscriber has stated that no subscription needs them
//! ([`Standby`](Statement::Standby)). A Standby holds only if the subscriber has seen every change that the publisher
//! has stated. It ends with [`Needed`](Statement::Needed), which the publisher answers with a Begin without a reader.
//! Where pairs of different writers share a link, the publisher names the writer whenever it changes
//! ([`Statement::Number`]).

mod fault;
mod pair;
mod receiver;
mod resent;
mod sender;

use crate::statement::{Statement, StreamId};

pub use fault::PublisherFault;
pub use receiver::{LeftLink, SharedLinkReceiver};
pub use resent::{Lost, Resent};
pub use sender::{PairMatch, SharedLinkSender, SubscriberFault};

/// `subscription` of ids of pairs and writers; 0 is the link itself.
const PAIR: u16 = 1;

/// Writer of the publisher's node and reader of the subscriber's node, by their entity ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairId {
    /// Entity id of the writer.
    pub writer: u32,
    /// Entity id of the reader; 0 in a statement about the writer only.
    pub reader: u32,
}

impl PairId {
    /// Returns the pair of a statement; `None` if the statement is about the link.
    pub fn from_statement(statement: &Statement) -> Option<Self> {
        let StreamId { stream, subscription } = statement.id();
        let (writer, reader) = ((stream >> 32) as u32, stream as u32);
        (subscription == PAIR).then_some(Self { writer, reader })
    }

    /// Returns the id in statements.
    pub fn id(self) -> StreamId {
        StreamId { stream: u64::from(self.writer) << 32 | u64::from(self.reader), subscription: PAIR }
    }
}

fn writer_id(writer: u32) -> StreamId {
    PairId { writer, reader: 0 }.id()
}
