//! Who is told when parameters change.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// The nodes that subscribed to each parameter or namespace, by keys as the tree knows them.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    of_key: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

/// That a node must be told of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Touched {
    /// The node.
    pub(super) node: Arc<str>,
    /// The key as the tree knows it.
    pub(super) key: Arc<str>,
}

impl Watchers {
    /// Notes that a node subscribed to a key.
    pub(super) fn add(&mut self, key: &str, node: &str) {
        self.of_key.entry(key.into()).or_default().insert(node.into());
    }

    /// Notes that a node no longer subscribes to a key.
    pub(super) fn remove(&mut self, key: &str, node: &str) {
        let Some(nodes) = self.of_key.get_mut(key) else { return };
        nodes.remove(node);
        if nodes.is_empty() {
            self.of_key.remove(key);
        }
    }

    /// Whether a node is to be told of a key: it subscribed to it or to a namespace around it.
    pub(super) fn covers(&self, node: &str, key: &str) -> bool {
        upwards(key).any(|around| self.of_key.get(around).is_some_and(|nodes| nodes.contains(node)))
    }

    /// Whom a change of a key concerns: who subscribed to it or to a namespace around it is told of the key
    /// itself, but not the one that set it; who subscribed to a key below is told of that one.
    pub(super) fn touched(&self, key: &str, setter: Option<&str>) -> Vec<Touched> {
        let shared: Arc<str> = key.into();
        let around = upwards(key).filter_map(|around| self.of_key.get(around)).flatten();
        let others = around.filter(|node| setter != Some(&***node)).cloned();
        let mut touched: BTreeSet<Touched> =
            others.map(|node| Touched { node, key: shared.clone() }).collect();
        for (below, nodes) in self.below(key) {
            touched.extend(nodes.iter().map(|node| Touched { node: node.clone(), key: below.clone() }));
        }
        touched.into_iter().collect()
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

/// A key as `paramUpdate` gives it: with a slash at its end.
pub(super) fn update_key(key: &str) -> String {
    if key.ends_with('/') { key.to_owned() } else { format!("{key}/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(watchers: &Watchers, key: &str, setter: &str) -> Vec<(String, String)> {
        let touched = watchers.touched(key, Some(setter));
        touched.into_iter().map(|touched| (touched.node.to_string(), touched.key.to_string())).collect()
    }

    fn pairs(table: &[(&str, &str)]) -> Vec<(String, String)> {
        table.iter().map(|(node, key)| ((*node).to_owned(), (*key).to_owned())).collect()
    }

    fn watching(table: &[(&str, &str)]) -> Watchers {
        let mut watchers = Watchers::default();
        table.iter().for_each(|(node, key)| watchers.add(key, node));
        watchers
    }

    #[test]
    fn a_change_reaches_who_watches_it_around_it_and_below_it() {
        let watchers =
            watching(&[("/a", "/n"), ("/b", "/n/x"), ("/d", "/"), ("/e", "/nx"), ("/f", "/n/x/y")]);
        let all = [("/a", "/n/x"), ("/b", "/n/x"), ("/d", "/n/x"), ("/f", "/n/x/y")];
        assert_eq!(told(&watchers, "/n/x", "/s"), pairs(&all));
        let root = [("/a", "/n"), ("/b", "/n/x"), ("/d", "/"), ("/e", "/nx"), ("/f", "/n/x/y")];
        assert_eq!(told(&watchers, "/", "/s"), pairs(&root));
        assert_eq!(told(&watchers, "/other", "/s"), pairs(&[("/d", "/other")]));
    }

    #[test]
    fn the_setter_is_told_only_of_keys_below() {
        let watchers = watching(&[("/w", "/n"), ("/w", "/n/x"), ("/w", "/")]);
        assert_eq!(told(&watchers, "/n", "/w"), pairs(&[("/w", "/n/x")]));
        assert_eq!(told(&watchers, "/n/x", "/w"), []);
        assert_eq!(told(&watchers, "/", "/w"), pairs(&[("/w", "/n"), ("/w", "/n/x")]));
    }

    #[test]
    fn who_left_is_not_told() {
        let mut watchers = watching(&[("/a", "/n"), ("/a", "/n/x")]);
        assert!(
            watchers.covers("/a", "/n/y/z") && !watchers.covers("/a", "/m") && !watchers.covers("/b", "/n")
        );
        watchers.remove("/n", "/a");
        assert!(!watchers.covers("/a", "/n/y") && watchers.covers("/a", "/n/x/y"));
        watchers.remove("/n/x", "/a");
        assert_eq!(told(&watchers, "/n", "/s"), []);
    }

    #[test]
    fn the_keys_of_updates_end_in_a_slash() {
        assert_eq!(update_key("/"), "/");
        assert_eq!(update_key("/a/b"), "/a/b/");
    }
}
