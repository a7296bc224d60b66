//! Discovery samples for readers that understand only plain announcements and no GAP: fillers replace missing samples.

use super::ReaderProxy;
use crate::announce::{FILLER, Role, plain_endpoint};
use crate::datagram::Datagram;
use crate::history::Change;
use crate::lend::Lend;
use crate::wire::{Data, EntityId, Heartbeat, Payload, SequenceNumber};
use core::net::SocketAddr;

impl ReaderProxy {
    /// Sends fillers for all missing samples before `end`. Returns false if not all fit into this datagram.
    pub(super) fn fill_hole<B: Lend>(
        &mut self,
        ends: (EntityId, EntityId),
        end: SequenceNumber,
        out: &mut Datagram<B>,
    ) -> bool {
        while self.next < end {
            if !self.put_filler(self.next, ends, out) {
                return false;
            }
            self.next = self.next.next();
        }
        true
    }

    /// Sends a filler for a sample. Returns false if it does not fit into this datagram.
    pub(super) fn put_filler<B: Lend>(
        &self,
        number: SequenceNumber,
        ends: (EntityId, EntityId),
        out: &mut Datagram<B>,
    ) -> bool {
        let len = Data::OVERHEAD + FILLER.len() + Heartbeat::LEN;
        let has_capacity =
            (Self::is_empty(out) || out.len() + len <= self.spec.datagram) && out.has_space(len);
        if has_capacity {
            Data::emit(out.out(), ends, number, &[], Payload::Value(&FILLER));
        }
        has_capacity
    }
}

/// Appends the plain announcement of an endpoint; such a peer does not understand disposal.
pub(super) fn put<B: Lend>(
    change: &Change<B>,
    ends: (EntityId, EntityId),
    addresses: &[SocketAddr],
    out: &mut Datagram<B>,
) {
    let role = if ends.1 == EntityId::PUBLICATIONS_WRITER { Role::Writer } else { Role::Reader };
    let plain = if change.disposed {
        FILLER.to_vec()
    } else {
        plain_endpoint(role, change.payload.bytes(), addresses)
    };
    Data::emit(out.out(), ends, change.number, &[], Payload::Value(&plain));
}
