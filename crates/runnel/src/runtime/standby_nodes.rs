//! The nodes that stand by to take the place of nodes of the same names.

use std::any::Any;
use std::sync::{Arc, Weak};

use crate::sync::{Class, Mutex, lock};

/// See the module's documentation. `None` if nodes do not stand by, or no longer.
pub(crate) struct StandbyNodes(Mutex<Option<Vec<Weak<dyn Any + Send + Sync>>>>);

impl StandbyNodes {
    pub(crate) fn new(stand_by: bool) -> Self {
        Self(Mutex::new(Class::StandbyNodes, stand_by.then(Vec::new)))
    }

    /// Whether nodes stand by.
    pub(crate) fn stand_by(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// Adds a node. False if nodes do not stand by.
    pub(crate) fn add(&self, node: Weak<dyn Any + Send + Sync>) -> bool {
        lock(&self.0).as_mut().map(|nodes| nodes.push(node)).is_some()
    }

    /// Takes the nodes, which no longer stand by.
    pub(crate) fn take(&self) -> Vec<Arc<dyn Any + Send + Sync>> {
        let nodes = lock(&self.0).take().unwrap_or_default();
        nodes.iter().filter_map(Weak::upgrade).collect()
    }
}
