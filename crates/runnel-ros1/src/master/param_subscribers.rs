//! Subscriptions to parameters.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// The subscribers of each parameter or namespace, by key in the form of the tree.
#[derive(Debug, Default)]
pub(super) struct ParamSubscribers {
    of_key: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

/// A key whose change must be reported to a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AffectedSubscriber {
    /// The node.
    pub(super) node: Arc<str>,
    /// The key in the form of the tree.
    pub(super) key: Arc<str>,
}

impl ParamSubscribers {
    /// Adds a node's subscription to a key.
    pub(super) fn add(&mut self, key: &str, node: &str) {
        self.of_key.entry(key.into()).or_default().insert(node.into());
    }

    /// Removes a node's subscription to a key.
    pub(super) fn remove(&mut self, key: &str, node: &str) {
        let Some(nodes) = self.of_key.get_mut(key) else { return };
        nodes.remove(node);
        if nodes.is_empty() {
            self.of_key.remove(key);
        }
    }

    /// Whether a node subscribes to a key or to a namespace around it.
    pub(super) fn covers(&self, node: &str, key: &str) -> bool {
        upwards(key).any(|around| self.of_key.get(around).is_some_and(|nodes| nodes.contains(node)))
    }

    /// The nodes affected by a change of a key. Subscribers of the key or of a namespace around it get the key
    /// itself, except the node that set it. Subscribers of a key below it get that key.
    pub(super) fn affected(&self, key: &str, setter: Option<&str>) -> Vec<AffectedSubscriber> {
        let shared: Arc<str> = key.into();
        let around = upwards(key).filter_map(|around| self.of_key.get(around)).flatten();
        let others = around.filter(|node| setter != Some(&***node)).cloned();
        let mut affected: BTreeSet<AffectedSubscriber> =
            others.map(|node| AffectedSubscriber { node, key: shared.clone() }).collect();
        for (below, nodes) in self.below(key) {
            affected.extend(
                nodes.iter().map(|node| AffectedSubscriber { node: node.clone(), key: below.clone() }),
            );
        }
        affected.into_iter().collect()
    }

    fn below(&self, key: &str) -> impl Iterator<Item = (&Arc<str>, &BTreeSet<Arc<str>>)> {
        let prefix = format!("{}/", key.strip_suffix('/').unwrap_or(key));
        let from = self.of_key.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        from.take_while(move |(below, _)| below.starts_with(&prefix))
            .filter(move |(below, _)| ***below != *key)
    }
}

/// A key and the namespaces around it, up to the root.
fn upwards(key: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(key), |inner| match inner.rfind('/') {
        Some(0) if *inner != "/" => Some("/"),
        Some(slash) if slash > 0 => inner.get(..slash),
        _ => None,
    })
}

/// A key in the form of `paramUpdate`: with a slash at its end.
pub(super) fn update_key(key: &str) -> String {
    if key.ends_with('/') { key.to_owned() } else { format!("{key}/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn affected_by(param_subscribers: &ParamSubscribers, key: &str, setter: &str) -> Vec<(String, String)> {
        let affected = param_subscribers.affected(key, Some(setter));
        affected.into_iter().map(|affected| (affected.node.to_string(), affected.key.to_string())).collect()
    }

    fn pairs(table: &[(&str, &str)]) -> Vec<(String, String)> {
        table.iter().map(|(node, key)| ((*node).to_owned(), (*key).to_owned())).collect()
    }

    fn watching(table: &[(&str, &str)]) -> ParamSubscribers {
        let mut param_subscribers = ParamSubscribers::default();
        table.iter().for_each(|(node, key)| param_subscribers.add(key, node));
        param_subscribers
    }

    #[test]
    fn change_reaches_subscribers_above_and_below() {
        let param_subscribers =
            watching(&[("/a", "/n"), ("/b", "/n/x"), ("/d", "/"), ("/e", "/nx"), ("/f", "/n/x/y")]);
        let all = [("/a", "/n/x"), ("/b", "/n/x"), ("/d", "/n/x"), ("/f", "/n/x/y")];
        assert_eq!(affected_by(&param_subscribers, "/n/x", "/s"), pairs(&all));
        let root = [("/a", "/n"), ("/b", "/n/x"), ("/d", "/"), ("/e", "/nx"), ("/f", "/n/x/y")];
        assert_eq!(affected_by(&param_subscribers, "/", "/s"), pairs(&root));
        assert_eq!(affected_by(&param_subscribers, "/other", "/s"), pairs(&[("/d", "/other")]));
    }

    #[test]
    fn setter_gets_only_keys_below() {
        let param_subscribers = watching(&[("/w", "/n"), ("/w", "/n/x"), ("/w", "/")]);
        assert_eq!(affected_by(&param_subscribers, "/n", "/w"), pairs(&[("/w", "/n/x")]));
        assert_eq!(affected_by(&param_subscribers, "/n/x", "/w"), []);
        assert_eq!(affected_by(&param_subscribers, "/", "/w"), pairs(&[("/w", "/n"), ("/w", "/n/x")]));
    }

    #[test]
    fn unsubscribed_node_gets_no_update() {
        let mut param_subscribers = watching(&[("/a", "/n"), ("/a", "/n/x")]);
        assert!(
            param_subscribers.covers("/a", "/n/y/z")
                && !param_subscribers.covers("/a", "/m")
                && !param_subscribers.covers("/b", "/n")
        );
        param_subscribers.remove("/n", "/a");
        assert!(!param_subscribers.covers("/a", "/n/y") && param_subscribers.covers("/a", "/n/x/y"));
        param_subscribers.remove("/n/x", "/a");
        assert_eq!(affected_by(&param_subscribers, "/n", "/s"), []);
    }

    #[test]
    fn update_keys_end_with_slash() {
        assert_eq!(update_key("/"), "/");
        assert_eq!(update_key("/a/b"), "/a/b/");
    }
}
