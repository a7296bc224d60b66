//! Delivery: the state machine that moves the messages of one subscription from one path to another without losing, doubling
//! or reordering any.
//!
//! A publisher and a subscriber can often reach each other by several paths: a TCPROS connection, RTPS, shared memory, a
//! relay to another host. The best path changes while messages flow: two processes find out that they share a host, RTPS
//! matches a node that ROS 1 has reached already, a session dies, a node moves to another machine. This crate decides which
//! message goes by which path, and puts what comes by several paths back into one order. It has no sockets, clocks or
//! locks and needs no operating system: the owner tells it what happened and does what [`Sender::poll_action`] and
//! [`Receiver::poll_action`] ask for. Messages are handles of any type; the payload is never copied.
//!
//! # What users are promised
//! Between living processes each message is delivered once and in order across every change of path.
//! - *Keep-all* drops nothing: [`Sender::publish`] refuses, and the publisher waits.
//! - *Keep-last* drops the oldest message not sent yet. *Best effort* sends nothing twice. Both ends count what is dropped.
//! - Lost at most: what a path destroyed that cannot give it back (a TCP connection, best effort), and what the depth no
//!   longer holds. The receiver counts it ([`ReceiveAction::Lost`]).
//!
//! # One number space
//! A *stream* is one writer group of a publication. The publication numbers its messages; the numbers are the RTPS sample
//! numbers. Whatever path a message takes, its number stays, so the receiver recognises duplicates and gaps.
//! Each stream and subscription is a *pair* with a [`Sender`] and a [`Receiver`]. The sender alone decides about paths.
//!
//! # Statements
//! The ends say three things about paths ([`Statement`], 24 bytes), and only when something changes:
//! - `Begin {epoch, from}`, first on a path: messages from `from` on come here. Each change has a greater epoch.
//! - `Skip {to}`, in order on a path: none below `to` is still to come here. RTPS states GAPs instead.
//! - `Reached {epoch, next}`, from the subscriber by any path: all before `next` is delivered or counted as lost.
//!
//! While one path is active there is no statement and no allocation, and the receiver compares one number
//! ([`Receiver::accept_in_order`]).
//!
//! # States of the sender
//! ```text
//!            path_up: Begin               Reached {epoch, next >= from}
//!  Waiting ────────────────► Draining ─────────────────────────────────► Active
//!     ▲                       │  ▲  ▲                                    │ │ │
//!     │ last path_down        │  │  └── switch_path: Skip, Begin ────────┘ │ │
//!     ├───────────────────────┘  └───── path_down: Begin elsewhere ────────┘ │
//!     │                                 (from Draining, too)                 │ switch_path, one of the
//!     │ last path_down                                                       ▼ two without statements
//!     └───────────────────────────────────────────────────────────────── Emptying
//!                                     then path_empty: Begin; Active at once if the new path has no statements
//! ```
//! | State | Sends |
//! |---|---|
//! | [`Waiting`](SenderState::Waiting) | nothing: no path is up |
//! | [`Draining`](SenderState::Draining) | by the new path, within the credit: the subscriber may have to hold it |
//! | [`Active`](SenderState::Active) | by one path, without limit |
//! | [`Emptying`](SenderState::Emptying) | nothing, until the old path is empty |
//!
//! A change by choice waits for `Active`. A death is answered at once: the best path that lives begins anew at the first
//! message that the dead one may not have delivered. What the dead path gave back is sent again; the rest is skipped.
//!
//! # Rules of the receiver
//! 1. Message `next` is delivered as soon as it is there, by whichever path. Lower numbers are duplicates.
//! 2. Higher numbers are held, within the [`Credit`].
//! 3. Each Begin opens a segment. A number is owned by the segment of the greatest epoch that begins at or before it.
//! 4. A missing number is lost only when the path that owns it has passed it: a later message, a Skip or a later Begin on
//!    it, a GAP of RTPS. Otherwise the receiver waits, also if that path is dead: the sender will begin anew.
//! 5. A best-effort path passes nothing by itself after a change. The owner reads it to its end
//!    ([`ReceiveAction::DrainPath`]).
//!
//! # Peers without statements, and UDPROS
//! Other implementations of ROS and older releases of Runnel ignore statements and get none ([`Path::plain`]). Their TCPROS
//! connections and all of UDPROS have no numbers. A change from or to such a path is *drained*: the sender stops until the
//! old path is empty ([`SenderState::Emptying`]), and the receiver reads the old path to its end before the new one counts.
//! The Begin after it is *settled*: nothing earlier is still to come by any path. A path without numbers never gets a
//! message a second time, because the receiver could not tell. A pair has at most one such path at a time.
//!
//! # How the paths of Runnel map onto it
//! | Path | `Send` | `Skip` | `path_blocked` | `path_down(returned)` |
//! |---|---|---|---|---|
//! | in process | push to the subscription's queue | call [`Receiver::skip`] | queue full and keeps all | nothing |
//! | shared memory | record with number | record | ring full | records not read |
//! | TCPROS | frame; [`LinkNumbering`] counts | frame of length `0xFFFFFFFF` | socket full: the link keeps the frame begun | nothing |
//! | UDPROS, TCPROS of others | frame | – | as above | nothing |
//! | RTPS, reliable | sample with number | GAP for what the writer does not hold for this reader | window full | samples not acknowledged |
//! | RTPS, best effort | sample with number | – | never | nothing |
//! | relay | frame with number | frame | socket full | all from the highest `Reached` on |
//!
//! - **In order.** A Begin goes before the messages that follow; RTPS sends it as a vendor-specific datagram beside them, as
//!   every `Reached`. Both are repeated with back-off while [`Sender::awaits_reached`] ([`Sender::repeat`]).
//! - **RTPS** gives samples to [`Receiver::message`] as they come and acknowledges only what is [`Accepted::Taken`] or
//!   [`Accepted::Duplicate`]; a GAP only if [`Receiver::gap`] returns true. Its window counts from the cumulative base and is
//!   not greater than the credit. One write serves all readers: senders that are active on RTPS learn of it by
//!   [`Sender::carried_until`] before anything else happens to them, so a message costs no work per reader.
//! - **RTPS that puts its samples in order itself** gives each one to [`Receiver::skip`], which says that none before it is
//!   still to come, and then to [`Receiver::message`]; what it passes over without a sample, to `skip` alone.
//! - **A subscriber whose user is waited for** holds what its user has no room for, by not polling, and reports
//!   ([`Receiver::report_every`], [`Receiver::poll_report`]). Its sender keeps to the credit ([`Sender::pace`]).
//! - **Where a path is used alone most of the time** and has a queue of its own, as RTPS, a pair needs no machine meanwhile:
//!   [`Sender::resume`] begins where that queue is, [`Sender::snapshot`] gives back what it has to go on with.
//! - **A link that several subscriptions share** has one [`LinkNumbering`] at each end and a pair for each subscription. What
//!   one sender sends, the others learn of by [`Sender::carried`]. Each receiver gets each message, and discards what is
//!   not its own. Statements name the subscription.
//! - **A link of ROS 1 between nodes in both graphs** is shared by their subscriptions, of which RTPS serves some instead:
//!   [`SharedLinkSender`] and [`SharedLinkReceiver`]. That change is drained, and the subscriber itself says when.
//! - **TCPROS that is not shared** with a peer that has statements is the same with one subscription.
//! - **Drained changes.** [`Sender::path_empty`] is due when the kernel's send queue is empty, after 1 s at the latest, and
//!   after a death when the peer has had time to notice. The receiver's owner answers `DrainPath` by reading the socket
//!   until it would block. With an older Runnel, [`Receiver::begin_plain`] takes the place of the Begin.
//! - **Late joiners.** [`SenderOptions::first`] is the oldest kept number that both depths allow.
//! - **Another host.** [`Sender::snapshot`] and [`Receiver::snapshot`], sent to the other process, give [`Sender::resume`] and
//!   [`Receiver::resume`]. The first Begin there says from which message on. A relay path ([`Receiver::report_every`])
//!   carries messages meanwhile.
//! - **Death.** A path is named once: call `path_down`, then `path_up` with a new [`PathId`].
//!
//! # Limits
//! Whatever a peer does, one end of a pair keeps at most [`MAX_PATHS`] paths, [`MAX_SEGMENTS`] segments and the [`Credit`]:
//! its messages, and its bytes once for paths in order and once for the others. Where paths have no numbers, up to three
//! more such queues wait for the end of another path. The sender's queue has the limits of its options, and beyond them
//! only what a dead path gave back. Epochs and numbers that leap too far are refused ([`ReceiveError`], [`ReachedError`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
#[macro_use]
extern crate std;

mod limits;
mod numbering;
mod path;
mod receiver;
mod send_queue;
mod sender;
mod shared_link;
mod statement;

pub use limits::{Credit, MAX_EPOCH_LEAP, MAX_NUMBER, MAX_NUMBER_LEAP, MAX_PATHS, MAX_SEGMENTS};
pub use numbering::LinkNumbering;
pub use path::{Numbering, Order, Path, PathId, PathKind, PathTraits};
pub use receiver::{Accepted, ReceiveAction, ReceiveError, Receiver, ReceiverSnapshot};
pub use send_queue::{Numbered, QueuePolicy};
pub use sender::{
    PathError, PublishError, ReachedError, SendAction, Sender, SenderOptions, SenderSnapshot, SenderState,
    SwitchError,
};
pub use shared_link::{
    SubscriberFault, LeftLink, Lost, PairId, PairMatch, Resent, PublisherFault, SharedLinkReceiver, SharedLinkSender,
};
pub use statement::{FRAME_BYTES, FRAME_MARK, STATEMENT_BYTES, Statement, StatementError, StreamId};
