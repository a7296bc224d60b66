//! What datagrams bring, and to whom it goes.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use runnel_io::Datagrams;
use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Event, Sample, SamplePayload};

use super::super::Driver;
use super::super::effect::Effect;
use super::super::sockets::Socket;
use super::Ros2;
use super::inbox::{ANNOUNCEMENTS, MANY};
use crate::rtps::Brought;

/// So often that is done where all that has come is to be received; peers may send without end.
const MOST_BATCHES: usize = 256;

impl Ros2 {
    /// Whether the end of a pair is still to be done, before which RTPS is not read.
    fn has_ends(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Whether a socket brings announcements of participants alone.
    pub(in crate::driver) fn hears_groups(&self, socket: &Datagrams) -> bool {
        self.rtps.as_ref().is_some_and(|rtps| rtps.hears_groups(socket))
    }
}

/// Whether sessions are read for an event.
fn ends_pairs(event: &Event) -> bool {
    matches!(event, Event::Unmatched { .. } | Event::ParticipantLost(_) | Event::EndpointLost(_))
}

impl Driver {
    /// Datagrams have come: takes as many as one system call gives, and the rest in the next turn. True if there were any. Of
    /// announcements it takes few, however many invented participants there are: user data is waiting in another socket.
    pub(in crate::driver) fn rtps_readable(&mut self, socket: &Datagrams) -> bool {
        if self.ros2.has_ends() {
            return false;
        }
        let Some(rtps) = &self.ros2.rtps else { return false };
        let most = if rtps.hears_groups(socket) { ANNOUNCEMENTS } else { MANY };
        self.ros2.inbox.receive(socket, most);
        // A session that ends has its rest read, and may have the datagrams taken for that.
        self.end_abandoned_sessions();
        self.take_datagrams()
    }

    /// Takes the datagrams that have been received, up to one that ends a pair. True if there were any.
    fn take_datagrams(&mut self) -> bool {
        let Some(rtps) = self.ros2.rtps.clone() else { return false };
        let mut inbox = std::mem::take(&mut self.ros2.inbox);
        let mut any = false;
        while !self.ros2.has_ends()
            && let Some((datagram, from)) = inbox.next()
        {
            any = true;
            let mut brought = std::mem::take(&mut self.ros2.brought);
            self.ros2.heard_at = Some(rtps.handle_datagram(from, datagram, &mut brought));
            self.give_brought(brought, datagram);
        }
        self.ros2.inbox = inbox;
        self.follow_rtps();
        any
    }

    /// Gives the user of a reader what RTPS has held back.
    pub(in crate::driver) fn take_held(&mut self, reader: EntityId) {
        let held = self.ros2.take_held(reader);
        held.into_iter().for_each(|sample| self.sample_came(sample, &[]));
        self.follow_rtps();
    }

    /// What has come is given to whom it concerns, some of it from this datagram. The end of a pair comes after all samples, and
    /// is left to the loop with what is behind it, since sessions are read for it.
    pub(in crate::driver) fn give_brought(&mut self, mut brought: Brought, datagram: &[u8]) {
        for event in brought.events.drain(..) {
            if self.ros2.has_ends() {
                self.ros2.ends.push_back(event);
            } else if ends_pairs(&event) {
                self.ros2.ends.push_back(event);
                self.effects.push_back(Effect::PairsEnded);
            } else {
                self.ros2_event(event);
            }
        }
        brought.samples.drain(..).for_each(|sample| self.sample_came(sample, datagram));
        self.ros2.brought = brought;
    }

    /// Does what was left to the loop, and goes on with the datagrams that came behind it.
    pub(in crate::driver) fn end_pairs(&mut self) {
        while let Some(event) = self.ros2.ends.front().cloned() {
            self.ros2_event(event);
            // Not before: until then no datagram is taken.
            self.ros2.ends.pop_front();
        }
        self.take_datagrams();
    }

    /// Receives the user data that has come so far, unless the end of a pair is to be done first.
    /// True if that is all.
    pub(in crate::driver) fn hear_rtps(&mut self) -> bool {
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
        !self.ros2.has_ends()
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
        let number = crate::rtps::number(sample.number);
        // What was written before a link of ROS 1 took over.
        if end.links.get(&sample.writer).is_some_and(|from| from.is_served_by_link()) {
            return;
        }
        if let Some(key) = end.delivery_of(sample.writer) {
            let bytes = match sample.payload {
                SamplePayload::Own(bytes) => bytes,
                SamplePayload::Here(place) => datagram.get(place).unwrap_or_default().to_vec(),
            };
            return self.deliver_rtps_sample(key, number, bytes);
        }
        let length = sample.payload.bytes(datagram).len();
        if let Some(from) = end.links.get(&sample.writer).filter(|from| from.position.take(number)) {
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
            from.position.lose(count);
            end.input.lose(count, from);
        }
    }
}
