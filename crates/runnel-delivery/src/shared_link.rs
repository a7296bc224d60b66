//! Shared link: one ROS 1 link of a node that several of its subscriptions share, of which some are served by RTPS instead.
//!
//! The publisher's node and the subscriber's node are in both graphs. Each writer of the publication and each subscription that
//! RTPS matches is a *pair*. A pair is on the link until the subscriber [asks](Statement::Ask) to have it on RTPS, so a
//! subscriber that says nothing is served by the link. The change is *drained*, by causality: the publisher states
//! [`Leave`](Statement::Leave) in order on the link and lets the pair's messages wait from there on. The subscriber reads the
//! link as ever. Once it comes to the statement, all that came before is with the subscription, and it answers
//! [`Reached`](Statement::Reached). Only then the publisher sends by RTPS: no message can overtake another.
//!
//! ```text
//!                  Ask, then Leave              Reached
//!   on the link ──────────────────► leaving ─────────────► on RTPS
//!        ▲                             │                      │ the writer has lost the reader, or Return
//!        └────── Resent, Begin ────────┴──────────────────────┘
//! ```
//! On the way back the publisher first sends by the link what RTPS is not known to have delivered, as far as it has it, for the
//! pair alone ([`Resent`](Statement::Resent)). From Begin on the link carries all. The subscriber takes nothing from RTPS behind
//! the first of these statements, and leaves out what it has had. What the publisher has no longer is lost.
//!
//! RTPS may serve a pair before there is the link, which then states Leave at once. Where the subscriber has not matched the pair,
//! it asks to have it [back](Statement::Return), and delivers nothing of it before that is sent again.
//!
//! The link carries a writer's messages unless the subscriber has said that no subscription needs them
//! ([`Standby`](Statement::Standby)). A Standby holds only if the subscriber had seen every change that the publisher has stated.
//! It is answered when the link carries them again ([`Needed`](Statement::Needed), then a Begin without reader).
//! Where pairs of different writers share a link, the publisher names the writer before messages that are of another one
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
pub use sender::{SubscriberFault, PairMatch, SharedLinkSender};

/// Marks ids of pairs and writers among those of links, of which 0 is that of the link itself.
const PAIR: u16 = 1;

/// A writer of the publisher's node and a reader of the subscriber's node, by their ids within their participants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairId {
    /// Id of the writer.
    pub writer: u32,
    /// Id of the reader; 0 where a statement is about the writer alone.
    pub reader: u32,
}

impl PairId {
    /// The pair that a statement is about; `None` if it is about the link.
    pub fn of(statement: &Statement) -> Option<Self> {
        let StreamId { stream, subscription } = statement.id();
        let (writer, reader) = ((stream >> 32) as u32, stream as u32);
        (subscription == PAIR).then_some(Self { writer, reader })
    }

    /// How statements name it.
    pub fn id(self) -> StreamId {
        StreamId { stream: u64::from(self.writer) << 32 | u64::from(self.reader), subscription: PAIR }
    }
}

fn writer_id(writer: u32) -> StreamId {
    PairId { writer, reader: 0 }.id()
}
