//! Reading of connections that deliver earlier messages than shared memory.

use runnel_io::clock;

use crate::driver::Driver;
use crate::driver::effect::Deadline;
use crate::driver::ipc_connections::CONNECTION_TIMEOUT;
use crate::driver::sockets::StreamProgress;
use crate::driver::table::Key;
use crate::ipc::ChannelData;

impl Driver {
    /// Reads the connections of all waiting links; true if one continued or ended.
    pub(super) fn read_waiting(&mut self) -> bool {
        let mut any = self.read_owed();
        for ipc_connection in self.ipc_connections.established.clone() {
            any |= self.resume_streams(ipc_connection);
        }
        if self.ipc_connections.waiting_since.is_none() {
            self.effects.cancel(Deadline::WaitingStreams);
        }
        any
    }

    /// Reads the connections of message links in shared memory, and ends links that have waited too long. True if one
    /// continued or ended.
    pub(super) fn read_owed(&mut self) -> bool {
        let mut any = false;
        for (link, since) in self.ipc_connections.take_owed() {
            if self.sockets.read_owed(link, &mut self.effects) {
                if clock::monotonic().since(since) < CONNECTION_TIMEOUT {
                    self.ipc_connections.keep_owed(link, since, &mut self.effects);
                    continue;
                }
                let why = "its connection did not deliver what its peer stated".to_owned();
                self.sockets.misbehaved(link, why, &mut self.effects);
            }
            any = true;
        }
        any
    }

    /// Continues service links whose connections have delivered all bytes, and ends those that have waited too long.
    /// True if there were any.
    pub(super) fn resume_streams(&mut self, ipc_connection: Key) -> bool {
        let mut any = false;
        for (link, before, since) in self.ipc_connections.waiting_streams(ipc_connection) {
            match self.sockets.read_up_to(link, before, &mut self.effects) {
                StreamProgress::NotYet if clock::monotonic().since(since) < CONNECTION_TIMEOUT => {
                    self.ipc_connections.schedule_check(since, &mut self.effects);
                    continue;
                }
                StreamProgress::All => self.resume_stream(ipc_connection, link),
                wrong => self.ipc_connections.give_up(ipc_connection, link, wrong.why(), &mut self.effects),
            }
            any = true;
        }
        any
    }

    /// Continues a link: first with the waiting pieces, then with its channel.
    fn resume_stream(&mut self, ipc_connection: Key, link: Key) {
        let Some(stream) = self.ipc_connections.take_waiting_stream(ipc_connection, link) else { return };
        for piece in stream.pieces {
            self.sockets.on_channel_data(link, ChannelData::Stream(piece), &mut self.effects);
        }
        let Some(channel) = stream.channel else { return };
        self.ipc_connections.set_channel(ipc_connection, channel, link);
        if let Some(token) = self.sockets.token_of_called(link) {
            // The service has switched, so requests switch too.
            self.ipc_connections.switch_to_memory(ipc_connection, token, &mut self.effects);
        }
    }
}
