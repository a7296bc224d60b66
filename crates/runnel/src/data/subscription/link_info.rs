//! What a subscription knows of a message's publisher, and how it reads its messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runnel_core::wire::{Bytes, DecodeError, Encoding, Wire, cdr, decode_into, decode_view};
use runnel_ros1::node::LinkStats;

use super::pair_position::PairPosition;
use crate::data::type_sums::TypeSums;
use crate::ros2_graph::Gid;

/// See the module's documentation. Fields that each message uses come first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct LinkInfo {
    pub(crate) stats: Arc<LinkStats>,
    pub(crate) latching: bool,
    /// How its messages are serialized.
    pub(crate) encoding: Encoding,
    pub(crate) publisher: String,
    pub(crate) type_name: String,
    pub(crate) md5: String,
    pub(crate) definition: String,
    /// The id of the publisher's node, if that is a dual node.
    pub(crate) dual_node_id: Option<u64>,
    /// The publisher belongs to a bridge between the graphs.
    pub(crate) is_bridge: bool,
    /// Its position, if a ROS 1 link of the same node can serve the subscription instead.
    pub(crate) position: Arc<PairPosition>,
    /// Lifespan of its messages in the subscription's queue.
    pub(crate) lifespan: Option<Duration>,
    /// The ROS 2 type hash; empty if the publisher does not announce it.
    pub(crate) type_hash: String,
    /// Its ROS 2 endpoint, if it has one.
    pub(crate) gid: Option<Gid>,
    /// Its messages that could not be read.
    pub(crate) malformed: AtomicU64,
}

impl LinkInfo {
    pub(in crate::data) fn type_sums(&self) -> TypeSums<'_> {
        TypeSums { md5: &self.md5, type_hash: &self.type_hash }
    }

    /// The same link with another name of its publisher.
    pub(crate) fn named(&self, publisher: &str) -> Self {
        Self {
            stats: Arc::clone(&self.stats),
            latching: self.latching,
            encoding: self.encoding,
            publisher: publisher.to_owned(),
            type_name: self.type_name.clone(),
            md5: self.md5.clone(),
            definition: self.definition.clone(),
            dual_node_id: self.dual_node_id,
            is_bridge: self.is_bridge,
            position: Arc::clone(&self.position),
            lifespan: self.lifespan,
            type_hash: self.type_hash.clone(),
            gid: self.gid,
            malformed: AtomicU64::new(self.malformed.load(Ordering::Relaxed)),
        }
    }

    /// The same link with the identity of its ROS 2 endpoint.
    pub(in crate::data) fn of_endpoint(&self, gid: Gid) -> Self {
        Self { gid: Some(gid), ..self.named(&self.publisher) }
    }

    /// Whether the publisher belongs to a bridge, or to a node in both graphs.
    pub(crate) fn is_relay(&self) -> bool {
        self.is_bridge || self.dual_node_id.is_some()
    }

    /// Whether a ROS 1 link of the same node serves the subscription instead.
    #[inline]
    pub(crate) fn is_served_by_link(&self) -> bool {
        self.position.is_served_by_link()
    }

    pub(crate) fn set_served_by_link(&self, is_served: bool) {
        self.position.set_served_by_link(is_served);
    }

    /// Reads one of its messages into a value.
    pub(crate) fn read_into<T: Wire>(&self, value: &mut T, bytes: Bytes<'_>) -> Result<(), DecodeError> {
        if self.encoding.is_ros1() { decode_into(value, bytes) } else { cdr::decode_into(value, bytes) }
    }

    /// Reads a view of one of its messages.
    pub(crate) fn read_view<'a, T: Wire>(&self, bytes: Bytes<'a>) -> Result<T::View<'a>, DecodeError> {
        if self.encoding.is_ros1() { decode_view::<T>(bytes) } else { cdr::decode_view::<T>(bytes) }
    }
}
