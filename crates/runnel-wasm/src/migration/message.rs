//! What the two hosts of a node that moves say to each other.
//!
//! ```text
//!  source                              target
//!  Offer           ─────────────────►          the entities are created, and their links
//!                  ◄─────────────────  Accepted
//!  Pages, Links    ─────────────────►          while the node runs
//!                  ◄─────────────────  Links   as many as at the source?
//!  (the node is suspended)
//!  Pages, Cut      ─────────────────►          the state is restored
//!                  ◄─────────────────  Prepared
//!  Commit          ─────────────────►          from here on, only the target may run the node
//!                  ◄─────────────────  Committed
//!  (subscribers receive what was published)
//!  Speak           ─────────────────►          the node goes on
//!  Relay           ◄────────────────►  what the source still receives, and what it is to answer
//! ```

use serde::{Deserialize, Serialize};

use super::outcome::Migrated;
use crate::bounded;
use crate::checkpoint::{Page, State};
use crate::host::{Event, RequestName};
use crate::program::ModuleHash;
use crate::streams::Publisher;

/// The version of these messages.
pub const VERSION: u32 = 1;

/// Bytes of the pages of one message, about.
pub const PAGES_AT_ONCE: usize = 4 << 20;

/// The number of a migration, by which the hosts find each other again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MigrationId(pub [u8; 16]);

/// The first message on a channel.
#[derive(Serialize, Deserialize)]
pub enum Greeting {
    Offer(Box<Offer>),
    /// The channel broke when the target was to commit itself.
    Return {
        version: u32,
        migration: MigrationId,
        /// The node has gone on at the source: the target is to forget it.
        is_aborted: bool,
    },
    /// A host asks this one to move a node that runs here, or only whether it does.
    Request {
        version: u32,
        node: String,
        to: Option<String>,
    },
}

/// What a host answers that was asked to move a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MoveAnswer {
    /// It has moved.
    Moved(Migrated),
    /// It runs there: the answer to the question whether it does.
    Here,
    /// The host has no such node.
    NotHere,
    /// It goes on there.
    Refused(String),
    /// It is not known where it goes on.
    InDoubt(String),
}

/// A node that is to move.
#[derive(Clone, Serialize, Deserialize)]
pub struct Offer {
    pub version: u32,
    pub migration: MigrationId,
    pub module: ModuleHash,
    /// Its full names.
    #[serde(deserialize_with = "bounded::list::<1_000, _, _>")]
    pub nodes: Vec<String>,
    /// What a checkpoint of it holds of its arguments, graphs, types and entities.
    pub(crate) state: Box<State>,
}

#[derive(Serialize, Deserialize)]
pub enum ToTarget {
    Pages(#[serde(deserialize_with = "bounded::list::<100_000, _, _>")] Vec<Page>),
    /// Asks how many peers the entities are linked to.
    Links,
    Cut {
        state: Box<State>,
        pages: u32,
    },
    Commit,
    /// The node goes on at the source.
    Abort,
    Speak,
    Relay(Relayed),
    /// Nothing follows.
    End,
}

/// What the source passes on after the cut.
#[derive(Serialize, Deserialize)]
pub enum Relayed {
    Message {
        subscription: u32,
        publisher: Publisher,
        number: u64,
        digest: u64,
        event: Event,
    },
    /// All before the number for which the target has asked.
    EndOfMessages {
        subscription: u32,
        publisher: Publisher,
    },
    Request {
        service: u32,
        id: u64,
        name: Option<RequestName>,
        request: Vec<u8>,
    },
    /// The response to a call, or feedback or result of a goal, that the guest had begun at the source; or a parameter that
    /// was set there.
    Answer(Event),
}

#[derive(Serialize, Deserialize)]
pub enum ToSource {
    Accepted,
    Refused(String),
    Links(#[serde(deserialize_with = "bounded::list::<100_000, _, _>")] Vec<(u32, u32)>),
    Prepared,
    Committed,
    /// The target does not know this migration: its process began later.
    Unknown,
    Ask {
        subscription: u32,
        publisher: Publisher,
        before: u64,
    },
    Enough {
        subscription: u32,
        publisher: Publisher,
    },
    Respond {
        id: u64,
        response: Vec<u8>,
    },
    Refuse {
        id: u64,
        why: String,
    },
    /// The target has got this request itself.
    Discard {
        id: u64,
    },
    CancelGoal {
        id: u64,
    },
}
