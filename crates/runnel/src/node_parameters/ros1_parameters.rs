//! A node's own parameters at the ROS 1 parameter server: their keys, and values that are there before the declaration.

use runnel_core::names;
use runnel_ros1::xmlrpc::Value;

use super::ros1_integers::with_large_integers;
use crate::error::Error;
use crate::node::{Node, NodeInner};
use crate::parameters::Override;
use crate::settings::environment::Graphs;
use crate::time::ros_clock::USE_SIM_TIME_ROS2;

/// Parameters of the library that only ROS 2 has.
const ROS2_ONLY: [&str; 2] = [USE_SIM_TIME_ROS2, "start_type_description_service"];

impl Node {
    /// The value that the master has for a parameter that is to be declared.
    ///
    /// # Errors
    /// If the context ends during the wait for a master.
    pub(crate) fn override_at_master(&self, name: &str) -> Result<Option<Override>, Error> {
        let parameters = self.inner.parameters();
        if parameters.override_of(name).is_some() || parameters.has(name) {
            return Ok(None);
        }
        let Some(key) = self.inner.master_key(name).filter(|_| !self.inner.is_without_master()) else {
            return Ok(None);
        };
        // A deletion that is under way, of an earlier parameter of this name, counts as done.
        if self.inner.engine(&mut self.inner.driver(), |node, _| node.is_deleting_parameter(&key))? {
            return Ok(None);
        }
        match self.query_master("getParam", &[key.as_str().into()]) {
            // Parameters below the name give it no value.
            Ok((false, _) | (true, Value::Struct(_))) => Ok(None),
            Ok((true, value)) => {
                self.inner
                    .engine(&mut self.inner.driver(), |node, _| node.adopt_parameter(&key, value.clone()))?;
                let origin = "parameter server".to_owned();
                Ok(Some(Override { value: with_large_integers(value.into()), origin }))
            }
            // A node in both graphs goes on without a master, and registers the parameter when there is one.
            Err(Error::NoMaster { .. }) => Ok(None),
            Err(Error::Call(why)) if !self.inner.waits_for_master(&why) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl NodeInner {
    /// Whether the node is in both graphs, and known to have no master.
    fn is_without_master(&self) -> bool {
        let driver = self.driver();
        let slot = driver.nodes.get(self.key);
        let is_missing = slot.is_some_and(|slot| slot.unreachable.is_some() || slot.awaits_master);
        is_missing && self.context.graphs() == Graphs::Both
    }

    /// Whether a parameter of a node in both graphs is kept from the master: `use_sim_time` there is that of all nodes.
    pub(crate) fn is_kept_from_master(&self, name: &str) -> bool {
        self.context.graphs() == Graphs::Both && ROS2_ONLY.contains(&name)
    }

    /// The key of a parameter at the master; `None` if it is not there: outside of ROS 1, or with a name that ROS 1 does
    /// not have.
    pub(super) fn master_key(&self, name: &str) -> Option<String> {
        let is_mirrored = self.is_in_ros1() && !name.contains('/') && !ROS2_ONLY.contains(&name);
        let private = is_mirrored.then(|| format!("~{}", name.replace('.', "/")))?;
        names::resolve(&self.namespace, &self.name, &private).ok()
    }
}
