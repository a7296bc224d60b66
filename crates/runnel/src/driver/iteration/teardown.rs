//! Teardown of IPC connections: the event loop dispatches the rest of their records.

use crate::driver::Driver;
use crate::driver::memory_input::MemoryInput;
use crate::driver::table::{Key, Owner};
use crate::ipc::{ChannelData, IpcFault};

impl Driver {
    /// Ends an IPC connection. `why` is the peer's fault, if there was one.
    pub(in crate::driver) fn end_ipc_connection(&mut self, ipc_connection: Key, why: Option<IpcFault>) {
        if why.is_none() {
            // What the peer sent before its end counts.
            self.drain_ipc_connection(ipc_connection);
            self.complete_partial_samples(ipc_connection);
        }
        self.ipc_connections.give_up_waiting_streams(ipc_connection, &mut self.effects);
        self.ipc_connections.links_of(ipc_connection).into_iter().for_each(|link| self.channel_closed(link));
        self.ipc_connections.begin_teardown(ipc_connection, why, &mut self.effects);
    }

    /// Ends the IPC connections whose peers already send by the network, as they do after this process was suspended
    /// while it read. This comes before datagrams, so that samples which were read here are not taken again.
    pub(super) fn end_abandoned_ipc_connections(&mut self) {
        while let Some(ipc_connection) = self.ipc_connections.ipc_connection_abandoned_by_peer() {
            self.end_ipc_connection(ipc_connection, None);
        }
    }

    /// Completes samples of which a part was read. The peer counts such a sample as read, and sends the following ones
    /// by the network. It also resends everything else in the ring.
    fn complete_partial_samples(&mut self, ipc_connection: Key) {
        for (link, piece) in self.ipc_connections.unread_pieces(ipc_connection) {
            // The end of the sample is followed by pieces of others.
            if self.memory_input(link).is_some_and(|memory| memory.is_within_sample())
                && self.on_channel_data(link, ChannelData::Stream(piece)).is_err()
            {
                return;
            }
        }
    }

    /// Shared memory as a link to a publisher or a pair uses it.
    pub(super) fn memory_input(&mut self, link: Key) -> Option<&mut MemoryInput> {
        match link.owner() {
            Owner::Sockets => self.sockets.memory_input(link),
            Owner::IpcConnections => self.ipc_connections.memory_input(link),
        }
    }
}
