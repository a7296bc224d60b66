//! Registry of publishers, subscribers, services and nodes.
//!
//! Every operation takes time logarithmic in the number of registrations, except those that return whole lists.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;

use crate::xmlrpc::Value;

use super::limits::{Limit, MasterLimits};
use super::ordered::Ordered;

/// The type of a publisher or subscriber that accepts any.
const ANY_TYPE: &str = "*";

/// Time for a replaced node to shut down. Until then it cannot take the name back: the last call of a roscpp node is
/// a subscription to a parameter.
const TAKEOVER_GRACE: Duration = Duration::from_secs(10);

/// Role of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Publisher of a topic.
    Publisher,
    /// Subscriber of a topic.
    Subscriber,
    /// Provider of a service.
    Service,
    /// Subscriber of a parameter or of a namespace of parameters.
    ParamSubscriber,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Publisher => "publisher of topic",
            Self::Subscriber => "subscriber of topic",
            Self::Service => "provider of service",
            Self::ParamSubscriber => "subscriber of parameter",
        })
    }
}

/// The nodes and all their registrations.
#[derive(Debug, Default)]
pub(super) struct Registry {
    nodes: BTreeMap<Arc<str>, Node>,
    publishers: Providers,
    subscribers: Providers,
    services: Ordered<Arc<str>, Service>,
    types: Ordered<Arc<str>, String>,
    idle_types: Ordered<Arc<str>, ()>,
    registrations: usize,
}

/// The nodes registered for each topic.
type Providers = Ordered<Arc<str>, Ordered<Arc<str>, ()>>;

#[derive(Debug)]
struct Node {
    api: Arc<str>,
    registered: BTreeSet<(Role, Arc<str>)>,
    /// URI of the node that this one replaced, and the time of the replacement.
    predecessor: Option<(Arc<str>, Instant)>,
}

#[derive(Debug)]
struct Service {
    node: Arc<str>,
    api: String,
}

/// A node that was removed.
#[derive(Debug)]
pub(super) struct RemovedNode {
    /// Its URI.
    pub(super) api: Arc<str>,
    /// The topics that it published.
    pub(super) published: Vec<Arc<str>>,
    /// The parameters that it subscribed to.
    pub(super) watched_params: Vec<Arc<str>>,
}

/// Reason why nothing was unregistered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotRegistered {
    /// The node is unknown.
    Node,
    /// The node is known, but not registered for this name, or not at this URI.
    Name,
    /// Another node, or another URI, provides the service now.
    Replaced,
}

impl Registry {
    /// Number of nodes.
    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Number of registrations of all kinds.
    pub(super) fn registration_count(&self) -> usize {
        self.registrations
    }

    /// The URI of a node.
    pub(super) fn api(&self, node: &str) -> Option<&Arc<str>> {
        self.nodes.get(node).map(|known| &known.api)
    }

    /// The URIs of all nodes.
    pub(super) fn node_apis(&self) -> BTreeSet<Arc<str>> {
        self.nodes.values().map(|node| node.api.clone()).collect()
    }

    /// Whether a node is registered in a role.
    pub(super) fn has(&self, node: &str, role: Role, name: &Arc<str>) -> bool {
        self.nodes.get(node).is_some_and(|known| known.registered.contains(&(role, name.clone())))
    }

    /// The names for which a node is registered in a role.
    pub(super) fn names_of(&self, node: &str, role: Role) -> Vec<Arc<str>> {
        let registered = self.nodes.get(node).map(|known| &known.registered);
        let of_role = registered.into_iter().flatten().filter(|(has, _)| *has == role);
        of_role.map(|(_, name)| name.clone()).collect()
    }

    /// Whether a newer node has recently taken the name from the node at this URI.
    pub(super) fn was_replaced(&self, node: &str, api: &str, now: Instant) -> bool {
        let predecessor = self.nodes.get(node).and_then(|known| known.predecessor.as_ref());
        predecessor.is_some_and(|(old, at)| **old == *api && now.since(*at) < TAKEOVER_GRACE)
    }

    /// Checks whether one more registration may be made.
    ///
    /// # Errors
    /// The limit that it would exceed.
    pub(super) fn admit(
        &self,
        limits: &MasterLimits,
        (node, api): (&str, &str),
        (role, name): (Role, &str),
    ) -> Result<(), Limit> {
        let known = self.nodes.get(node).filter(|known| *known.api == *api);
        if known.is_some_and(|known| known.registered.contains(&(role, Arc::from(name)))) {
            return Ok(());
        }
        if !self.nodes.contains_key(node) && self.nodes.len() >= limits.nodes {
            return Err(Limit::Nodes(limits.nodes));
        }
        if self.registrations >= limits.registrations {
            return Err(Limit::Registrations(limits.registrations));
        }
        if known.map_or(0, |known| known.registered.len()) >= limits.registrations_per_node {
            return Err(Limit::NodeRegistrations(limits.registrations_per_node));
        }
        Ok(())
    }

    /// Adds a node. If it was known at another URI, that node is removed with all its registrations.
    pub(super) fn add_node(&mut self, node: &str, api: &str, now: Instant) -> Option<RemovedNode> {
        if self.api(node).is_some_and(|known| **known == *api) {
            return None;
        }
        let removed = self.remove_node(node);
        let predecessor = removed.as_ref().map(|old| (old.api.clone(), now));
        self.nodes.insert(node.into(), Node { api: api.into(), registered: BTreeSet::new(), predecessor });
        removed
    }

    /// Removes a node with all its registrations.
    pub(super) fn remove_node(&mut self, node: &str) -> Option<RemovedNode> {
        let node_entry = self.nodes.remove(node)?;
        self.registrations -= node_entry.registered.len();
        let mut removed =
            RemovedNode { api: node_entry.api, published: Vec::new(), watched_params: Vec::new() };
        for (role, name) in node_entry.registered {
            self.remove_from_tables(node, role, &name);
            match role {
                Role::Publisher => removed.published.push(name),
                Role::ParamSubscriber => removed.watched_params.push(name),
                Role::Subscriber | Role::Service => {}
            }
        }
        Some(removed)
    }

    /// Registers a known node as publisher. Its type becomes the topic's, unless it is `*` and another type is known.
    pub(super) fn publish(&mut self, node: &str, topic: &str, kind: &str) {
        let Some((node, topic)) = self.record(node, Role::Publisher, topic) else { return };
        self.publishers.entry(&topic, Ordered::default).entry(&node, || ());
        if kind != ANY_TYPE || !self.types.contains(&topic) {
            self.types.insert(&topic, kind.to_owned());
        }
        self.idle_types.remove(&topic);
    }

    /// Registers a known node as subscriber. Its type becomes the topic's if none was known and it is not `*`.
    pub(super) fn subscribe(&mut self, node: &str, topic: &str, kind: &str) {
        let Some((node, topic)) = self.record(node, Role::Subscriber, topic) else { return };
        self.subscribers.entry(&topic, Ordered::default).entry(&node, || ());
        if kind != ANY_TYPE {
            self.types.entry(&topic, || kind.to_owned());
        }
        self.idle_types.remove(&topic);
    }

    /// Registers a known node as the provider of a service, replacing any other. Returns that other node if this was
    /// its last registration, so that it is removed.
    pub(super) fn serve(&mut self, node: &str, service: &str, api: &str) -> Option<Arc<str>> {
        let (node, service) = self.record(node, Role::Service, service)?;
        let former = self.services.get(&service).map(|former| former.node.clone());
        self.services.insert(&service, Service { node: node.clone(), api: api.to_owned() });
        let former = former.filter(|former| *former != node)?;
        self.unrecord(&former, Role::Service, &service).then_some(former)
    }

    /// Registers a known node as subscriber of a parameter.
    pub(super) fn subscribe_param(&mut self, node: &str, key: &str) {
        self.record(node, Role::ParamSubscriber, key);
    }

    /// Ends a registration as publisher, subscriber or parameter subscriber. True if it was the node's last, so that
    /// the node is removed.
    ///
    /// # Errors
    /// Reason why nothing was unregistered.
    pub(super) fn unregister(
        &mut self,
        (node, api): (&str, &str),
        role: Role,
        name: &Arc<str>,
    ) -> Result<bool, NotRegistered> {
        let known = self.nodes.get(node).ok_or(NotRegistered::Node)?;
        if *known.api != *api || !self.has(node, role, name) {
            return Err(NotRegistered::Name);
        }
        self.remove_from_tables(node, role, name);
        Ok(self.unrecord(node, role, name))
    }

    /// Ends the registration of a service. True if it was the node's last, so that the node is removed.
    ///
    /// # Errors
    /// Reason why nothing was unregistered.
    pub(super) fn unregister_service(
        &mut self,
        node: &str,
        service: &str,
        api: &str,
    ) -> Result<bool, NotRegistered> {
        if !self.nodes.contains_key(node) {
            return Err(NotRegistered::Node);
        }
        let current = self.services.get(service).ok_or(NotRegistered::Name)?;
        if *current.node != *node || current.api != api {
            return Err(NotRegistered::Replaced);
        }
        let name: Arc<str> = service.into();
        self.services.remove(service);
        Ok(self.unrecord(node, Role::Service, &name))
    }

    /// The nodes that subscribe to a topic.
    pub(super) fn subscribers(&self, topic: &str) -> impl Iterator<Item = &Arc<str>> {
        self.subscribers.get(topic).into_iter().flat_map(Ordered::keys)
    }

    /// The URIs of the nodes that publish a topic.
    pub(super) fn publisher_apis(&self, topic: &str) -> Value {
        self.apis(&self.publishers, topic)
    }

    /// The URIs of the nodes that subscribe to a topic.
    pub(super) fn subscriber_apis(&self, topic: &str) -> Value {
        self.apis(&self.subscribers, topic)
    }

    /// The URI of a service.
    pub(super) fn service_api(&self, service: &str) -> Option<&str> {
        self.services.get(service).map(|service| service.api.as_str())
    }

    /// Pairs of topic and type, of published topics with this prefix.
    pub(super) fn published_topics(&self, prefix: &str) -> Value {
        let inside = self.publishers.keys().filter(|topic| topic.starts_with(prefix));
        let kind = |topic: &Arc<str>| self.types.get(topic).map_or(ANY_TYPE, String::as_str);
        inside.map(|topic| pair(topic, Value::from(kind(topic)))).collect::<Vec<_>>().into()
    }

    /// Pairs of topic and type, of all topics with a known type.
    pub(super) fn topic_types(&self) -> Value {
        self.types.iter().map(|(topic, kind)| pair(topic, kind.clone().into())).collect::<Vec<_>>().into()
    }

    /// Publishers, subscribers and services, each as a list of pairs: a name, and the nodes registered for it.
    pub(super) fn system_state(&self) -> Value {
        let services =
            self.services.iter().map(|(name, service)| pair(name, vec![text(&service.node)].into()));
        let services = services.collect::<Vec<_>>();
        Value::Array(vec![listed(&self.publishers), listed(&self.subscribers), services.into()])
    }

    /// Removes the types of topics without a registration, the oldest first, down to `most`.
    pub(super) fn forget_types(&mut self, most: usize) {
        while self.idle_types.len() > most {
            if let Some((topic, ())) = self.idle_types.pop_first() {
                self.types.remove(&topic);
            }
        }
    }

    /// Adds a registration to its node's list. Returns the shared names of node and registration.
    fn record(&mut self, node: &str, role: Role, name: &str) -> Option<(Arc<str>, Arc<str>)> {
        let name = self.shared(name);
        let node = self.nodes.get_key_value(node).map(|(node, _)| node.clone())?;
        let known = self.nodes.get_mut(&node)?;
        self.registrations += usize::from(known.registered.insert((role, name.clone())));
        Some((node, name))
    }

    /// Removes a registration from its node's list. True if it was the node's last, so that the node is removed.
    fn unrecord(&mut self, node: &str, role: Role, name: &Arc<str>) -> bool {
        let Some(known) = self.nodes.get_mut(node) else { return false };
        self.registrations -= usize::from(known.registered.remove(&(role, name.clone())));
        let last = known.registered.is_empty();
        if last {
            self.nodes.remove(node);
        }
        last
    }

    /// Removes a registration from the tables by name.
    fn remove_from_tables(&mut self, node: &str, role: Role, name: &Arc<str>) {
        match role {
            Role::Publisher => remove_provider(&mut self.publishers, node, name),
            Role::Subscriber => remove_provider(&mut self.subscribers, node, name),
            Role::Service => {
                if self.services.get(name).is_some_and(|service| *service.node == *node) {
                    self.services.remove(name);
                }
            }
            Role::ParamSubscriber => {}
        }
        if !self.publishers.contains(name) && !self.subscribers.contains(name) && self.types.contains(name) {
            self.idle_types.insert(name, ());
        }
    }

    /// The name as a table already holds it, so that its text is stored once.
    fn shared(&self, name: &str) -> Arc<str> {
        let held = self.publishers.stored_key(name).or_else(|| self.subscribers.stored_key(name));
        let held = held.or_else(|| self.types.stored_key(name)).or_else(|| self.services.stored_key(name));
        held.cloned().unwrap_or_else(|| name.into())
    }

    fn apis(&self, providers: &Providers, topic: &str) -> Value {
        let nodes = providers.get(topic).into_iter().flat_map(Ordered::keys);
        nodes.filter_map(|node| self.api(node)).map(text).collect::<Vec<_>>().into()
    }
}

/// Removes a node from the providers of a topic, and the topic if it was the last one.
fn remove_provider(providers: &mut Providers, node: &str, topic: &Arc<str>) {
    let Some(nodes) = providers.get_mut(topic) else { return };
    nodes.remove(node);
    if nodes.is_empty() {
        providers.remove(topic);
    }
}

fn listed(providers: &Providers) -> Value {
    let nodes = |nodes: &Ordered<Arc<str>, ()>| nodes.keys().map(text).collect::<Vec<_>>().into();
    providers.iter().map(|(topic, of_topic)| pair(topic, nodes(of_topic))).collect::<Vec<_>>().into()
}

fn pair(name: &Arc<str>, second: Value) -> Value {
    Value::Array(vec![text(name), second])
}

fn text(shared: &Arc<str>) -> Value {
    Value::from(&**shared)
}

#[cfg(test)]
mod tests;
