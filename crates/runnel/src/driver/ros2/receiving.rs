//! What datagrams bring, and to whom it goes.

use std::sync::Arc;

use runnel_io::Datagrams;
use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Event, Sample, SamplePayload};

use super::super::Driver;
use super::super::sockets::Socket;
use crate::rtps::Brought;

/// So often that is done where all that has come is to be received; peers may send without end.
const MOST_BATCHES: usize = 256;

impl Driver {
    /// Datagrams have come: takes as many as one system call gives, and the rest in the next turn. True if there were any.
    pub(in crate::driver) fn rtps_readable(&mut self, socket: &Datagrams) -> bool {
        let Some(rtps) = self.ros2.rtps.clone() else { return false };
        if std::mem::replace(&mut self.ros2.handing_out, true) {
            return false;
        }
        let mut inbox = self.ros2.inbox.take().unwrap_or_default();
        let mut any = false;
        let received = inbox.receive(socket);
        self.end_abandoned_sessions();
        for (datagram, from) in received {
            any = true;
            let mut brought = std::mem::take(&mut self.ros2.brought);
            self.ros2.heard_at = Some(rtps.handle_datagram(from, datagram, &mut brought));
            self.give_brought(brought, datagram);
        }
        self.ros2.inbox = Some(inbox);
        self.follow_rtps();
        self.ros2.handing_out = false;
        self.catch_up_on_samples();
        self.fill_taken_rooms();
        any
    }

    /// Hands samples out. What sessions bring meanwhile waits until that is done.
    pub(in crate::driver) fn hand_out(&mut self, give: impl FnOnce(&mut Self)) {
        let is_outermost = !std::mem::replace(&mut self.ros2.handing_out, true);
        give(self);
        if is_outermost {
            self.ros2.handing_out = false;
            self.catch_up_on_samples();
            self.fill_taken_rooms();
        }
    }

    /// What has come is given to whom it concerns, some of it from this datagram.
    pub(in crate::driver) fn give_brought(&mut self, brought: Brought, datagram: &[u8]) {
        self.hand_out(|driver| driver.give_each_brought(brought, datagram));
    }

    fn give_each_brought(&mut self, mut brought: Brought, datagram: &[u8]) {
        for event in brought.events.drain(..) {
            if let Event::Unmatched { local, remote } = event {
                // What was held for its user comes before it is gone.
                let is_of_pair = |sample: &mut Sample| (sample.reader, sample.writer) == (local, remote);
                let held: Vec<Sample> = brought.samples.extract_if(.., is_of_pair).collect();
                held.into_iter().for_each(|sample| self.sample_came(sample, datagram));
            }
            self.ros2_event(event);
        }
        brought.samples.drain(..).for_each(|sample| self.sample_came(sample, datagram));
        self.ros2.brought = brought;
    }

    /// Receives what has come so far, unless that is being done.
    pub(in crate::driver) fn hear_rtps(&mut self) {
        for key in self.sockets.keys() {
            let Some(Socket::Rtps(socket)) = self.sockets.get(key) else { continue };
            let socket = Arc::clone(socket);
            let mut batches = 0;
            while batches < MOST_BATCHES && self.rtps_readable(&socket) {
                batches += 1;
            }
        }
    }

    pub(super) fn sample_came(&mut self, sample: Sample, datagram: &[u8]) {
        if self.ros2.graph.is_reader(sample.reader) {
            let from = sample.writer.prefix;
            let complaint = self.ros2.graph.hear(from, sample.payload.bytes(datagram));
            complaint.into_iter().for_each(|line| self.ros2.warn_of_participant(format_args!("{line}")));
            self.ros2.say_of_named(from, &mut self.effects);
            return self.name_publishers(from);
        }
        self.hear_ros1_first(sample.reader, sample.writer);
        let Some(end) = self.ros2.readers.get_mut(&sample.reader) else { return };
        if let Some(key) = end.delivery_of(sample.writer) {
            let number = crate::rtps::number(sample.number);
            let bytes = match sample.payload {
                SamplePayload::Own(bytes) => bytes,
                SamplePayload::Here(place) => datagram.get(place).unwrap_or_default().to_vec(),
            };
            return self.deliver_rtps_sample(key, number, bytes);
        }
        let length = sample.payload.bytes(datagram).len();
        if let Some(from) = end.links.get(&sample.writer) {
            match sample.payload {
                SamplePayload::Own(bytes) => end.input.push(bytes, from),
                SamplePayload::Here(place) => {
                    let bytes = datagram.get(place).unwrap_or_default();
                    end.input.push_filled(bytes.len(), from, |into| {
                        into.clear();
                        into.extend_from_slice(bytes);
                    });
                }
            }
        }
        self.note_room_taken(sample.reader, length);
    }

    /// Samples of a writer did not come, and will not.
    pub(in crate::driver) fn samples_lost(&mut self, reader: EntityId, writer: Guid, count: u64) {
        // A publisher that had lost us wrote those only for others that it sent us by ROS 1.
        let lost = count.saturating_sub(self.hear_ros1_first(reader, writer));
        let end = self.ros2.readers.get(&reader).filter(|_| lost > 0);
        if let Some((end, from)) = end.and_then(|end| Some((end, end.links.get(&writer)?))) {
            end.input.lose(lost, from);
        }
    }
}
