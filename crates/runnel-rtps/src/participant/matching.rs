//! Matching of local and remote endpoints.

use super::Participant;
use super::addresses::address_of;
use super::peers::Standing;
use crate::announce::{Endpoint, Role};
use crate::event::Event;
use crate::reader::WriterSpec;
use crate::wire::{EntityId, Guid, GuidPrefix, VendorId};
use crate::writer::{Change, Gate, ReaderSpec, WriterUpdate};
use alloc::vec::Vec;
use runnel_core::qos::{Durability, Policy, Reliability};
use runnel_core::time::Instant;

/// Verdict on two endpoints.
enum Verdict {
    Match,
    /// Different topics, types or partitions.
    Unrelated,
    Incompatible(Vec<Policy>),
}

fn verdict(ours: &Endpoint, other: &Endpoint) -> Verdict {
    let (writer, reader) = if ours.role() == Role::Writer { (ours, other) } else { (other, ours) };
    let are_unrelated = ours.role() == other.role()
        || ours.topic != other.topic
        || ours.type_name != other.type_name
        || writer.exclusive != reader.exclusive
        || !other.in_default_partition;
    if are_unrelated {
        return Verdict::Unrelated;
    }
    let mut policies = reader.qos.incompatible_with(&writer.qos);
    if !reader.accepts_representation(writer.written_representation()) {
        policies.push(Policy::DataRepresentation);
    }
    if policies.is_empty() { Verdict::Match } else { Verdict::Incompatible(policies) }
}

impl Participant {
    /// Matches a local endpoint with remote ones.
    pub(super) fn match_own(&mut self, now: Instant, id: EntityId) {
        let Some(ours) = self.endpoints.get(&id) else { return };
        let others = self.peers.discovered().flat_map(|peer| peer.endpoints());
        let others: Vec<Guid> =
            others.filter(|other| other.topic == ours.topic).map(|other| other.guid).collect();
        others.into_iter().for_each(|other| self.match_pair(now, id, other));
    }

    /// Matches a remote endpoint with local ones.
    pub(super) fn match_remote(&mut self, now: Instant, other: Guid) {
        let Some(topic) = self.endpoint(other).map(|endpoint| endpoint.topic.clone()) else { return };
        let ours = self.endpoints.values().filter(|ours| ours.topic == topic);
        let ours: Vec<EntityId> = ours.map(|ours| ours.guid.entity).collect();
        ours.into_iter().for_each(|ours| self.match_pair(now, ours, other));
    }

    pub(super) fn match_pair(&mut self, now: Instant, local: EntityId, remote: Guid) {
        let (Some(ours), Some(other)) = (self.endpoints.get(&local), self.endpoint(remote)) else { return };
        if self.audiences.get(&local).is_some_and(|audience| !audience.includes(other)) {
            return self.unmatch_pair(local, remote);
        }
        match verdict(ours, other) {
            Verdict::Match => self.match_endpoints(now, local, remote),
            Verdict::Unrelated => self.unmatch_pair(local, remote),
            Verdict::Incompatible(policies) => {
                self.unmatch_pair(local, remote);
                self.push_event(Event::Incompatible { local, remote, policies });
            }
        }
    }

    fn match_endpoints(&mut self, now: Instant, local: EntityId, remote: Guid) {
        let is_new = match self.user_writers.contains_key(&local) {
            true => self.match_reader(local, remote),
            false => self.match_writer(now, local, remote),
        };
        if is_new == Some(true) {
            self.push_event(Event::Matched { local, remote });
        }
    }

    /// Matches a remote reader with a local writer; returns whether it was not matched before.
    fn match_reader(&mut self, local: EntityId, remote: Guid) -> Option<bool> {
        let peer = self.peers.get(remote.prefix)?;
        let reader = peer.endpoints.get(&remote.entity)?;
        let path = self.path(peer);
        let ours = self.endpoints.get(&local)?;
        let was_matched = self.user_writers.get(&local)?.matched.contains(&remote);
        let spec = ReaderSpec {
            guid: remote,
            address: address_of(reader, peer.user, |ip| peer.is_reached_at(&self.config, ip)),
            reliable: reader.qos.reliability == Reliability::Reliable
                && ours.qos.reliability == Reliability::Reliable,
            wants_history: reader.qos.durability == Durability::TransientLocal,
            datagram: path.datagram,
            rate: path.rate,
            requests_slowly: peer.data.vendor == VendorId::CYCLONE_DDS,
            shares_reorder_buffer: peer.data.vendor == VendorId::CYCLONE_DDS,
            gate: match peer.standing {
                Standing::Proved => Gate::Open,
                Standing::Announced | Standing::OnTrial => Gate::Waiting,
                Standing::Demoted => Gate::Closed,
            },
            number_offset: 0,
            needs_first_number: false,
            inline_qos: if reader.expects_inline_qos { ours.inline_qos() } else { Vec::new() },
            plain: None,
            echoes: peer.data.vendor.is_plain(),
        };
        self.user_writers.get_mut(&local)?.matched.insert(remote);
        self.update_writer(local, Change::Matched(spec));
        Some(!was_matched)
    }

    /// Matches a remote writer with a local reader; returns whether it was not matched before.
    fn match_writer(&mut self, now: Instant, local: EntityId, remote: Guid) -> Option<bool> {
        let peer = self.peers.get(remote.prefix)?;
        let writer = peer.endpoints.get(&remote.entity)?;
        let ours = self.endpoints.get(&local)?;
        let both_reliable =
            writer.qos.reliability == Reliability::Reliable && ours.qos.reliability == Reliability::Reliable;
        let spec = WriterSpec {
            guid: remote,
            address: address_of(writer, peer.user, |ip| peer.is_reached_at(&self.config, ip)),
            reliable: both_reliable,
            max_bytes: self.config.limits.sample_bytes,
            budgets: self.budgets.clone(),
        };
        let qos = writer.qos;
        let reader = self.readers.get_mut(&local)?;
        reader.match_writer(spec);
        if let Some(heartbeat) = self.early.remove(&(remote, local)) {
            reader.writer_mut(remote)?.handle_heartbeat(now, &heartbeat);
        }
        let readers = self.readers_by_writer.entry(remote).or_default();
        if readers.contains(&local) {
            return Some(false);
        }
        readers.push(local);
        self.monitor_liveliness(now, local, remote, &qos);
        self.wake_acknack(local, remote);
        Some(true)
    }

    /// Unmatches a local and a remote endpoint, if they were matched.
    fn unmatch_pair(&mut self, local: EntityId, remote: Guid) {
        self.deliver_held_samples(local, remote);
        let was_matched = match self.user_writers.get_mut(&local) {
            Some(writer) => writer.matched.remove(&remote),
            None => self.readers.get_mut(&local).is_some_and(|reader| reader.unmatch_writer(remote)),
        };
        if let Some(readers) = self.readers_by_writer.get_mut(&remote) {
            readers.retain(|reader| *reader != local);
            if readers.is_empty() {
                self.readers_by_writer.remove(&remote);
            }
        }
        if was_matched {
            self.update_writer(local, Change::Unmatched(remote..=remote));
            self.remove_liveliness_monitors(local, remote..=remote);
            self.push_event(Event::Unmatched { local, remote });
        }
    }

    /// Unmatches all endpoints of a participant that is lost, by one range of each table: there may be thousands.
    pub(super) fn unmatch_participant(&mut self, prefix: GuidPrefix) {
        let readers_by_writer = self.readers_by_writer.extract_if(prefix.endpoints(), |_, _| true);
        let pairs = readers_by_writer.flat_map(|(writer, readers)| {
            readers.into_iter().filter(|reader| !reader.is_builtin()).map(move |reader| (reader, writer))
        });
        for (reader, writer) in pairs.collect::<Vec<_>>() {
            self.deliver_held_samples(reader, writer);
            self.push_event(Event::Unmatched { local: reader, remote: writer });
        }
        self.readers.values_mut().for_each(|reader| reader.unmatch_all(prefix));
        let readers: Vec<EntityId> = self.readers.keys().copied().collect();
        readers.into_iter().for_each(|id| self.remove_liveliness_monitors(id, prefix.endpoints()));
        self.writers.values_mut().for_each(|writer| writer.unmatch_readers(prefix.endpoints()));
        let writers: Vec<EntityId> = self.user_writers.keys().copied().collect();
        writers.into_iter().for_each(|id| self.unmatch_readers(id, prefix));
    }

    /// Unmatches the readers of a participant from a user writer.
    fn unmatch_readers(&mut self, local: EntityId, prefix: GuidPrefix) {
        let Some(writer) = self.user_writers.get_mut(&local) else { return };
        let unmatched: Vec<Guid> = writer.matched.extract_if(prefix.endpoints(), |_| true).collect();
        if !unmatched.is_empty() {
            self.update_writer(local, Change::Unmatched(prefix.endpoints()));
        }
        unmatched.into_iter().for_each(|remote| self.push_event(Event::Unmatched { local, remote }));
    }

    /// Unmatches a remote endpoint that is gone.
    pub(super) fn unmatch(&mut self, remote: Guid) {
        let ours: Vec<EntityId> = self.endpoints.keys().copied().collect();
        ours.into_iter().for_each(|ours| self.unmatch_pair(ours, remote));
        self.readers_by_writer.remove(&remote);
    }

    /// Moves the endpoints of a participant to its new address, and repeats unacknowledged content.
    pub(super) fn move_peer(&mut self, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get(prefix) else { return };
        let config = &self.config;
        // Discovery endpoints have no announcement.
        let address = |guid: Guid| match peer.endpoints.get(&guid.entity) {
            Some(endpoint) => address_of(endpoint, peer.user, |ip| peer.is_reached_at(config, ip)),
            None => peer.metatraffic,
        };
        self.writers.values_mut().for_each(|writer| writer.move_readers(prefix, address));
        self.readers.values_mut().for_each(|reader| reader.move_writers(prefix, address));
        let moved = self.user_writers.iter().flat_map(|(id, writer)| {
            let readers = writer.matched_of(prefix);
            readers.map(|reader| WriterUpdate { writer: *id, change: Change::Moved(reader, address(reader)) })
        });
        self.writer_updates.extend(moved);
        self.wake_discovery(prefix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announce::{XCDR1, XCDR2};
    use alloc::vec;
    use runnel_core::qos::QoS;

    fn endpoint(entity: EntityId, representations: &[i16]) -> Endpoint {
        Endpoint {
            guid: GuidPrefix([7; 12]).with(entity),
            topic: "rt/chatter".into(),
            type_name: "std_msgs::msg::dds_::String_".into(),
            qos: QoS::default(),
            has_history: true,
            exclusive: false,
            in_default_partition: true,
            representations: representations.to_vec(),
            expects_inline_qos: false,
            unicast: vec![],
            user_data: vec![],
        }
    }

    #[test]
    fn reader_matches_writers_of_accepted_representations() {
        let writer = |named: &[i16]| endpoint(EntityId::user_writer(1), named);
        let reader = |named: &[i16]| endpoint(EntityId::user_reader(1), named);
        let match_pair = |ours: &Endpoint, other: &Endpoint| matches!(verdict(ours, other), Verdict::Match);
        let ours = reader(&super::super::ACCEPTED_REPRESENTATIONS);
        // The first of a writer's list is the one that it uses; 1 is XML.
        let offers: [(&[i16], bool); 5] =
            [(&[], true), (&[XCDR1], true), (&[XCDR2], true), (&[XCDR2, XCDR1], true), (&[1, XCDR1], false)];
        for (named, is_match) in offers {
            assert_eq!(match_pair(&ours, &writer(named)), is_match, "{named:?}");
        }
        let why = verdict(&ours, &writer(&[1]));
        assert!(matches!(why, Verdict::Incompatible(policies) if policies == [Policy::DataRepresentation]));
        let ours = writer(&[]);
        for (named, is_match) in [(&[][..], true), (&[XCDR2, XCDR1], true), (&[XCDR2], false), (&[1], false)]
        {
            assert_eq!(match_pair(&ours, &reader(named)), is_match, "{named:?}");
        }
    }
}
