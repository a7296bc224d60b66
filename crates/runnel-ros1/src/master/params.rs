//! Parameter tree.

use core::fmt;
use std::collections::BTreeMap;

use crate::xmlrpc::Value;

use super::limits::{Limit, MasterLimits};
use super::measure::{self, Size, depth, named, size};

/// All parameters, as a tree whose inner values are structs.
#[derive(Debug)]
pub(super) struct Params {
    root: Value,
    held: Size,
}

/// A change of a parameter or namespace.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamChange {
    /// Its key.
    pub key: String,
    /// Its value, which replaces everything at the key and below it; `None` if it was deleted.
    pub value: Option<Value>,
}

/// Persistent storage of parameters, such as a file.
pub trait ParamStore: fmt::Debug + Send {
    /// Stores a change. `present` holds all current parameters. `value` replaces everything at `key` and below it;
    /// `None` deletes it. The master makes the change and answers the caller only afterwards.
    ///
    /// # Errors
    /// Reason why the change is not stored. The caller gets it as an error, and the parameters stay unchanged.
    fn store(&mut self, key: &str, value: Option<&Value>, present: Option<&Value>) -> Result<(), String>;
}

/// Reason why a parameter was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetError {
    /// The root can only be a struct.
    Root,
    /// The tree would exceed a limit.
    Limit(Limit),
}

/// A change that [`Params::check`] has accepted. It is valid until the tree changes.
#[derive(Debug)]
pub(super) struct Checked<'a> {
    key: &'a str,
    value: &'a Value,
    size: Size,
}

impl Default for Params {
    fn default() -> Self {
        let root = Value::Struct(BTreeMap::new());
        Self { held: size(&root), root }
    }
}

/// The segments of a resolved key. Text before the first slash is ignored, as in rosmaster. It is empty unless the
/// caller's name has no leading slash.
pub(super) fn segments(key: &str) -> impl Iterator<Item = &str> {
    key.split('/').skip(1).filter(|segment| !segment.is_empty())
}

/// A resolved key in the form of the tree: the root is `/`, all others have no slash at the end.
pub(super) fn tree_key(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for segment in segments(key) {
        out.push('/');
        out.push_str(segment);
    }
    if out.is_empty() {
        out.push('/');
    }
    out
}

impl Params {
    /// Size of the tree.
    pub(super) fn held(&self) -> Size {
        self.held
    }

    /// The value of a key, or the struct of all values below it.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        segments(key).try_fold(&self.root, |value, segment| match value {
            Value::Struct(members) => members.get(segment),
            _ => None,
        })
    }

    /// Sets a key, replacing everything at it and below it. A plain value in the path becomes a namespace.
    pub(super) fn set(&mut self, checked: Checked<'_>) {
        let Checked { key, value, size } = checked;
        let mut path = segments(key).peekable();
        if path.peek().is_none() {
            self.root = value.clone();
            self.held = size;
            return;
        }
        let mut here = &mut self.root;
        while let Some(segment) = path.next() {
            let Value::Struct(members) = here else { return };
            if path.peek().is_none() {
                self.held += size.named(segment);
                if let Some(old) = members.insert(segment.to_owned(), value.clone()) {
                    self.held -= named(segment, &old);
                }
                return;
            }
            here = namespace(members, segment, &mut self.held);
        }
    }

    /// Checks whether a key may be set.
    ///
    /// # Errors
    /// If the root would become anything but a struct, or a limit would be exceeded.
    pub(super) fn check<'a>(
        &self,
        key: &'a str,
        value: &'a Value,
        limits: &MasterLimits,
    ) -> Result<Checked<'a>, SetError> {
        let size = size(value);
        self.admit(key, value, size, limits).map_err(SetError::Limit)?;
        let sets_root = segments(key).next().is_none();
        if sets_root && !matches!(value, Value::Struct(_)) {
            return Err(SetError::Root);
        }
        Ok(Checked { key, value, size })
    }

    /// Whether a key is set and is not the root.
    pub(super) fn can_delete(&self, key: &str) -> bool {
        segments(key).next().is_some() && self.get(key).is_some()
    }

    /// Deletes a key and everything below it. False if it was not set; the root cannot be deleted.
    pub(super) fn delete(&mut self, key: &str) -> bool {
        let path: Vec<&str> = segments(key).collect();
        let Some((last, parents)) = path.split_last() else { return false };
        let parent = parents.iter().try_fold(&mut self.root, |value, segment| match value {
            Value::Struct(members) => members.get_mut(*segment),
            _ => None,
        });
        let Some(Value::Struct(members)) = parent else { return false };
        let Some(old) = members.remove(*last) else { return false };
        self.held -= named(last, &old);
        true
    }

    /// Resolves a relative key. The first namespace from the caller's upwards that has its first segment decides,
    /// even if the rest is not set there. A global key must be set itself.
    pub(super) fn search(&self, namespace: &str, key: &str) -> Option<String> {
        if key.starts_with('/') {
            return self.get(key).map(|_| key.to_owned());
        }
        let first = key.split('/').next().unwrap_or(key);
        let within = |space: &str| {
            let space = space.strip_suffix('/').unwrap_or(space);
            self.get(&format!("{space}/{first}")).map(|_| format!("{space}/{key}"))
        };
        let above: Vec<&str> = segments(namespace).collect();
        let mut upwards = (0..above.len()).rev().filter_map(|depth| above.get(..depth));
        within(namespace).or_else(|| {
            upwards.find_map(|spaces| {
                within(&spaces.iter().map(|space| format!("/{space}")).collect::<String>())
            })
        })
    }

    /// The keys of all values that are not structs.
    pub(super) fn names(&self) -> Vec<Value> {
        let mut names = Vec::new();
        collect_names(&self.root, &mut String::new(), &mut names);
        names
    }

    /// Checks a change against the limits. It counts every namespace in the path as new, so it may overestimate.
    fn admit(&self, key: &str, value: &Value, added: Size, limits: &MasterLimits) -> Result<(), Limit> {
        if segments(key).count() + depth(value) > limits.param_depth {
            return Err(Limit::ParamDepth(limits.param_depth));
        }
        let mut after = self.held;
        after -= self.get(key).map(size).unwrap_or_default();
        after += added;
        segments(key).for_each(|segment| after += measure::namespace(segment));
        if after.bytes > limits.param_bytes {
            return Err(Limit::ParamBytes(limits.param_bytes));
        }
        if after.values > limits.param_values {
            return Err(Limit::ParamValues(limits.param_values));
        }
        Ok(())
    }
}

/// The namespace of a name, which is created if missing and replaces a plain value.
fn namespace<'a>(members: &'a mut BTreeMap<String, Value>, name: &str, held: &mut Size) -> &'a mut Value {
    let value = members.entry(name.to_owned()).or_insert_with(|| {
        *held += measure::namespace(name);
        Value::Struct(BTreeMap::new())
    });
    if !matches!(value, Value::Struct(_)) {
        *held -= size(value);
        *value = Value::Struct(BTreeMap::new());
        *held += size(value);
    }
    value
}

fn collect_names(value: &Value, path: &mut String, names: &mut Vec<Value>) {
    let Value::Struct(members) = value else {
        names.push(Value::from(path.as_str()));
        return;
    };
    for (name, member) in members {
        let length = path.len();
        path.push('/');
        path.push_str(name);
        collect_names(member, path, names);
        path.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(members: &[(&str, Value)]) -> Value {
        Value::Struct(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }

    fn set(params: &mut Params, key: &str, value: &Value, limits: &MasterLimits) -> Result<(), SetError> {
        params.check(key, value, limits).map(|checked| params.set(checked))
    }

    fn with(entries: &[(&str, Value)]) -> Params {
        let mut params = Params::default();
        for (key, value) in entries {
            assert_eq!(set(&mut params, key, value, &MasterLimits::default()), Ok(()), "{key}");
        }
        params
    }

    fn assert_counted(params: &Params) {
        assert_eq!(params.held, size(&params.root));
    }

    #[test]
    fn values_are_found_by_namespace() {
        let inner = tree(&[("c", 1.into()), ("d", tree(&[("e", 2.into())]))]);
        let params = with(&[("/p", 1.into()), ("/n/a", 1.into()), ("/n/b", inner)]);
        assert_eq!(params.get("/n/b/d/e"), Some(&2.into()));
        assert_eq!(params.get("/n/b/d/"), Some(&tree(&[("e", 2.into())])));
        assert_eq!(params.get("//n//a"), Some(&1.into()));
        assert_eq!(params.get("/n/b/d/e/f"), None);
        assert_eq!(params.get("/p/q"), None);
        assert_eq!(params.names(), ["/n/a", "/n/b/c", "/n/b/d/e", "/p"].map(Value::from));
        assert_counted(&params);
    }

    #[test]
    fn value_is_replaced_entirely() {
        let mut params = with(&[("/m", tree(&[("a", 1.into())])), ("/m", tree(&[("b", "x".into())]))]);
        assert_eq!(params.get("/m"), Some(&tree(&[("b", "x".into())])));
        assert_eq!(set(&mut params, "/m/b/c", &7.into(), &MasterLimits::default()), Ok(()));
        assert_eq!(params.get("/m"), Some(&tree(&[("b", tree(&[("c", 7.into())]))])));
        assert_eq!(set(&mut params, "/m", &"short".into(), &MasterLimits::default()), Ok(()));
        assert_eq!(params.names(), [Value::from("/m")]);
        assert_counted(&params);
    }

    #[test]
    fn root_is_struct_and_cannot_be_deleted() {
        let mut params = with(&[("/a", 1.into()), ("/", tree(&[("b", 2.into())]))]);
        assert_eq!(set(&mut params, "//", &3.into(), &MasterLimits::default()), Err(SetError::Root));
        assert_eq!(params.get("/"), Some(&tree(&[("b", 2.into())])));
        assert!(!params.delete("/"));
        assert_counted(&params);
    }

    #[test]
    fn deleted_key_leaves_empty_namespace() {
        let mut params = with(&[("/p/q", 7.into()), ("/s", 1.into())]);
        assert!(params.delete("/p/q/") && !params.delete("/p/q") && !params.delete("/s/t"));
        assert_eq!(params.get("/p"), Some(&tree(&[])));
        assert_eq!(params.names(), [Value::from("/s")]);
        assert!(params.delete("/p") && params.get("/p").is_none());
        assert_counted(&params);
    }

    #[test]
    fn search_goes_upwards_by_first_segment() {
        let b = tree(&[("c", 1.into()), ("k", 2.into())]);
        let a = tree(&[("b", b), ("k", 3.into()), ("p", tree(&[("q", 1.into())]))]);
        let params = with(&[("/a", a), ("/k", 4.into()), ("/p", tree(&[("q", 2.into()), ("r", 3.into())]))]);
        let table = [
            ("/a/b/n", "k", "/a/b/k"),
            ("/a/b/n", "p/r", "/a/p/r"),
            ("/a/b/n", "p/zz", "/a/p/zz"),
            ("/a/b/n", "/k", "/k"),
            ("/a/b/n", "b/c", "/a/b/c"),
            ("/a/b/n", "k//", "/a/b/k//"),
            ("/a", "p/q", "/a/p/q"),
            ("/", "k/", "/k/"),
            ("/z/y", "a/b", "/a/b"),
            ("//a/b", "k", "//a/b/k"),
            ("//a/b", "p", "/a/p"),
            ("/a//b", "c", "/a//b/c"),
            ("/a/b/", "k", "/a/b/k"),
            ("/x", "/", "/"),
        ];
        for (namespace, key, found) in table {
            assert_eq!(params.search(namespace, key).as_deref(), Some(found), "{key} from {namespace}");
        }
        for (namespace, key) in [("/a/b/n", "zz"), ("/a/b/n", "/zz"), ("/a", "c"), ("/", "b/c")] {
            assert_eq!(params.search(namespace, key), None, "{key} from {namespace}");
        }
    }

    #[test]
    fn exceeded_limit_is_named_and_changes_nothing() {
        let limits = MasterLimits { param_bytes: 400, param_values: 6, param_depth: 4, ..Default::default() };
        let mut params = Params::default();
        assert_eq!(set(&mut params, "/a/b/c", &1.into(), &limits), Ok(()));
        assert_eq!(
            set(&mut params, "/a/b/c/d", &1.into(), &limits),
            Err(SetError::Limit(Limit::ParamDepth(4)))
        );
        let long = Value::from("x".repeat(400));
        assert_eq!(set(&mut params, "/s", &long, &limits), Err(SetError::Limit(Limit::ParamBytes(400))));
        let many = Value::Array(vec![1.into(); 4]);
        assert_eq!(set(&mut params, "/s", &many, &limits), Err(SetError::Limit(Limit::ParamValues(6))));
        assert_eq!(params.names(), [Value::from("/a/b/c")]);
        assert_counted(&params);
    }

    #[test]
    fn text_before_first_slash_is_ignored() {
        let params = with(&[("a/k", 1.into())]);
        assert_eq!(params.get("/k"), Some(&1.into()));
        assert_eq!(tree_key("a/k//"), "/k");
        assert_eq!(tree_key("a"), "/");
    }
}
