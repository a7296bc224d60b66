//! Delivery of received samples and events to the readers of this process.

use runnel_io::Datagrams;
use runnel_rtps::wire::{EntityId, Guid, Timestamp};
use runnel_rtps::{Event, Sample, SamplePayload};

use super::Ros2;
use super::inbox::{ANNOUNCEMENTS, MANY};
use crate::data::{Received, SampleInfo};
use crate::driver::effect::Effects;
use crate::driver::table::Key;

impl Ros2 {
    /// Whether a socket receives only announcements of participants.
    pub(in crate::driver) fn is_multicast(&self, socket: &Datagrams) -> bool {
        self.rtps.as_ref().is_some_and(|rtps| rtps.is_multicast(socket))
    }

    /// Receives the datagrams of one system call; false if the event loop has work to do before. It takes few
    /// announcements at a time, so that invented participants do not delay user data of another socket.
    pub(in crate::driver) fn receive(&mut self, socket: &Datagrams) -> bool {
        let Some(rtps) = self.rtps.as_ref().filter(|_| !self.waits_for_loop()) else { return false };
        let most = if rtps.is_multicast(socket) { ANNOUNCEMENTS } else { MANY };
        self.inbox.receive(socket, most);
        true
    }

    /// Gives a sample to the subscription of its reader. If a pair's receiver is to get it, returns the pair, the
    /// number and the sample.
    pub(in crate::driver) fn on_sample(
        &mut self,
        sample: Sample,
        datagram: &[u8],
        effects: &mut Effects,
    ) -> Option<(Key, u64, Vec<u8>)> {
        if self.graph.is_reader(sample.reader) {
            self.on_graph_sample(&sample, datagram, effects);
            return None;
        }
        let end = self.readers.get_mut(&sample.reader)?;
        // Behind one that waits, all of its pair wait.
        if end.links.get(&sample.writer).is_some_and(|from| from.is_served_by_link())
            || self.refused.has((sample.reader, sample.writer))
        {
            self.refuse(sample, datagram, effects);
            return None;
        }
        let number = crate::rtps::number(sample.number);
        if let Some(pair) = end.receiver_of(sample.writer) {
            let bytes = match sample.payload {
                SamplePayload::Owned(bytes) => bytes,
                SamplePayload::InDatagram(place) => datagram.get(place).unwrap_or_default().to_vec(),
            };
            return Some((pair, number, bytes));
        }
        let length = sample.payload.bytes(datagram).len();
        if self.services.is_reader(sample.reader) {
            let from = end.links.get(&sample.writer);
            if from.is_some_and(|from| from.position.take(number)) {
                self.on_service_sample(&sample, datagram);
            }
            return None;
        }
        if let Some(from) = end.links.get(&sample.writer).filter(|from| from.position.take(number)) {
            let info =
                SampleInfo { source: sample.stamp.map(Timestamp::to_time), ..SampleInfo::numbered(number) };
            match sample.payload {
                SamplePayload::Owned(bytes) => end.input.push_sample(Received::Own(bytes), from, info),
                SamplePayload::InDatagram(place) => {
                    let bytes = datagram.get(place).unwrap_or_default();
                    end.input.push_filled(bytes.len(), (from, info), |into| {
                        into.clear();
                        into.extend_from_slice(bytes);
                    });
                }
            }
        }
        self.use_capacity(sample.reader, length, effects);
        None
    }

    /// Takes the announcement of a participant's nodes.
    fn on_graph_sample(&mut self, sample: &Sample, datagram: &[u8], effects: &mut Effects) {
        let from = sample.writer.prefix;
        if let Some(line) = self.graph.on_node_announcement(from, sample.payload.bytes(datagram)) {
            self.warn_of_participant(format_args!("{line}"));
        }
        self.log_named_diagnostics(from, effects);
        self.name_publishers(from, effects);
    }

    /// Handles an event that concerns only the graph.
    pub(in crate::driver) fn on_event(&mut self, event: Event, effects: &mut Effects) {
        match event {
            Event::Incompatible { local, remote, policies } => {
                self.incompatible(local, remote, &policies, effects);
            }
            Event::SampleLost { reader, writer, count } => self.samples_lost(reader, writer, count),
            Event::ParticipantsRefused { address, count } => self.warn_of_participant(format_args!(
                "{count} participants are refused, the last one at {address}: there is no capacity for more there"
            )),
            Event::PeerFault(line) => self.warn_of_participant(format_args!("{line}")),
            Event::Corrected { local, remote, state } => self.warn_of_correction(local, remote, state),
            Event::VendorMessage { participant, bytes } => self.on_vendor_message(participant, &bytes, effects),
            Event::LivelinessChanged { reader, writer, alive } => {
                self.liveliness_changed(reader, writer, alive);
            }
            // `MonitoredEndpoints` checks these, also within the process.
            Event::DeadlineMissed { .. } | Event::LivelinessLost { .. } => {}
            Event::ParticipantFound(_) => {}
            // The event loop handles these.
            Event::Matched { .. } | Event::Unmatched { .. } => {}
            Event::ParticipantLost(_) | Event::EndpointFound(_) | Event::EndpointLost(_) => {}
        }
    }

    /// Handles a new or changed remote endpoint. Returns pairs as [`Ros2::publisher_found`].
    pub(in crate::driver) fn endpoint_found(
        &mut self,
        endpoint: Guid,
        effects: &mut Effects,
    ) -> Vec<(EntityId, Guid)> {
        self.on_graph_reader_found(endpoint, effects);
        let moved = self.publisher_found(endpoint, effects);
        self.warn_of_type(endpoint, effects);
        moved
    }

    /// Handles lost samples of a writer.
    fn samples_lost(&mut self, reader: EntityId, writer: Guid, count: u64) {
        self.replies_lost(reader, writer, count);
        let Some(end) = self.readers.get(&reader) else { return };
        let Some(from) = end.links.get(&writer) else { return };
        // Where shared memory delivers too, the pair's receiver knows what is lost. Samples that are missing while a
        // ROS 1 link serves the subscription were written for others.
        if end.receiver_of(writer).is_none() && !from.is_served_by_link() {
            from.position.lose(count);
            end.input.lose(count, from);
        }
    }
}
