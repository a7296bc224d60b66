//! The end in this process of a pair with an endpoint of another one: the graph knows it, a session may carry it.

use std::sync::Arc;

use runnel_rtps::wire::{EntityId, Guid};

use crate::data::{LinkInfo, Publication, TopicInput};
use crate::rtps::Rtps;

/// See the module's documentation.
pub(super) enum PairEnd {
    /// A reader, and where what comes by the pair goes.
    Reader { topic: Arc<TopicInput>, from: Arc<LinkInfo>, rtps: Arc<Rtps>, reader: EntityId, writer: Guid },
    /// A writer, and what sends by the pair.
    Writer { publication: Arc<Publication>, writer: EntityId, reader: Guid },
}
