//! QoS towards other processes: incompatibility, liveliness, `best_available`, and the capacity for messages that
//! publishers hold back.

use runnel_core::qos::{Policy, QoS};
use runnel_ros1::peer_text::sanitize;
use runnel_rtps::Sample;
use runnel_rtps::announce::{Endpoint, Role};
use runnel_rtps::wire::{EntityId, Guid};

use super::untyped::reader_share;
use super::{ReaderEnd, Ros2};
use crate::driver::effect::{Effect, Effects};
use crate::driver::incompatible::explain_incompatible;
use crate::driver::nodes::NodeKey;
use crate::driver::table::Key;
use crate::rtps::ros2_name;

/// Length of a long message. As many shorter messages as a queue may hold take less than half of its bytes.
const LONG: usize = 1 << 18;

impl Ros2 {
    /// QoS of the remote endpoints of a topic.
    pub(in crate::driver) fn endpoint_qos_on(&self, topic: &str, role: Role) -> Vec<QoS> {
        let all = self.rtps.as_ref().map(|rtps| rtps.endpoints_on(topic)).unwrap_or_default();
        all.iter().filter(|endpoint| endpoint.role() == role).map(|endpoint| endpoint.qos).collect()
    }
}

impl Ros2 {
    /// Whether the user of a reader takes another message.
    pub(in crate::driver) fn has_capacity(&self, reader: EntityId) -> bool {
        self.readers.get(&reader).is_none_or(|end| end.capacity != Some(0))
    }

    /// Sets the pair whose receiver gets a writer's samples from RTPS. With `None`, the subscription gets them.
    pub(in crate::driver) fn set_receiver(&mut self, (reader, writer): (EntityId, Guid), pair: Option<Key>) {
        let Some(end) = self.readers.get_mut(&reader) else { return };
        if pair.is_none() || end.receiver_of(writer) != pair {
            end.receivers.retain(|(of, _)| *of != writer);
            end.receivers.extend(pair.map(|pair| (writer, pair)));
        }
    }
}

impl ReaderEnd {
    /// The pair whose receiver orders a writer's samples; `None` if RTPS does.
    pub(in crate::driver) fn receiver_of(&self, writer: Guid) -> Option<Key> {
        self.receivers.iter().find(|(of, _)| *of == writer).map(|(_, key)| *key)
    }

    /// Reports changes of the numbers of publishers that are alive and not alive.
    pub(super) fn report_liveliness(&self, alive: i64, not_alive: i64) {
        if let Some(core) = self.core.upgrade() {
            core.events().liveliness_changed(alive, not_alive);
        }
    }
}

impl Ros2 {
    pub(super) fn liveliness_changed(&mut self, reader: EntityId, writer: Guid, alive: bool) {
        let Some(end) = self.readers.get_mut(&reader) else { return };
        if !end.links.contains_key(&writer) {
            return;
        }
        let is_news = if alive { end.not_alive.remove(&writer) } else { end.not_alive.insert(writer) };
        if is_news {
            let by = if alive { 1 } else { -1 };
            end.report_liveliness(by, -by);
        }
    }

    /// Reports a pair with incompatible QoS. Logs it if no event callback takes the report.
    pub(super) fn incompatible(
        &mut self,
        local: EntityId,
        remote: Guid,
        policies: &[Policy],
        effects: &mut Effects,
    ) {
        let Self { rtps: Some(rtps), writers, readers, .. } = &*self else {
            return;
        };
        let (Some(own), Some(peer)) = (rtps.endpoint(rtps.prefix().with(local)), rtps.endpoint(remote))
        else {
            return;
        };
        let (node, topic, what, why) = if let Some(end) = writers.get(&local) {
            if end.group.upgrade().is_none_or(|group| group.incompatible(policies)) {
                return;
            }
            let why = explain_incompatible(policies, &own.qos, &peer.qos);
            (end.node, &end.topic, "subscription", why)
        } else if let Some(end) = readers.get(&local).filter(|_| self.is_intended_for(local, remote)) {
            if end.core.upgrade().is_none_or(|core| core.events().incompatible(policies)) {
                return;
            }
            let why = explain_incompatible(policies, &peer.qos, &own.qos);
            (end.node, &end.topic, "publisher", why)
        } else {
            return;
        };
        let before = format!("topic {topic}: the {what} of ");
        self.diagnose(node, remote, before, format!(" is not matched: {why}"), effects);
    }

    /// Warns if a new remote endpoint has another type than this process's endpoints of the topic.
    pub(super) fn warn_of_type(&mut self, found: Guid, effects: &mut Effects) {
        let Some(remote) = self.rtps.as_ref().and_then(|rtps| rtps.endpoint(found)) else { return };
        let Some(topic) = remote.topic.strip_prefix("rt") else { return };
        let ends = match remote.role() {
            Role::Reader => self.writers.iter().map(|(id, end)| (*id, end.node, &end.topic)).collect(),
            Role::Writer => {
                let typed = self.readers.iter().filter(|(_, end)| !end.is_untyped);
                typed.map(|(id, end)| (*id, end.node, &end.topic)).collect::<Vec<_>>()
            }
        };
        let matches: Vec<_> =
            ends.iter().filter(|(.., of)| *of == topic).map(|(id, node, _)| (*id, *node)).collect();
        for (id, node) in matches {
            let rtps = self.rtps.as_ref();
            let own = rtps.and_then(|rtps| rtps.endpoint(rtps.prefix().with(id)));
            own.into_iter().for_each(|own| self.compare_types(node, topic, &own.type_name, &remote, effects));
        }
    }

    /// Warns of each known remote endpoint that has another type than a new local one.
    pub(super) fn warn_of_types(
        &mut self,
        topic: &str,
        dds_type: &str,
        node: NodeKey,
        remote: Role,
        effects: &mut Effects,
    ) {
        let all = self.rtps.as_ref().map(|rtps| rtps.endpoints_on(topic)).unwrap_or_default();
        for other in all.iter().filter(|other| other.role() == remote) {
            self.compare_types(node, topic, dds_type, other, effects);
        }
    }

    fn compare_types(
        &mut self,
        node: NodeKey,
        topic: &str,
        dds_type: &str,
        remote: &Endpoint,
        effects: &mut Effects,
    ) {
        if remote.type_name == dds_type {
            return;
        }
        let what = if remote.role() == Role::Writer { "publisher" } else { "subscription" };
        let [has, here] = [&remote.type_name, dds_type].map(|name| sanitize(&ros2_name(name)));
        let before = format!("topic {topic}: the {what} of ");
        self.diagnose(
            node,
            remote.guid,
            before,
            format!(" has type {has}, but this process has type {here}: they do not match"),
            effects,
        );
    }
}

impl Ros2 {
    /// Sets the first capacity of a reader, if publishers wait for it.
    pub(in crate::driver) fn set_initial_capacity(&mut self, reader: EntityId, effects: &mut Effects) {
        let Some(rtps) = self.rtps.as_ref().filter(|rtps| rtps.keeps_all(reader)) else { return };
        let Some(core) = self.readers.get(&reader).and_then(|end| end.core.upgrade()) else { return };
        core.set_rtps(rtps);
        // Another reader of the same subscription may have used it up.
        self.grant_capacity(reader, core.capacity_or_starve().unwrap_or_default(), effects);
    }

    /// Grants capacity to a reader and delivers messages that were held back.
    fn grant_capacity(&mut self, reader: EntityId, capacity: usize, effects: &mut Effects) {
        let (Some(rtps), Some(end)) = (&self.rtps, self.readers.get_mut(&reader)) else { return };
        let capacity = if end.is_untyped { reader_share(capacity) } else { capacity };
        end.capacity = Some(capacity);
        if capacity == 0 {
            rtps.withdraw_capacity(reader);
        }
        // The first pair may use all of the capacity, so the first changes each time.
        if end.receivers.len() > 1 {
            end.receivers.rotate_left(1);
        }
        effects.extend(end.receivers.iter().map(|(_, pair)| Effect::DeliverPair { pair: *pair }));
        effects.push_back(Effect::TakeHeld { reader });
    }

    /// Takes samples that RTPS has held back, as far as the capacity allows.
    pub(in crate::driver) fn take_held(&mut self, reader: EntityId) -> Vec<Sample> {
        let capacity = self.readers.get(&reader).and_then(|end| end.capacity);
        self.rtps
            .as_ref()
            .zip(capacity)
            .map(|(rtps, capacity)| rtps.set_capacity(reader, capacity))
            .unwrap_or_default()
    }

    /// Uses capacity for a delivered message of this length. The capacity counts messages, so the queue's bytes are
    /// checked after each long one.
    pub(in crate::driver) fn use_capacity(&mut self, reader: EntityId, length: usize, effects: &mut Effects) {
        let Some(end) = self.readers.get_mut(&reader) else { return };
        let Some(capacity) = end.capacity else { return };
        let left = capacity.saturating_sub(1);
        let is_full = length >= LONG && end.core.upgrade().is_some_and(|core| core.is_full());
        end.capacity = Some(if is_full { 0 } else { left });
        if left > 0 && !is_full {
            return;
        }
        match end.core.upgrade().and_then(|core| core.capacity_or_starve()) {
            Some(capacity) => self.grant_capacity(reader, capacity, effects),
            None if left > 0 => self.grant_capacity(reader, 0, effects),
            // Shared memory may have used up the capacity, which RTPS does not know.
            None => self.rtps.iter().for_each(|rtps| rtps.withdraw_capacity(reader)),
        }
    }

    /// Grants capacity to readers whose subscriptions have some again.
    pub(in crate::driver) fn grant_freed_capacity(&mut self, effects: &mut Effects) {
        let starved = |end: &ReaderEnd| end.capacity == Some(0);
        let readers: Vec<EntityId> =
            self.readers.iter().filter(|(_, end)| starved(end)).map(|(id, _)| *id).collect();
        for reader in readers {
            let core = self.readers.get(&reader).and_then(|end| end.core.upgrade());
            if let Some(capacity) = core.and_then(|core| core.capacity_or_starve()) {
                self.grant_capacity(reader, capacity, effects);
            }
        }
    }
}
