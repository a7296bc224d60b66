//! Local endpoint of a pair with an endpoint of another process. The graph knows the pair, and an IPC connection may
//! carry it.

use std::sync::Arc;

use runnel_rtps::wire::{EntityId, Guid};

use crate::data::{LinkInfo, Publication, TopicInput};
use crate::rtps::Rtps;

/// See the module's documentation.
pub(super) enum PairEnd {
    /// A reader, and the destination of its samples.
    Reader { topic: Arc<TopicInput>, from: Arc<LinkInfo>, rtps: Arc<Rtps>, reader: EntityId, writer: Guid },
    /// A writer, and the publication that sends its samples.
    Writer { publication: Arc<Publication>, writer: EntityId, reader: Guid },
}
