//! The definitions that are known, and the types that are asked for.

use std::collections::BTreeMap;

use runnel::core::schema::Generation;
use runnel_bag::Schema;

/// A type as a publisher names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeKey {
    /// The generation of the messages.
    pub generation: Generation,
    /// The name as that generation spells it.
    pub name: String,
    /// MD5 sum in ROS 1, type hash in ROS 2; empty or `*` if it is unknown.
    pub sum: String,
}

/// The definitions that were found, and the types that are asked for.
#[derive(Debug, Default)]
pub struct KnownDefinitions(BTreeMap<TypeKey, Option<Schema>>);

impl KnownDefinitions {
    /// Remembers that a type is asked for. False if it was asked for before.
    pub fn ask(&mut self, key: &TypeKey) -> bool {
        if self.0.contains_key(key) {
            return false;
        }
        self.0.insert(key.clone(), None);
        true
    }

    /// Remembers a definition; an empty one if it cannot be found.
    pub fn define(&mut self, key: TypeKey, definition: Schema) {
        self.0.insert(key, Some(definition));
    }

    /// The definition of a type, if it is known.
    pub fn get(&self, key: &TypeKey) -> Option<&Schema> {
        self.0.get(key)?.as_ref()
    }
}
