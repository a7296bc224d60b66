//! Samples of discovery for readers that take plain announcements alone, and know of no GAP: what is not there is filled.

use super::ReaderProxy;
use crate::announce::{FILLER, Role, plain_endpoint};
use crate::datagram::Datagram;
use crate::history::Change;
use crate::lend::Lend;
use crate::wire::{Data, EntityId, Heartbeat, Payload, SequenceNumber};
use core::net::SocketAddr;

impl ReaderProxy {
    /// Sends something in place of each sample up to `end` that is not there. False if not all of it has room in this
    /// datagram.
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

    /// Sends something in place of a sample. False if that has no room in this datagram.
    pub(super) fn put_filler<B: Lend>(
        &self,
        number: SequenceNumber,
        ends: (EntityId, EntityId),
        out: &mut Datagram<B>,
    ) -> bool {
        let len = Data::OVERHEAD + FILLER.len() + Heartbeat::LEN;
        let has_room = (Self::is_empty(out) || out.len() + len <= self.spec.datagram) && out.allows(len);
        if has_room {
            Data::emit(out.out(), ends, number, &[], Payload::Value(&FILLER));
        }
        has_room
    }
}

/// Puts in what an announcement of an endpoint says to a plain peer; that an endpoint is gone, such a peer does not understand.
pub(super) fn put<B: Lend>(
    change: &Change<B>,
    ends: (EntityId, EntityId),
    addresses: &[SocketAddr],
    out: &mut Datagram<B>,
) {
    let role = if ends.1 == EntityId::PUBLICATIONS_WRITER { Role::Writer } else { Role::Reader };
    let plain =
        if change.gone { FILLER.to_vec() } else { plain_endpoint(role, change.payload.bytes(), addresses) };
    Data::emit(out.out(), ends, change.number, &[], Payload::Value(&plain));
}
