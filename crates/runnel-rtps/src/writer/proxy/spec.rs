//! Parameters of a matched reader.

use super::{Gate, Rate};
use crate::history::Change;
use crate::inline_qos;
use crate::wire::{Guid, VendorId};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::RangeInclusive;

/// Parameters of a reader to be matched.
#[derive(Clone, Debug)]
pub(crate) struct ReaderSpec {
    pub guid: Guid,
    pub address: SocketAddr,
    pub reliable: bool,
    /// Its durability requests earlier samples.
    pub wants_history: bool,
    /// Maximum datagram size.
    pub datagram: usize,
    /// Rate of fragments.
    pub rate: Rate,
    /// It repeats a request only after a long delay, so repairs are sent redundantly.
    pub requests_slowly: bool,
    /// All readers of its participant that receive no earlier samples have one reorder buffer for the writer, as in
    /// Cyclone DDS: a sample goes to all of them, and so does what HEARTBEATs and GAPs declare lost or irrelevant,
    /// whichever reader they name. A GAP must name one of them.
    pub shares_reorder_buffer: bool,
    /// Inline QoS of its samples: a parameter list, or empty unless it expects that.
    pub inline_qos: Vec<u8>,
    /// Whether it is sent samples.
    pub gate: Gate,
    /// Offset of its sequence numbers from the writer's own.
    pub number_offset: i64,
    /// It receives its first number before samples.
    pub needs_first_number: bool,
    /// Our addresses, if it is a discovery reader that understands only plain announcements.
    pub plain: Option<Vec<SocketAddr>>,
    /// It answers each heartbeat with a request for another: after complete acknowledgement it is not answered.
    pub echoes: bool,
}

impl ReaderSpec {
    /// Returns whether it ignores heartbeats to all readers until it has received one of its own, as Runnel's do.
    pub(super) fn begins_with_own_heartbeat(&self) -> bool {
        let Guid { prefix, entity } = self.guid;
        self.reliable && prefix.is_of(VendorId::RUNNEL) && !entity.is_builtin()
    }

    /// Returns the readers whose samples it is sent, if samples are for one reader each.
    pub(super) fn receives_samples_for(&self) -> RangeInclusive<Guid> {
        if self.shares_reorder_buffer { self.guid.prefix.endpoints() } else { self.guid..=self.guid }
    }

    /// Returns the inline QoS with which a sample is sent to it.
    pub(super) fn inline_qos_of<'a, B>(&'a self, change: &'a Change<B>) -> Cow<'a, [u8]> {
        match (&*self.inline_qos, change.inline_qos()) {
            (expected, []) => Cow::Borrowed(expected),
            ([], own) => Cow::Borrowed(own),
            (expected, own) => Cow::Owned(inline_qos::joined(expected, own)),
        }
    }
}
