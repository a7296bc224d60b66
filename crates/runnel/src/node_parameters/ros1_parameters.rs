//! A node's own parameters at the parameter server of ROS 1, below the node's private name. Changes go both ways.

use std::sync::{Arc, Weak};

use runnel_core::names;
use runnel_core::sorted::SortedMap;
use runnel_ros1::xmlrpc::Value;

use crate::callback_group::CallbackGroup;
use crate::data::WatchCore;
use crate::error::Error;
use crate::node::{Node, NodeInner};
use crate::node_parameters::params::ros1_value;
use crate::parameters::parameter_value::ParameterValue;
use crate::parameters::{Change, NodeParameters, Override, Parameter, fitted};
use crate::settings::environment::Graphs;
use crate::sync::{Class, Mutex, lock};
use crate::time::ros_clock::USE_SIM_TIME_ROS2;

/// Parameters of the library that only ROS 2 has.
const ROS2_ONLY: [&str; 2] = [USE_SIM_TIME_ROS2, "start_type_description_service"];

/// A node's parameters and their values at the master.
struct Mirror {
    node: Weak<NodeInner>,
    /// The values that the master has, as far as is known, by keys. They tell changes of others from the echo of ours.
    at_master: Mutex<SortedMap<String, ParameterValue>>,
}

impl Node {
    /// The value that the master has for a parameter that is to be declared.
    ///
    /// # Errors
    /// If the context ends during the wait for a master.
    pub(crate) fn override_at_master(&self, name: &str) -> Result<Option<Override>, Error> {
        let parameters = self.inner.parameters()?;
        if parameters.override_of(name).is_some() || parameters.has(name) {
            return Ok(None);
        }
        let Some(key) = self.inner.master_key(name).filter(|_| !self.inner.is_without_master()) else {
            return Ok(None);
        };
        match self.query_master("getParam", &[key.into()]) {
            Ok((granted, value)) => {
                let origin = "parameter server".to_owned();
                Ok(granted.then(|| Override { value: with_large_integers(value.into()), origin }))
            }
            // A node in both graphs goes on without a master, and registers the parameter when there is one.
            Err(Error::NoMaster { .. }) => Ok(None),
            Err(Error::Call(why)) if !self.inner.waits_for_master(&why) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes an undeclared parameter at the master, if there is one.
    pub(crate) fn delete_at_master(&self, name: &str) {
        let Some(key) = self.inner.master_key(name) else { return };
        let _ = self.inner.engine(&mut self.inner.driver(), |node, now| node.delete_parameter(now, &key));
        // It may never have been there.
        let _ = self.query_master("deleteParam", &[key.into()]);
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
    fn master_key(&self, name: &str) -> Option<String> {
        let is_mirrored = self.is_in_ros1() && !name.contains('/') && !ROS2_ONLY.contains(&name);
        let private = is_mirrored.then(|| format!("~{}", name.replace('.', "/")))?;
        names::resolve(&self.namespace, &self.name, &private).ok()
    }

    /// Keeps parameters at the master, if the node is in ROS 1.
    pub(crate) fn mirror_at_master(self: &Arc<Self>, parameters: &NodeParameters) {
        if !self.is_in_ros1() {
            return;
        }
        let at_master = Mutex::new(Class::MasterParameters, SortedMap::new());
        let mirror = Arc::new(Mirror { node: Arc::downgrade(self), at_master });
        let observer = Arc::clone(&mirror);
        parameters.add_observer(Arc::new(move |change| observer.publish(change)));
        let received = move |key: &str, value: Option<&ParameterValue>| mirror.receive(key, value);
        let scheduling = (self.executor_dispatch(), &CallbackGroup::for_entity(None));
        let watch = WatchCore::new(self.full_name().to_owned(), scheduling, received);
        // Only a node that has ended has no engine.
        let _ = self.add_watch(&watch);
    }
}

impl Mirror {
    /// Sends changes of the node to the master.
    fn publish(&self, change: &Change) {
        let Some(node) = self.node.upgrade() else { return };
        for Parameter { name, value } in change.new.iter().chain(&change.changed) {
            let (Some(key), Some(value)) = (node.master_key(name), value) else { continue };
            let is_known = lock(&self.at_master).insert(key.clone(), value.clone()).as_ref() == Some(value);
            if !is_known {
                self.send(&node, &key, value);
            }
        }
        for Parameter { name, .. } in &change.deleted {
            if let Some(key) = node.master_key(name) {
                lock(&self.at_master).remove(&key);
                let _ = node.engine(&mut node.driver(), |engine, now| engine.delete_parameter(now, &key));
            }
        }
    }

    fn send(&self, node: &NodeInner, key: &str, value: &ParameterValue) {
        let value = ros1_value(value.clone());
        // A node that has ended leaves its parameters as they are.
        let _ = node.engine(&mut node.driver(), |engine, now| engine.set_parameter(now, key, value));
    }

    /// Handles a change at the master, of a parameter or of all below a name.
    fn receive(&self, key: &str, value: Option<&ParameterValue>) {
        let Some(node) = self.node.upgrade() else { return };
        match value {
            Some(ParameterValue::Map(members)) => {
                for (name, value) in members {
                    self.receive(&names::join(key, name), Some(value));
                }
            }
            Some(value) => self.receive_value(&node, key, value),
            // A deleted parameter stays with its node, as one that roscpp has read.
            None => {
                lock(&self.at_master).remove(key);
            }
        }
    }

    fn receive_value(&self, node: &NodeInner, key: &str, value: &ParameterValue) {
        let (Some(name), Some(parameters)) = (node.own_name(key), node.declared_parameters()) else { return };
        if !parameters.has(&name) || node.master_key(&name).is_none() {
            return;
        }
        let Ok(descriptor) = parameters.describe(&name) else { return };
        let current = parameters.get(&name).ok().flatten();
        let is_echo = |known: &ParameterValue| is_same_in_ros1(known, value);
        if current.as_ref().is_some_and(is_echo) || lock(&self.at_master).get(key).is_some_and(is_echo) {
            return;
        }
        let value = with_large_integers(value.clone());
        let value = if descriptor.dynamic_typing { value } else { fitted(value, descriptor.type_) };
        lock(&self.at_master).insert(key.to_owned(), value.clone());
        let Err(why) = parameters.set(Parameter { name, value: Some(value) }) else { return };
        let line = format_args!("the parameter server's value of {key} is refused: {why}");
        node.log().log_library(log::Level::Warn, line);
        if let Some(current) = current {
            lock(&self.at_master).insert(key.to_owned(), current.clone());
            self.send(node, key, &current);
        }
    }
}

/// A value of the master with integers beyond 32 bits, which ROS 1 has as doubles.
fn with_large_integers(value: ParameterValue) -> ParameterValue {
    match value {
        ParameterValue::Double(number) => large_integer(number).map_or(value, ParameterValue::Integer),
        ParameterValue::DoubleArray(numbers) => {
            let integers: Option<Vec<i64>> = numbers.iter().map(|number| large_integer(*number)).collect();
            integers.map_or(ParameterValue::DoubleArray(numbers), ParameterValue::IntegerArray)
        }
        ParameterValue::List(values) => {
            let integer = |value: &ParameterValue| match value {
                ParameterValue::Integer(number) => Some(*number),
                ParameterValue::Double(number) => large_integer(*number),
                _ => None,
            };
            let integers: Option<Vec<i64>> = values.iter().map(integer).collect();
            let integers = integers.filter(|integers| !integers.is_empty());
            integers.map_or(ParameterValue::List(values), ParameterValue::IntegerArray)
        }
        value => value,
    }
}

/// The integer beyond 32 bits that a double is, as far as doubles hold all integers.
fn large_integer(number: f64) -> Option<i64> {
    let is_large =
        number.abs() > f64::from(i32::MAX) && number.abs() <= (1_i64 << f64::MANTISSA_DIGITS) as f64;
    (is_large && number.fract() == 0.0).then_some(number as i64)
}

/// Whether two values are the same to ROS 1, which has no 64-bit integers and no typed arrays.
fn is_same_in_ros1(left: &ParameterValue, right: &ParameterValue) -> bool {
    let [left, right]: [Value; 2] = [left, right].map(|value| ros1_value(value.clone()));
    left == right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integer_is_same_as_its_double() {
        let large = ParameterValue::Integer(1 << 40);
        assert!(is_same_in_ros1(&large, &((1_i64 << 40) as f64).into()));
        assert!(is_same_in_ros1(&ParameterValue::IntegerArray(vec![]), &ParameterValue::List(vec![])));
        assert!(!is_same_in_ros1(&1.into(), &1.0.into()));
    }

    #[test]
    fn integers_beyond_32_bits_come_back_from_the_master() {
        let large = 5_000_000_000_i64;
        let back = |value: ParameterValue| with_large_integers(ros1_value(value).into());
        for value in [large.into(), (-large).into(), ParameterValue::IntegerArray(vec![1, large])] {
            assert_eq!(back(value.clone()), value);
        }
        assert_eq!(back(ParameterValue::IntegerArray(vec![large, large])).clone(), vec![large, large].into());
        for value in [2.5.into(), 3.0.into(), 1e300.into(), ParameterValue::DoubleArray(vec![2.5, 1e10])] {
            assert_eq!(back(value.clone()), value);
        }
    }
}
