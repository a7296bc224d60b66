//! Delivery: the state machine that moves the messages of one subscription between paths without loss, duplication or
//! reordering.
//!
//! A publisher and a subscriber can often reach each other by several paths: a TCPROS connection, RTPS, shared memory,
//! a relay to another host. The best path changes while messages flow: two processes find that they share a host, RTPS
//! matches a node that ROS 1 already reaches, an IPC connection ends, a node moves to another machine. This crate decides which
//! message takes which path and merges the paths into one order at the receiver. It has no sockets, clocks or locks and
//! needs no operating system: the owner reports events and executes the actions of [`Sender::poll_action`] and
//! [`Receiver::poll_action`]. Messages are handles of any type; the payload is never copied.
//!
//! Runnel uses shared memory, RTPS and the links of nodes in both graphs. The other paths and the relocation of an end are
//! for nodes that move to another host; until then, only the tests of this crate use them.
//!
//! # Guarantees
//! Between living processes each message is delivered once and in order across every change of path.
//! - *Keep-all* drops nothing: [`Sender::publish`] refuses, and the publisher waits.
//! - *Keep-last* drops the oldest unsent message. *Best effort* sends nothing twice. Both ends count drops.
//! - Only two kinds of messages can be lost: those that a path without retransmission destroyed (a TCP connection, best
//!   effort), and those beyond the depth. The receiver counts them ([`ReceiveAction::Lost`]).
//!
//! # One number space
//! A *stream* is one writer group of a publication. The publication numbers its messages; the numbers are the RTPS
//! sequence numbers. A message keeps its number on every path, so the receiver recognises duplicates and gaps. Each
//! stream and subscription form a *pair* of a [`Sender`] and a [`Receiver`]. Only the sender decides about paths.
//!
//! # Statements
//! The ends exchange three statements about paths ([`Statement`], 24 bytes), and only when something changes:
//! - `Begin {epoch, from}`, first on a path: messages from `from` on use this path. Each change has a greater epoch.
//! - `Skip {to}`, in order on a path: no message below `to` follows on this path. RTPS sends GAPs instead.
//! - `Reached {epoch, next}`, from the subscriber by any path: all messages before `next` are delivered or counted as
//!   lost.
//!
//! While one path is active, the sender makes no statement and no allocation, and the receiver compares one number
//! ([`Receiver::accept_in_order`]).
//!
//! # States of the sender
//! ```text
//!            path_up: Begin               Reached {epoch, next >= from}
//!  Waiting ────────────────► Draining ─────────────────────────────────► Active
//!     ▲                       │  ▲  ▲                                    │ │ │
//!     │ last path_down        │  │  └── switch_path: Skip, Begin ────────┘ │ │
//!     ├───────────────────────┘  └── path_down: Begin on another path ──────┘ │
//!     │                                 (from Draining, too)                 │ switch_path, one of the
//!     │ last path_down                                                       ▼ two without statements
//!     └───────────────────────────────────────────────────────────────── Emptying
//!                                     then path_empty: Begin; Active directly if the new path has no statements
//! ```
//! | State | Sends |
//! |---|---|
//! | [`Waiting`](SenderState::Waiting) | nothing: no path is up |
//! | [`Draining`](SenderState::Draining) | by the new path, within the credit: the subscriber may have to hold it |
//! | [`Active`](SenderState::Active) | by one path, without limit |
//! | [`Emptying`](SenderState::Emptying) | nothing, until the old path is empty |
//!
//! A requested change waits for `Active`. The sender answers the death of a path immediately: the best living path begins
//! at the first message that the dead one may not have delivered. Messages that the dead path returned are sent again;
//! the rest is skipped.
//!
//! # Rules of the receiver
//! 1. Message `next` is delivered as soon as it arrives, by any path. Lower numbers are duplicates.
//! 2. Higher numbers are held, within the [`Credit`].
//! 3. Each Begin opens a segment. A number belongs to the segment of the greatest epoch that begins at or before it.
//! 4. A missing number is lost only when the path that owns it has passed it: by a later message, a Skip or a later
//!    Begin on that path, or an RTPS GAP. Otherwise the receiver waits, even if that path is dead: the sender will send
//!    a new Begin.
//! 5. A best-effort path passes no number by itself after a change. The owner reads it to its end
//!    ([`ReceiveAction::DrainPath`]).
//!
//! # Peers without statements, and UDPROS
//! Other implementations of ROS and older releases of Runnel ignore statements and receive none ([`Path::plain`]).
//! Their TCPROS connections and all of UDPROS have no numbers. A change from or to such a path is *drained*: the sender
//! stops until the old path is empty ([`SenderState::Emptying`]), and the receiver reads the old path to its end before
//! it delivers from the new one. The Begin after it is *settled*: no path still carries an earlier message. A path
//! without numbers never carries a message twice, because the receiver could not recognise the duplicate. A pair has at
//! most one such path at a time.
//!
//! # Mapping of Runnel's paths
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
//! - **In order.** A Begin precedes the messages that follow it; RTPS sends it, and every `Reached`, as a
//!   vendor-specific datagram of its own. Both are repeated with back-off while [`Sender::awaits_reached`]
//!   ([`Sender::repeat`]).
//! - **RTPS** passes samples to [`Receiver::message`] on arrival and acknowledges only those that are
//!   [`Accepted::Taken`] or [`Accepted::Duplicate`]; a GAP only if [`Receiver::gap`] returns true. Its window counts
//!   from the cumulative base and is not greater than the credit. One write serves all readers: senders that are active
//!   on RTPS record it by [`Sender::carried_until`] before any other call, so a message costs no work per reader.
//! - **RTPS that orders its samples itself** passes each one to [`Receiver::skip`], which states that no earlier one
//!   follows, and then to [`Receiver::message`]; numbers without a sample go only to `skip`.
//! - **A subscriber with flow control** holds messages that its user has no capacity for, by not polling, and reports
//!   ([`Receiver::report_every`], [`Receiver::poll_report`]). Its sender keeps to the credit ([`Sender::pace`]).
//! - **A path that is the only one most of the time** and has its own queue, such as RTPS, needs no state machine
//!   meanwhile: [`Sender::resume`] begins at the position of that queue, and [`Sender::snapshot`] returns the state for
//!   it to continue.
//! - **A link that several subscriptions share** has one [`LinkNumbering`] at each end and a pair for each
//!   subscription. Each message that one sender sends is recorded by the others with [`Sender::carried`]. Each receiver
//!   gets each message and discards those of other subscriptions. Statements name the subscription.
//! - **A ROS 1 link between nodes in both graphs** is shared by their subscriptions, some of which RTPS serves instead:
//!   [`SharedLinkSender`] and [`SharedLinkReceiver`]. That change is drained, and the subscriber starts it.
//! - **An unshared TCPROS connection** to a peer with statements is the same with one subscription.
//! - **Drained changes.** [`Sender::path_empty`] is due when the kernel's send queue is empty, after 1 s at the latest,
//!   and after a death when the peer has had time to notice. The receiver's owner answers `DrainPath` by reading the
//!   socket until it would block. With an older Runnel, [`Receiver::begin_plain`] replaces the Begin.
//! - **Late joiners.** [`SenderOptions::first`] is the oldest kept number that both depths allow.
//! - **Relocation to another host.** [`Sender::snapshot`] and [`Receiver::snapshot`], sent to the other process, are
//!   the input of [`Sender::resume`] and [`Receiver::resume`]. The first Begin there states the first message. A relay
//!   path ([`Receiver::report_every`]) carries messages meanwhile.
//! - **Death.** A path id is used once: call `path_down`, then `path_up` with a new [`PathId`].
//!
//! # Limits
//! Whatever a peer sends, one end of a pair keeps at most [`MAX_PATHS`] paths, [`MAX_SEGMENTS`] segments and the
//! [`Credit`]: its messages, and its bytes once for paths in order and once for the others. Where paths have no
//! numbers, up to three more such queues wait for the end of another path. The sender's queue has the limits of its
//! options; only messages that a dead path returned may exceed them. Epochs and numbers that leap too far are refused
//! ([`ReceiveError`], [`ReachedError`]).
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
    LeftLink, Lost, PairId, PairMatch, PublisherFault, Resent, SharedLinkReceiver, SharedLinkSender,
    SubscriberFault,
};
pub use statement::{FRAME_BYTES, FRAME_MARK, STATEMENT_BYTES, Statement, StatementError, StreamId};
