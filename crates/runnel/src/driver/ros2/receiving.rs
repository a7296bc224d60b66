//! What datagrams bring, and to whom it goes.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use runnel_io::Datagrams;
use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Event, Sample, SamplePayload};

use super::super::Driver;
use super::super::sockets::Socket;
use super::Ros2;
use super::inbox::{ANNOUNCEMENTS, MANY};
use crate::rtps::Brought;

/// So often that is done where all that has come is to be received; peers may send without end.
const MOST_BATCHES: usize = 256;

impl Ros2 {
    /// Whether a socket brings announcements of participants alone.
    pub(in crate::driver) fn hears_groups(&self, socket: &Datagrams) -> bool {
        self.rtps.as_ref().is_some_and(|rtps| rtps.hears_groups(socket))
    }
}

impl Driver {
    /// Datagrams have come: takes as many as one system call gives, and the rest in the next turn. True if there were any. Of
    /// announcements it takes few, however many invented participants there are: user data is waiting in another socket.
    pub(in crate::driver) fn rtps_readable(&mut self, socket: &Datagrams) -> bool {
        let Some(rtps) = self.ros2.rtps.clone() else { return false };
        if std::mem::replace(&mut self.ros2.handing_out, true) {
            return false;
        }
        let mut inbox = self.ros2.inbox.take().unwrap_or_default();
        let mut any = false;
        let most = if rtps.hears_groups(socket) { ANNOUNCEMENTS } else { MANY };
        let received = inbox.receive(socket, most);
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
        any
    }

    /// Hands samples out. What sessions bring meanwhile waits until that is done.
    pub(in crate::driver) fn hand_out(&mut self, give: impl FnOnce(&mut Self)) {
        let is_outermost = !std::mem::replace(&mut self.ros2.handing_out, true);
        give(self);
        if is_outermost {
            self.ros2.handing_out = false;
            self.catch_up_on_samples();
        }
    }

    /// Gives the user of a reader what RTPS has held back.
    pub(in crate::driver) fn take_held(&mut self, reader: EntityId) {
        let held = self.ros2.take_held(reader);
        self.hand_out(|driver| {
            held.into_iter().for_each(|sample| driver.sample_came(sample, &[]));
            driver.follow_rtps();
        });
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

    /// Receives the user data that has come so far, unless that is being done.
    pub(in crate::driver) fn hear_rtps(&mut self) {
        for key in self.sockets.keys() {
            let Some(Socket::Rtps(socket)) = self.sockets.get(key) else { continue };
            let socket = Arc::clone(socket);
            if self.ros2.hears_groups(&socket) {
                continue;
            }
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
            return self.ros2.name_publishers(from, &mut self.effects);
        }
        let Some(end) = self.ros2.readers.get_mut(&sample.reader) else { return };
        // What was written before a link of ROS 1 took over.
        if end.links.get(&sample.writer).is_some_and(|from| from.is_served_by_link()) {
            return;
        }
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
        self.ros2.note_room_taken(sample.reader, length, &mut self.effects);
    }

    /// Samples of a writer did not come, and will not.
    pub(in crate::driver) fn samples_lost(&mut self, reader: EntityId, writer: Guid, count: u64) {
        let end = self.ros2.readers.get(&reader);
        if let Some((end, from)) = end.and_then(|end| Some((end, end.links.get(&writer)?)))
            // What it brings meanwhile, and what is missing of that, was written for others.
            && !from.is_served_by_link()
        {
            end.input.lose(count, from);
        }
    }
}
