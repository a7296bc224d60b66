//! Publishers, subscribers and services according to the master.

use std::collections::{BTreeMap, BTreeSet};

use runnel_ros1::xmlrpc::Value;

use super::answers::text;

/// Publishers, subscribers and services: the nodes of each name, in the master's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemState {
    /// Topics that are published.
    pub publishers: BTreeMap<String, Vec<String>>,
    /// Topics that are subscribed to.
    pub subscribers: BTreeMap<String, Vec<String>>,
    /// Services.
    pub services: BTreeMap<String, Vec<String>>,
}

/// Names with their nodes, in the master's order.
pub type Holders = Vec<(String, Vec<String>)>;

/// The same in the master's order, in which the original commands print it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Topics that are published.
    pub publishers: Holders,
    /// Topics that are subscribed to.
    pub subscribers: Holders,
    /// Services.
    pub services: Holders,
}

impl From<Listing> for SystemState {
    fn from(listing: Listing) -> Self {
        Self {
            publishers: BTreeMap::from_iter(listing.publishers),
            subscribers: BTreeMap::from_iter(listing.subscribers),
            services: BTreeMap::from_iter(listing.services),
        }
    }
}

impl SystemState {
    /// All topics, published or not, in order.
    pub fn topics(&self) -> BTreeSet<&str> {
        self.publishers.keys().chain(self.subscribers.keys()).map(String::as_str).collect()
    }

    /// All nodes in order.
    pub fn nodes(&self) -> BTreeSet<&str> {
        let all = [&self.publishers, &self.subscribers, &self.services];
        all.into_iter().flat_map(BTreeMap::values).flatten().map(String::as_str).collect()
    }

    /// Keeps only what `later` has too.
    pub fn keep_common(&mut self, later: &Self) {
        let keep = |holders: &mut BTreeMap<String, Vec<String>>, later: &BTreeMap<String, Vec<String>>| {
            holders.retain(|name, nodes| {
                let later = later.get(name).map(Vec::as_slice).unwrap_or_default();
                nodes.retain(|node| later.contains(node));
                !nodes.is_empty()
            });
        };
        keep(&mut self.publishers, &later.publishers);
        keep(&mut self.subscribers, &later.subscribers);
        keep(&mut self.services, &later.services);
    }
}

/// The names that list `node`, in order.
pub fn names_of(holders: &BTreeMap<String, Vec<String>>, node: &str) -> Vec<String> {
    let held = holders.iter().filter(|(_, nodes)| nodes.iter().any(|name| name == node));
    held.map(|(name, _)| name.clone()).collect()
}

/// True if `name` is `namespace` or below it.
pub fn is_within(name: &str, namespace: &str) -> bool {
    let rest = name.strip_prefix(namespace.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reads the three parts of the system state.
pub(super) fn read_state(state: &Value) -> Option<Listing> {
    let [publishers, subscribers, services] = state.as_array()? else { return None };
    Some(Listing {
        publishers: read_holders(publishers)?,
        subscribers: read_holders(subscribers)?,
        services: read_holders(services)?,
    })
}

/// Reads `[[name, [node, ..]], ..]`.
fn read_holders(value: &Value) -> Option<Holders> {
    let holder = |row: &Value| {
        let [name, nodes] = row.as_array()? else { return None };
        let nodes: Option<Vec<String>> = nodes.as_array()?.iter().map(text).collect();
        Some((text(name)?, nodes?))
    };
    value.as_array()?.iter().map(holder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(values: Vec<Value>) -> Value {
        values.into()
    }

    #[test]
    fn system_state_is_read() {
        let nodes = list(vec!["/b".into(), "/a".into()]);
        let state = list(vec![list(vec![list(vec!["/t".into(), nodes])]), list(vec![]), list(vec![])]);
        let state = SystemState::from(read_state(&state).expect("a state"));
        assert_eq!(state.publishers["/t"], ["/b", "/a"]);
        assert!(state.nodes().into_iter().eq(["/a", "/b"]));
        assert!(state.topics().into_iter().eq(["/t"]));
        assert_eq!(names_of(&state.publishers, "/a"), ["/t"]);
        assert_eq!(names_of(&state.publishers, "/c"), [""; 0]);
    }

    #[test]
    fn malformed_state_is_refused() {
        assert_eq!(read_state(&list(vec![list(vec![]), list(vec![])])), None);
        let rows = list(vec![list(vec!["/t".into()])]);
        assert_eq!(read_state(&list(vec![rows, list(vec![]), list(vec![])])), None);
    }

    #[test]
    fn common_state_has_nodes_of_both() {
        let holders = |rows: &[(&str, &[&str])]| {
            let row = |(name, nodes): &(&str, &[&str])| {
                ((*name).to_owned(), nodes.iter().map(|node| (*node).to_owned()).collect())
            };
            rows.iter().map(row).collect()
        };
        let publishers = holders(&[("/gone", &["/a"]), ("/t", &["/a", "/b"])]);
        let mut state = SystemState { publishers, ..SystemState::default() };
        let publishers = holders(&[("/new", &["/a"]), ("/t", &["/c", "/b"])]);
        state.keep_common(&SystemState { publishers, ..SystemState::default() });
        assert_eq!(state.publishers, holders(&[("/t", &["/b"])]));
        assert!(state.subscribers.is_empty() && state.services.is_empty());
    }

    #[test]
    fn namespace_contains_itself_and_names_below() {
        assert!(
            is_within("/a/b", "/a")
                && is_within("/a", "/a")
                && is_within("/a", "/")
                && is_within("/a/b", "/a/")
        );
        assert!(!is_within("/ab", "/a") && !is_within("/", "/a"));
    }
}
