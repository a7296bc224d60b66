//! Remapping of resolved names.

use super::{NameError, clean_namespace, resolve, split};
use alloc::string::String;
use alloc::vec::Vec;

/// One unresolved rule: `from:=to`, in ROS 2 possibly for one node only (`node:from:=to`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemapRule {
    /// The node it is for; `None` for every node.
    pub node: Option<String>,
    /// The name to replace; `__node` and `__ns` are the node's own name and namespace.
    pub from: String,
    /// The name to use instead.
    pub to: String,
}

impl RemapRule {
    /// Whether the rule is for the node called `node`.
    pub fn applies_to(&self, node: &str) -> bool {
        self.node.as_deref().is_none_or(|only| only == node)
    }
}

/// The rules of one node, with both sides resolved in its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remapping {
    rules: Vec<(String, String)>,
}

impl Remapping {
    /// Resolves the rules that are for the node `namespace`/`node_name`.
    ///
    /// # Errors
    /// If a side of a rule is not a name.
    pub fn new<'a>(
        rules: impl IntoIterator<Item = &'a RemapRule>,
        namespace: &str,
        node_name: &str,
    ) -> Result<Self, NameError> {
        let names =
            rules.into_iter().filter(|rule| rule.applies_to(node_name) && !rule.from.starts_with("__"));
        let resolved = |name: &str| resolve(namespace, node_name, name);
        let rules = names.map(|rule| Ok((resolved(&rule.from)?, resolved(&rule.to)?)));
        Ok(Self { rules: rules.collect::<Result<_, NameError>>()? })
    }

    /// Remaps a resolved name by the first rule for it; returns it unchanged without one.
    pub fn remap<'a>(&'a self, resolved: &'a str) -> &'a str {
        let rule = self.rules.iter().find(|(from, _)| from == resolved);
        rule.map_or(resolved, |(_, to)| to)
    }

    /// The rules, both sides resolved.
    pub fn rules(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.iter().map(|(from, to)| (from.as_str(), to.as_str()))
    }
}

/// The namespace and name that a node gets which its program calls `default` (a name, or an absolute one), by rules for it
/// only, or else by the rules for every node.
pub(super) fn node_identity(
    rules: &[RemapRule],
    (namespace, name): (Option<&str>, Option<&str>),
    default: &str,
) -> (String, String) {
    let (default_namespace, default_name) = split(default);
    let rule_for = |from: &str| rules.iter().find(|rule| rule.from == from && rule.applies_to(default_name));
    let own_name = rule_for("__node").map(|rule| rule.to.as_str());
    let name = own_name.or(name).unwrap_or(default_name);
    let own = rule_for("__ns").map(|rule| rule.to.as_str());
    (clean_namespace(own.or(namespace).unwrap_or(default_namespace)), name.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn rule(node: Option<&str>, from: &str, to: &str) -> RemapRule {
        RemapRule { node: node.map(ToString::to_string), from: from.into(), to: to.into() }
    }

    #[test]
    fn rule_is_resolved_in_node_namespace() {
        let rules = [rule(None, "chatter", "talk"), rule(None, "~x", "/x"), rule(None, "/abs", "rel")];
        let remapping = Remapping::new(&rules, "/ns", "node").unwrap();
        assert_eq!(remapping.remap("/ns/chatter"), "/ns/talk");
        assert_eq!(remapping.remap("/ns/node/x"), "/x");
        assert_eq!(remapping.remap("/abs"), "/ns/rel");
        assert_eq!(remapping.remap("/chatter"), "/chatter");
        assert_eq!(remapping.rules().count(), 3);
    }

    #[test]
    fn rules_are_not_chained() {
        let rules = [rule(None, "a", "b"), rule(None, "b", "a")];
        let remapping = Remapping::new(&rules, "/", "node").unwrap();
        assert_eq!((remapping.remap("/a"), remapping.remap("/b")), ("/b", "/a"));
    }

    #[test]
    fn rule_for_one_node_does_not_affect_others() {
        let rules = [rule(Some("other"), "a", "b"), rule(Some("node"), "a", "c")];
        assert_eq!(Remapping::new(&rules, "/", "node").unwrap().remap("/a"), "/c");
        assert_eq!(Remapping::new(&rules, "/", "third").unwrap().remap("/a"), "/a");
    }

    #[test]
    fn invalid_rule_is_named() {
        let error = Remapping::new(&[rule(None, "a", "b c")], "/", "node").unwrap_err();
        assert_eq!(error.name, "b c");
    }
}
