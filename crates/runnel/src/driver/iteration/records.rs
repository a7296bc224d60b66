//! Dispatch of the records of IPC connections.

use runnel_delivery::Statement;
use runnel_io::Token;

use crate::driver::Driver;
use crate::driver::ipc_connections::{Batch, MAX_CHANNELS, Taken};
use crate::driver::table::{Key, Owner};
use crate::ipc::{ChannelData, IpcFault, RING, RecordEvent};

/// How to treat a record for which the network must be read, if the end of a pair must be handled before that.
#[derive(Clone, Copy)]
enum NetworkUnread {
    /// The record and all behind it stay in the ring.
    Waits,
    /// The record is taken. Samples of the channel that it opens wait until the network has been read.
    GoesOn,
}

impl Driver {
    /// Takes records of all IPC connections; true if there were any.
    pub(in crate::driver) fn poll_ipc_connections(&mut self) -> bool {
        let mut any = self.ipc_connections.waiting_since.take().is_some() && self.read_waiting();
        for index in 0..self.ipc_connections.established.len() {
            let Some(ipc_connection) = self.ipc_connections.established.get(index).copied() else { break };
            if self.ipc_connections.has_record(ipc_connection) {
                any |= self.take_records(ipc_connection, NetworkUnread::Waits);
            }
        }
        any
    }

    /// Handles a packet, or the end, on the socket of an IPC connection.
    pub(in crate::driver) fn ipc_socket_readable(&mut self, ipc_connection: Key) {
        match self.ipc_connections.take_packet(ipc_connection) {
            Some(Ok(())) => self.doorbell_rang(ipc_connection),
            Some(Err(why)) => self.end_ipc_connection(ipc_connection, why),
            None => {}
        }
    }

    /// Handles the doorbell of an IPC connection: its ring has records or free space.
    pub(in crate::driver) fn doorbell_rang(&mut self, ipc_connection: Key) {
        if self.ipc_connections.is_closing(ipc_connection) {
            return self.ipc_connections.end_if_read(ipc_connection, &mut self.effects);
        }
        self.take_records(ipc_connection, NetworkUnread::Waits);
        for Token(bits) in self.ipc_connections.on_ring_space(ipc_connection, &mut self.effects) {
            self.writable(Key::from_bits(bits));
        }
    }

    /// Takes records of an IPC connection, and reads the network where it comes first; true if there were any.
    fn take_records(&mut self, ipc_connection: Key, if_unread: NetworkUnread) -> bool {
        let mut batch = Batch::default();
        loop {
            let Self { ipc_connections, sockets, .. } = self;
            let of_link = |link, receiver: &mut _, record: &_| sockets.take_in_order(link, receiver, record);
            let taken = match ipc_connections.take_records(ipc_connection, &mut batch, of_link) {
                Ok(Taken::All) => return batch.has_any(),
                Ok(Taken::Record { channel, event }) => self.take_record(ipc_connection, channel, event),
                Ok(Taken::NetworkFirst) if !batch.restart_after_network() => return batch.has_any(),
                Ok(Taken::NetworkFirst) => {
                    if !self.receive_rtps() {
                        match if_unread {
                            NetworkUnread::Waits => return batch.has_any(),
                            NetworkUnread::GoesOn => self.ipc_connections.is_network_unread = true,
                        }
                    }
                    Ok(())
                }
                Err(why) => Err(why),
            };
            if let Err(why) = taken {
                self.end_ipc_connection(ipc_connection, Some(why));
                return true;
            }
        }
    }

    /// Dispatches a record.
    fn take_record(&mut self, ipc_connection: Key, channel: u32, event: RecordEvent) -> Result<(), IpcFault> {
        match event {
            RecordEvent::ChannelData(data) => {
                match (self.ipc_connections.link_of(ipc_connection, channel), data) {
                    (Some(link), data) => return self.on_channel_data(link, data),
                    (None, ChannelData::Stream(bytes)) => {
                        self.ipc_connections.queue_piece(ipc_connection, channel, bytes, &mut self.effects);
                    }
                    // The channel of a removed pair.
                    (None, _) => {}
                }
            }
            RecordEvent::Ask { token } => {
                self.ipc_connections.switch_to_memory(ipc_connection, token, &mut self.effects)
            }
            RecordEvent::Open { token, before } => {
                self.open_stream(ipc_connection, channel, (token, before))?
            }
            RecordEvent::AskSamples { token, waits_for_user } => {
                self.ipc_connections.on_samples_request(
                    ipc_connection,
                    token,
                    waits_for_user,
                    &mut self.effects,
                );
            }
            RecordEvent::Reached { token, reached } => {
                self.receiver_reached(ipc_connection, token, &reached)?
            }
            RecordEvent::OpenSamples { token, first_unacknowledged, begin } => {
                self.open_samples(ipc_connection, (channel, token), (first_unacknowledged, &begin))?;
            }
            RecordEvent::Close => self.close_channel(ipc_connection, channel),
            RecordEvent::Nothing => {}
        }
        Ok(())
    }

    /// Passes the content of a channel to its link or pair.
    pub(super) fn on_channel_data(&mut self, link: Key, data: ChannelData) -> Result<(), IpcFault> {
        let Self { ipc_connections, sockets, ros2, effects, .. } = self;
        match link.owner() {
            Owner::Sockets => sockets.on_channel_data(link, data, effects),
            Owner::IpcConnections if !ipc_connections.is_pair(link) => {
                if let Some((next, late)) = ipc_connections.on_orphan_data(link, data)? {
                    sockets.add_late(next, late);
                }
            }
            Owner::IpcConnections => {
                ipc_connections.on_channel_data(link, data, |reader| ros2.has_capacity(reader))?;
                self.deliver_pair(link);
            }
        }
        Ok(())
    }

    /// Handles the report of a receiving end.
    fn receiver_reached(
        &mut self,
        ipc_connection: Key,
        token: u128,
        reached: &Statement,
    ) -> Result<(), IpcFault> {
        let Statement::Reached { epoch, next, .. } = *reached else {
            return Err(IpcFault::UnexpectedStatement);
        };
        let Some(link) = self.ipc_connections.link_with(ipc_connection, token) else { return Ok(()) };
        match link.owner() {
            Owner::IpcConnections => return self.ipc_connections.reader_reached(link, (epoch, next)),
            Owner::Sockets => self.sockets.subscriber_reached(link, (epoch, next), &mut self.effects),
        }
        Ok(())
    }

    /// Opens the channel of a service link. Its connection delivers `before` bytes first.
    fn open_stream(
        &mut self,
        ipc_connection: Key,
        channel: u32,
        (token, before): (u128, u64),
    ) -> Result<(), IpcFault> {
        if channel as usize >= MAX_CHANNELS {
            return Err(IpcFault::ChannelBeyondLimit(channel));
        }
        self.close_channel(ipc_connection, channel);
        // A link may have ended meanwhile. A link of another process is not for this peer to open. A link to a
        // subscriber receives nothing.
        if let Some(link) = self.ipc_connections.link_with(ipc_connection, token)
            && self.sockets.received(link).is_some()
        {
            self.ipc_connections.wait_for_connection(
                ipc_connection,
                link,
                (channel, before),
                &mut self.effects,
            );
            self.resume_streams(ipc_connection);
        }
        Ok(())
    }

    /// Opens the channel of a link or pair. RTPS has delivered everything before `first_unacknowledged`.
    fn open_samples(
        &mut self,
        ipc_connection: Key,
        (channel, token): (u32, u128),
        (first_unacknowledged, begin): (u64, &Statement),
    ) -> Result<(), IpcFault> {
        let Statement::Begin { id, from, .. } = *begin else {
            return Err(IpcFault::UnexpectedStatement);
        };
        let is_possible = (1..=from).contains(&first_unacknowledged) && id.stream == token as u64;
        if channel as usize >= MAX_CHANNELS || !is_possible {
            return Err(IpcFault::SampleChannel { channel, first: from });
        }
        self.close_channel(ipc_connection, channel);
        let Some(link) = self.ipc_connections.link_with(ipc_connection, token) else { return Ok(()) };
        let Some(memory) = self.memory_input(link) else { return Ok(()) };
        if memory.has_channel() {
            self.ipc_connections.forget_channel_of(ipc_connection, link);
            self.channel_closed(link);
        }
        self.ipc_connections.set_channel(ipc_connection, channel, link);
        match link.owner() {
            Owner::Sockets if self.sockets.begin_channel(link, begin, &mut self.effects) => {
                self.ipc_connections.note_owed(link);
                self.read_owed();
            }
            Owner::Sockets => {}
            Owner::IpcConnections => {
                let begun = self.ipc_connections.begin_channel(link, first_unacknowledged, begin);
                self.note_receiver(link);
                begun?;
                self.deliver_pair(link);
            }
        }
        Ok(())
    }

    /// Closes a channel.
    fn close_channel(&mut self, ipc_connection: Key, channel: u32) {
        if let Some(link) = self.ipc_connections.close_channel(ipc_connection, channel) {
            self.channel_closed(link);
        }
    }

    /// Handles the end of a link's or pair's channel: the network delivers the rest.
    pub(super) fn channel_closed(&mut self, link: Key) {
        match link.owner() {
            Owner::Sockets => self.sockets.channel_closed(link, &mut self.effects),
            Owner::IpcConnections if !self.ipc_connections.is_pair(link) => {
                self.ipc_connections.end_orphan_of(link)
            }
            Owner::IpcConnections => {
                if let Some(received_batch) = self.ipc_connections.channel_closed(link) {
                    self.deliver_pair(link);
                    self.dispatch_rtps(received_batch, &[]);
                }
            }
        }
    }

    /// Takes the records of a link's IPC connection, before the link ends or before other input is taken.
    pub(in crate::driver) fn drain_ipc_connection_of(&mut self, link: Key) {
        if let Some(ipc_connection) = self.ipc_connections.ipc_connection_of(link) {
            self.drain_ipc_connection(ipc_connection);
        }
    }

    /// Takes the records of an IPC connection: at most as many as the ring holds, since the peer may continue.
    pub(super) fn drain_ipc_connection(&mut self, ipc_connection: Key) {
        if let Some(begun) = self.ipc_connections.position(ipc_connection) {
            let is_within_ring = |at| at - begun < RING as u64;
            while self.ipc_connections.position(ipc_connection).is_some_and(is_within_ring)
                && self.take_records(ipc_connection, NetworkUnread::GoesOn)
            {}
        }
        self.resume_streams(ipc_connection);
    }

    /// Sends the report of a link to its publisher, now or when the ring has space.
    pub(in crate::driver) fn report_to_publisher(&mut self, link: Key) {
        if let Some(reached) = self.sockets.take_unsent_report(link)
            && !self.ipc_connections.send_reached(link, &reached)
        {
            self.sockets.put_unsent_report(link, reached);
        }
    }
}
