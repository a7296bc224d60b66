//! Parameters that are watched, and the simulated time that one of them switches.

use runnel_ros1::xmlrpc::Value;

use super::Driver;
use super::nodes::{NodeKey, NodeSlot};
use crate::ros_clock::{CLOCK, USE_SIM_TIME};

impl Driver {
    pub(super) fn param_changed(&mut self, key: NodeKey, name: &str, value: Option<Value>) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        for watch in node.watches.iter().filter(|watch| watch.concerns(name)) {
            watch.changed(name, value.as_ref());
        }
        let follows = name == USE_SIM_TIME && node.follows_sim_time;
        match value {
            Some(Value::Bool(simulated)) if follows => self.simulate_time(key, simulated),
            Some(Value::Int(number)) if follows => self.simulate_time(key, number != 0),
            // A master that came back without its parameters ends no simulation.
            _ => {}
        }
    }

    /// A node follows simulated time from now on, whatever the master says.
    pub(crate) fn follow_clock(&mut self, key: NodeKey) {
        if let Some(node) = self.nodes.get_mut(key) {
            node.follows_sim_time = true;
            self.simulate_time(key, true);
        }
    }

    /// Time is simulated from now on, or no longer. One node of all hears `/clock`: by two ways the same times would come
    /// twice, and go backwards in between.
    fn simulate_time(&mut self, key: NodeKey, simulated: bool) {
        match self.clock.take() {
            Some((hearer, core)) if !simulated => {
                self.simulation.set(false);
                self.remove_subscription(hearer, CLOCK, &core);
            }
            None if simulated => self.hear_clock(key),
            unchanged => self.clock = unchanged,
        }
    }

    fn hear_clock(&mut self, key: NodeKey) {
        let (topic, qos, core) = self.simulation.subscription();
        match self.add_subscription(key, &topic, qos, &core) {
            Ok(_) => {
                self.clock = Some((key, core));
                self.simulation.set(true);
            }
            Err(error) => {
                if let Some(slot) = self.nodes.get_mut(key) {
                    slot.say(log::Level::Error, format_args!("no simulated time: {error}"));
                }
            }
        }
    }

    /// A node ends: if it was the one that hears `/clock`, another one does from now on.
    pub(super) fn hand_clock_on(&mut self, from: NodeKey) {
        let Some((_, core)) = self.clock.take_if(|(hearer, _)| *hearer == from) else { return };
        self.remove_subscription(from, CLOCK, &core);
        let follows = |node: &NodeSlot| node.follows_sim_time && node.stopped.is_none();
        let mut keys = self.nodes.keys().into_iter();
        match keys.find(|key| *key != from && self.nodes.get(*key).is_some_and(follows)) {
            Some(next) => self.hear_clock(next),
            None => self.simulation.set(false),
        }
    }
}
