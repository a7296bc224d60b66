//! Quality of service towards other processes: what is not compatible, who lives, what is the best available, and room for
//! messages that publishers are to keep until there is some.

use runnel_core::qos::{Policy, QoS};
use runnel_ros1::peer_text::sanitize;
use runnel_rtps::Sample;
use runnel_rtps::announce::{Endpoint, Role};
use runnel_rtps::wire::{EntityId, Guid};

use super::any::share;
use super::{ReaderEnd, Ros2};
use crate::driver::effect::{Effect, Effects};
use crate::driver::incompatible::why_not;
use crate::driver::nodes::NodeKey;
use crate::driver::table::Key;
use crate::rtps::ros2_name;

/// As many shorter messages as may wait take less than half of the bytes that may.
const LONG: usize = 1 << 18;

impl Ros2 {
    /// What endpoints of other processes offer of a topic, or ask for.
    pub(in crate::driver) fn told_on(&self, topic: &str, role: Role) -> Vec<QoS> {
        let all = self.rtps.as_ref().map(|rtps| rtps.endpoints_on(topic)).unwrap_or_default();
        all.iter().filter(|endpoint| endpoint.role() == role).map(|endpoint| endpoint.qos).collect()
    }
}

impl Ros2 {
    /// Whether the user of a reader takes another message.
    pub(in crate::driver) fn has_room(&self, reader: EntityId) -> bool {
        self.readers.get(&reader).is_none_or(|end| end.room != Some(0))
    }

    /// The samples of a writer that RTPS brings are for the receiver of this pair from now on, or go to the subscription.
    pub(in crate::driver) fn set_receiver(&mut self, (reader, writer): (EntityId, Guid), pair: Option<Key>) {
        let Some(end) = self.readers.get_mut(&reader) else { return };
        if pair.is_none() || end.receiver_of(writer) != pair {
            end.receivers.retain(|(of, _)| *of != writer);
            end.receivers.extend(pair.map(|pair| (writer, pair)));
        }
    }
}

impl ReaderEnd {
    /// The pair whose receiver puts a writer's samples in order, if that is not RTPS.
    pub(in crate::driver) fn receiver_of(&self, writer: Guid) -> Option<Key> {
        self.receivers.iter().find(|(of, _)| *of == writer).map(|(_, key)| *key)
    }

    /// So many publishers more live, and so many more do not.
    pub(super) fn tell_life(&self, alive: i64, not_alive: i64) {
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
        let is_news = if alive { end.lapsed.remove(&writer) } else { end.lapsed.insert(writer) };
        if is_news {
            let by = if alive { 1 } else { -1 };
            end.tell_life(by, -by);
        }
    }

    /// An endpoint of this process and one of another do not meet. That is logged where no callback hears of it.
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
        let (Some(ours), Some(theirs)) = (rtps.endpoint(rtps.prefix().with(local)), rtps.endpoint(remote))
        else {
            return;
        };
        let (node, topic, what, why) = if let Some(end) = writers.get(&local) {
            if end.offer.upgrade().is_none_or(|offer| offer.incompatible(policies)) {
                return;
            }
            let why = why_not(policies, &ours.qos, &theirs.qos);
            (end.node, &end.topic, "subscription", why)
        } else if let Some(end) = readers.get(&local).filter(|_| self.is_made_for(local, remote)) {
            if end.core.upgrade().is_none_or(|core| core.events().incompatible(policies)) {
                return;
            }
            let why = why_not(policies, &theirs.qos, &ours.qos);
            (end.node, &end.topic, "publisher", why)
        } else {
            return;
        };
        let before = format!("topic {topic}: the {what} of ");
        self.complain(node, remote, before, format!(" is not met: {why}"), effects);
    }

    /// An endpoint of another process has been found: its topic may be known here with another type.
    pub(super) fn warn_of_type(&mut self, found: Guid, effects: &mut Effects) {
        let Some(theirs) = self.rtps.as_ref().and_then(|rtps| rtps.endpoint(found)) else { return };
        let Some(topic) = theirs.topic.strip_prefix("rt") else { return };
        let ends = match theirs.role() {
            Role::Reader => self.writers.iter().map(|(id, end)| (*id, end.node, &end.topic)).collect(),
            Role::Writer => {
                let typed = self.readers.iter().filter(|(_, end)| !end.any);
                typed.map(|(id, end)| (*id, end.node, &end.topic)).collect::<Vec<_>>()
            }
        };
        let met: Vec<_> =
            ends.iter().filter(|(.., of)| *of == topic).map(|(id, node, _)| (*id, *node)).collect();
        for (id, node) in met {
            let rtps = self.rtps.as_ref();
            let ours = rtps.and_then(|rtps| rtps.endpoint(rtps.prefix().with(id)));
            ours.into_iter()
                .for_each(|ours| self.compare_types(node, topic, &ours.type_name, &theirs, effects));
        }
    }

    /// The same of all that are known when an endpoint of this process is made.
    pub(super) fn warn_of_types(
        &mut self,
        topic: &str,
        dds_type: &str,
        node: NodeKey,
        theirs: Role,
        effects: &mut Effects,
    ) {
        let all = self.rtps.as_ref().map(|rtps| rtps.endpoints_on(topic)).unwrap_or_default();
        for other in all.iter().filter(|other| other.role() == theirs) {
            self.compare_types(node, topic, dds_type, other, effects);
        }
    }

    fn compare_types(
        &mut self,
        node: NodeKey,
        topic: &str,
        dds_type: &str,
        theirs: &Endpoint,
        effects: &mut Effects,
    ) {
        if theirs.type_name == dds_type {
            return;
        }
        let what = if theirs.role() == Role::Writer { "publisher" } else { "subscription" };
        let [has, here] = [&theirs.type_name, dds_type].map(|name| sanitize(&ros2_name(name)));
        let before = format!("topic {topic}: the {what} of ");
        self.complain(
            node,
            theirs.guid,
            before,
            format!(" has type {has}, which is {here} here: they do not meet"),
            effects,
        );
    }
}

impl Ros2 {
    /// A reader is told how much room there is, if publishers are to wait for it.
    pub(in crate::driver) fn begin_room(&mut self, reader: EntityId, effects: &mut Effects) {
        let Some(rtps) = self.rtps.as_ref().filter(|rtps| rtps.keeps_all(reader)) else { return };
        let Some(core) = self.readers.get(&reader).and_then(|end| end.core.upgrade()) else { return };
        core.takes_from(rtps);
        // Another reader of the same subscription may have filled it.
        self.fill_room(reader, core.starve().unwrap_or_default(), effects);
    }

    /// There is room for so many messages more: those that were held back come.
    fn fill_room(&mut self, reader: EntityId, room: usize, effects: &mut Effects) {
        let (Some(rtps), Some(end)) = (&self.rtps, self.readers.get_mut(&reader)) else { return };
        let room = if end.any { share(room) } else { room };
        end.room = Some(room);
        if room == 0 {
            rtps.withdraw_capacity(reader);
        }
        // Each is the first once, who may take all the room.
        if end.receivers.len() > 1 {
            end.receivers.rotate_left(1);
        }
        effects.extend(end.receivers.iter().map(|(_, pair)| Effect::DeliverPair { pair: *pair }));
        effects.push_back(Effect::TakeHeld { reader });
    }

    /// What RTPS has held back of a reader, as far as there is room for it now.
    pub(in crate::driver) fn take_held(&mut self, reader: EntityId) -> Vec<Sample> {
        let room = self.readers.get(&reader).and_then(|end| end.room);
        self.rtps.as_ref().zip(room).map(|(rtps, room)| rtps.set_capacity(reader, room)).unwrap_or_default()
    }

    /// A message of so many bytes went to the user of a reader. What long ones take is looked at each time: the room that was told
    /// of is one of messages, of which fewer may wait if they are long.
    pub(in crate::driver) fn note_room_taken(
        &mut self,
        reader: EntityId,
        length: usize,
        effects: &mut Effects,
    ) {
        let Some(end) = self.readers.get_mut(&reader) else { return };
        let Some(room) = end.room else { return };
        let left = room.saturating_sub(1);
        let is_full = length >= LONG && end.core.upgrade().is_some_and(|core| core.is_full());
        end.room = Some(if is_full { 0 } else { left });
        if left > 0 && !is_full {
            return;
        }
        match end.core.upgrade().and_then(|core| core.starve()) {
            Some(room) => self.fill_room(reader, room, effects),
            None if left > 0 => self.fill_room(reader, 0, effects),
            // Memory may have filled it, of which RTPS does not know.
            None => self.rtps.iter().for_each(|rtps| rtps.withdraw_capacity(reader)),
        }
    }

    /// Subscriptions have room again.
    pub(in crate::driver) fn fill_rooms(&mut self, effects: &mut Effects) {
        let starved = |end: &ReaderEnd| end.room == Some(0);
        let readers: Vec<EntityId> =
            self.readers.iter().filter(|(_, end)| starved(end)).map(|(id, _)| *id).collect();
        for reader in readers {
            let core = self.readers.get(&reader).and_then(|end| end.core.upgrade());
            if let Some(room) = core.and_then(|core| core.starve()) {
                self.fill_room(reader, room, effects);
            }
        }
    }
}
