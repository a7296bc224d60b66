//! Publisher lists of the master: new publishers, removed ones, and the limit.

use runnel_core::sorted::SortedSet;
use runnel_core::time::Instant;

use super::link::{Link, LinkState};
use crate::node::event::NodeEvent;
use crate::node::fault::PeerFault;
use crate::node::{Node, canonical};

/// Invalid URIs of one list that are reported; a log line holds no more.
const MOST_FAULTS: usize = 16;

impl Node {
    /// The master has reported all publishers of a topic.
    pub(in crate::node) fn publishers_updated(&mut self, now: Instant, topic: &str, uris: &[String]) {
        if let Some(subscription) = self.subscriptions.get_mut(topic) {
            subscription.updated = true;
            self.publishers_listed(now, topic, uris);
        }
    }

    /// The master has answered a registration with the publishers of the topic. An update on another connection may
    /// have is_outdated this answer, and is newer.
    pub(in crate::node) fn publishers_answered(&mut self, now: Instant, topic: &str, uris: &[String]) {
        let is_outdated = self.subscriptions.get(topic).is_none_or(|subscription| subscription.updated);
        if !is_outdated || self.registrar.is_list_additive(now) {
            self.publishers_listed(now, topic, uris);
        }
    }

    fn publishers_listed(&mut self, now: Instant, topic: &str, uris: &[String]) {
        let listed = self.valid_uris(topic, uris);
        let Some(subscription) = self.subscriptions.get_mut(topic) else { return };
        let removed: Vec<String> =
            subscription.known().filter(|uri| !listed.contains(*uri)).cloned().collect();
        let new: Vec<String> = listed.iter().filter(|uri| !subscription.knows(uri)).cloned().collect();
        if !self.registrar.is_list_additive(now) {
            removed.iter().for_each(|uri| self.publisher_removed(topic, uri));
        }
        self.ask_again_where_refused(now, topic, &listed);
        self.watch_for_silence(now, topic, &listed);
        let excess: Vec<&String> = new.iter().filter(|uri| !self.publisher_added(now, topic, uri)).collect();
        if let [first, others @ ..] = excess.as_slice() {
            let (limit, others) = (self.config.limits.publishers_per_topic, others.len());
            let (topic, first) = (topic.to_owned(), first.to_string());
            self.report_fault(PeerFault::TooManyPublishers { topic, first, others, limit });
        }
        let Some(subscription) = self.subscriptions.get_mut(topic) else { return };
        subscription.listed = listed.into_iter().filter(|uri| subscription.knows(uri)).collect();
    }

    /// Removes publishers of this process and UDPROS publishers that a returned master has not listed. A TCP
    /// connection proves that its publisher lives, and stays.
    pub(in crate::node) fn lists_count_again(&mut self, now: Instant) {
        if self.registrar.is_list_additive(now) {
            return;
        }
        let mut removed = Vec::new();
        for (topic, subscription) in &self.subscriptions {
            let local = subscription.local.iter();
            let unlisted = local.filter(|uri| !subscription.listed.contains(*uri));
            let datagrams = self.datagram_publishers(topic).into_iter();
            let silent = datagrams.filter(|uri| !subscription.listed.contains(uri));
            removed.extend(unlisted.cloned().chain(silent).map(|uri| (topic.clone(), uri)));
        }
        removed.iter().for_each(|(topic, uri)| self.publisher_removed(topic, uri));
    }

    /// The valid URIs of a list in canonical form.
    fn valid_uris(&mut self, topic: &str, uris: &[String]) -> SortedSet<String> {
        let (mut valid, mut faults) = (Vec::new(), Vec::new());
        for uri in uris {
            match canonical(uri) {
                Ok(uri) => valid.push(uri),
                Err(error) if faults.len() < MOST_FAULTS => faults.push(error),
                Err(_) => {}
            }
        }
        if !faults.is_empty() {
            self.report_fault(PeerFault::PublisherUris { topic: topic.to_owned(), faults });
        }
        // Any peer may send a list of a million, in any order.
        valid.sort_unstable();
        valid.into_iter().collect()
    }

    /// Retries publishers that refused: a list that names them may mean that the publisher or its type has changed.
    fn ask_again_where_refused(&mut self, now: Instant, topic: &str, uris: &SortedSet<String>) {
        for uri in uris {
            let refused =
                self.link_mut(topic, uri).is_some_and(|link| matches!(link.state, LinkState::Refused));
            if refused {
                self.ask_address(now, topic, uri);
            }
        }
    }

    fn publisher_removed(&mut self, topic: &str, uri: &str) {
        let Some(subscription) = self.subscriptions.get_mut(topic) else { return };
        if subscription.local.remove(uri) {
            let (topic, uri) = (topic.to_owned(), uri.to_owned());
            self.events.push_back(NodeEvent::LocalPublisherLeft { topic, uri });
        } else if let Some(Link { state, .. }) = subscription.links.remove(uri) {
            self.cancel_call_of(&state);
            if let Some(conn) = state.conn() {
                self.remove_conn(conn);
                self.close(conn);
                self.events.push_back(NodeEvent::LinkClosed { topic: topic.to_owned(), conn });
            }
        }
    }

    /// Adds a link to a publisher. False if the limit is reached.
    fn publisher_added(&mut self, now: Instant, topic: &str, uri: &str) -> bool {
        let Some(subscription) = self.subscriptions.get_mut(topic) else { return false };
        if self.local_nodes.contains(uri) {
            subscription.local.insert(uri.to_owned());
            let (topic, uri) = (topic.to_owned(), uri.to_owned());
            self.events.push_back(NodeEvent::LocalPublisherJoined { topic, uri });
            return true;
        }
        let has_room = subscription.links.len() < self.config.limits.publishers_per_topic;
        if has_room {
            subscription.links.insert(uri.to_owned(), Link::new());
            self.ask_address(now, topic, uri);
        }
        has_room
    }

    /// Ends all links of a topic without a subscription.
    pub(in crate::node) fn end_links(&mut self, topic: &str) {
        let Some(subscription) = self.subscriptions.get(topic) else { return };
        let uris: Vec<String> = subscription.known().cloned().collect();
        uris.iter().for_each(|uri| self.publisher_removed(topic, uri));
    }
}
