//! How a node is moved, and how that went.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a node is moved.
#[derive(Clone, Copy, Debug)]
pub struct MigrationOptions {
    /// How long the target may take until its links are those of the source.
    pub links: Duration,
    /// How long to wait until the node executes no goals, and until a host that it has left has nothing to do for it.
    pub idle: Duration,
}

impl Default for MigrationOptions {
    fn default() -> Self {
        Self { links: Duration::from_secs(10), idle: Duration::from_secs(10) }
    }
}

/// What the user decides when neither host can know whether the target has committed itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The node goes on at the source.
    Source,
    /// It goes on at the target.
    Target,
}

/// How a migration went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migrated {
    /// Bytes of the memory's pages, compressed, that were sent while the node ran.
    pub copied: usize,
    /// Those that were sent while it was suspended.
    pub copied_suspended: usize,
    /// Bytes of the rest of the state.
    pub state: usize,
    /// From the suspension of the node until the target has committed itself. What subscribers take to receive the last
    /// messages comes on top.
    pub suspended: Duration,
}

/// Why a node was not moved. It goes on at the source unless it is in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigrationError {
    /// The node cannot be moved, or does not come to a point where it can.
    Node(String),
    /// The target refuses.
    Refused(String),
    /// The connection broke, or the target did not answer.
    Broken(String),
    /// The target does not get the links that the source has.
    Links(String),
    /// By the user's decision, it goes on at the source.
    Resolved,
}

impl fmt::Display for MigrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(why) => f.write_str(why),
            Self::Refused(why) => write!(f, "the target refuses: {why}"),
            Self::Broken(why) => write!(f, "the connection to the target: {why}"),
            Self::Links(why) => write!(f, "the target does not get its links: {why}"),
            Self::Resolved => f.write_str("it goes on here, as decided"),
        }
    }
}

impl std::error::Error for MigrationError {}
