//! What datagrams bring for readers of this process.

use runnel_io::Datagrams;
use runnel_rtps::wire::{EntityId, Guid, Timestamp};
use runnel_rtps::{Event, Sample, SamplePayload};

use super::Ros2;
use super::inbox::{ANNOUNCEMENTS, MANY};
use crate::data::{Received, SampleInfo};
use crate::driver::effect::Effects;
use crate::driver::table::Key;

impl Ros2 {
    /// Whether a socket brings announcements of participants alone.
    pub(in crate::driver) fn hears_groups(&self, socket: &Datagrams) -> bool {
        self.rtps.as_ref().is_some_and(|rtps| rtps.hears_groups(socket))
    }

    /// Receives as many datagrams as one system call gives; false if the loop has something to do before which none is taken. Of
    /// announcements it receives few, however many invented participants there are: user data is waiting in another socket.
    pub(in crate::driver) fn receive(&mut self, socket: &Datagrams) -> bool {
        let Some(rtps) = self.rtps.as_ref().filter(|_| !self.waits_for_loop()) else { return false };
        let most = if rtps.hears_groups(socket) { ANNOUNCEMENTS } else { MANY };
        self.inbox.receive(socket, most);
        true
    }

    /// Gives a sample to the subscription of its reader, or tells the pair whose receiver is to get it, with its number.
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
        self.note_room_taken(sample.reader, length, effects);
        None
    }

    /// A participant tells of its nodes.
    fn on_graph_sample(&mut self, sample: &Sample, datagram: &[u8], effects: &mut Effects) {
        let from = sample.writer.prefix;
        if let Some(line) = self.graph.hear(from, sample.payload.bytes(datagram)) {
            self.warn_of_participant(format_args!("{line}"));
        }
        self.say_of_named(from, effects);
        self.name_publishers(from, effects);
    }

    /// Does what an event means that concerns the graph alone.
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
            Event::VendorMessage { participant, bytes } => self.word_came(participant, &bytes, effects),
            Event::EndpointFound(endpoint) => {
                self.ear_found(endpoint, effects);
                self.publisher_found(endpoint, effects);
                self.warn_of_type(endpoint, effects);
            }
            Event::LivelinessChanged { reader, writer, alive } => {
                self.liveliness_changed(reader, writer, alive);
            }
            // What this process has promised or asks for is watched for with what it does within itself.
            Event::DeadlineMissed { .. } | Event::LivelinessLost { .. } => {}
            Event::ParticipantFound(_) => {}
            // The loop does what the ends of pairs mean.
            Event::Matched { .. } | Event::Unmatched { .. } => {}
            Event::ParticipantLost(_) | Event::EndpointLost(_) => {}
        }
    }

    /// Samples of a writer did not come, and will not.
    fn samples_lost(&mut self, reader: EntityId, writer: Guid, count: u64) {
        let Some(end) = self.readers.get(&reader) else { return };
        let Some(from) = end.links.get(&writer) else { return };
        // Where memory brings some as well, its receiver knows what is lost. What is missing while a link of ROS 1 serves the
        // subscription was written for others.
        if end.receiver_of(writer).is_none() && !from.is_served_by_link() {
            from.position.lose(count);
            end.input.lose(count, from);
        }
    }
}
