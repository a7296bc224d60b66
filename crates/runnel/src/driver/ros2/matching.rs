//! Matches between endpoints of this process and of others: their links, counters and log lines.

use std::sync::Arc;

use runnel_ros1::peer_text::sanitize;
use runnel_rtps::Correction;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};

use super::Ros2;
use crate::data::LinkInfo;
use crate::driver::effect::{Effect, Effects};
use crate::log_output::console;
use crate::ros2_graph::Gid;

impl Ros2 {
    /// Whether a reader receives a publisher.
    pub(in crate::driver) fn is_linked(&self, reader: EntityId, writer: Guid) -> bool {
        self.readers.get(&reader).is_some_and(|end| end.links.contains_key(&writer))
    }

    pub(in crate::driver) fn matched(&mut self, local: EntityId, remote: Guid) {
        let dual_node_id = self.rtps.as_ref().and_then(|rtps| rtps.dual_node_id_of(remote));
        self.log_link(local, remote, "joined");
        if let Some(group) = self.writers.get(&local).and_then(|end| end.group.upgrade()) {
            group.on_reader_matched(remote, dual_node_id);
        }
        if !self.is_intended_for(local, remote) {
            return;
        }
        let Self { rtps: Some(rtps), readers, graph, .. } = self else { return };
        let Some(end) = readers.get_mut(&local) else { return };
        let Some(publisher) = rtps.publisher(remote) else { return };
        let node = graph.node_of(remote).map(str::to_owned);
        let from = Arc::new(LinkInfo {
            publisher: node.unwrap_or_else(|| remote.to_string()),
            type_name: end.type_name.clone(),
            md5: end.md5.clone(),
            type_hash: if publisher.type_hash.is_empty() {
                end.type_hash.clone()
            } else {
                publisher.type_hash
            },
            encoding: publisher.encoding,
            dual_node_id,
            is_bridge: rtps.is_of_bridge(remote),
            lifespan: publisher.qos.lifespan,
            gid: Some(Gid(remote.to_bytes())),
            ..LinkInfo::default()
        });
        end.input.join(&from);
        end.links.insert(remote, from);
        end.report_liveliness(1, 0);
    }

    pub(in crate::driver) fn unmatched(&mut self, local: EntityId, remote: Guid) {
        self.log_link(local, remote, "left");
        if let Some(group) = self.writers.get(&local).and_then(|end| end.group.upgrade()) {
            group.on_reader_left(remote);
        }
        let Some(end) = self.readers.get_mut(&local) else { return };
        if let Some(from) = end.links.remove(&remote) {
            end.input.leave(&from);
            end.unmatched_writers.note(remote.entity, &from);
            let not_alive = i64::from(end.not_alive.remove(&remote));
            end.report_liveliness(not_alive - 1, -not_alive);
        }
    }

    /// Gives matched publishers of a participant the names of their nodes, once it has announced these.
    pub(super) fn name_publishers(&mut self, participant: GuidPrefix, effects: &mut Effects) {
        let Self { readers, graph, local_peers, .. } = self;
        for (reader, end) in readers.iter_mut() {
            for (writer, from) in end.links.range_mut(participant.endpoints()) {
                let Some(node) = graph.node_of(*writer).filter(|node| *node != from.publisher) else {
                    continue;
                };
                let named = Arc::new(from.named(node));
                end.input.rename(from, &named);
                let [old, new] = [&from.publisher, &named.publisher].map(|name| sanitize(name));
                console::debug!("topic {}: publisher [{old}] is [{new}]", end.topic);
                if let Some(pair) = local_peers.key_of(*reader, *writer) {
                    effects.push_back(Effect::PublisherRenamed { pair, named: Arc::clone(&named) });
                }
                *from = named;
            }
        }
    }

    /// Logs that a remote endpoint has joined or left a local one, with its node if that is known.
    fn log_link(&self, local: EntityId, remote: Guid, what: &str) {
        let ours = self.writers.get(&local).map(|end| (&end.topic, "subscriber"));
        let ours = ours.or_else(|| self.readers.get(&local).map(|end| (&end.topic, "publisher")));
        let Some((topic, role)) = ours else { return };
        let node = self.graph.node_of(remote).map_or_else(|| remote.to_string(), sanitize);
        console::debug!("topic {topic}: ROS 2 {role} [{node}] {what}");
    }

    /// Warns that a peer has restarted, or that its datagrams are forged.
    pub(super) fn warn_of_correction(&mut self, local: EntityId, remote: Guid, state: Correction) {
        // A Runnel participant may read the discovery of another one again from its beginning.
        if local.is_builtin() && state == Correction::ReaderPosition {
            return console::debug!("discovery: the reader {remote} begins again");
        }
        let topic = self.rtps.as_ref().and_then(|rtps| rtps.topic_of(local));
        let topic = topic.unwrap_or_else(|| "discovery".into());
        self.warn_of_participant(format_args!(
            "{topic}: corrected the {state} {remote}: it restarted, or a datagram in its name was forged"
        ));
    }
}
