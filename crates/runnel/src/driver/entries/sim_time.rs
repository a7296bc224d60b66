//! Simulated time, enabled by a parameter or by the user.

use crate::driver::Driver;
use crate::driver::nodes::{NodeKey, NodeSlot};
use crate::time::ros_clock::CLOCK;

impl Driver {
    /// Makes a node follow simulated time, or stops that, whatever the master's parameter says. Time stays simulated
    /// while another node that is only in ROS 2 follows it.
    pub(crate) fn follow_clock(&mut self, key: NodeKey, simulated: bool) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        if simulated {
            node.follows_sim_time = true;
            self.simulate_time(key, true);
        } else if node.ros1.is_some() {
            self.simulate_time(key, false);
        } else {
            node.follows_sim_time = false;
            self.move_clock_subscription(key);
        }
    }

    /// Enables or disables simulated time. Only one node subscribes to `/clock`: with two subscriptions each time would
    /// arrive twice, and time would go backwards in between.
    pub(in crate::driver) fn simulate_time(&mut self, key: NodeKey, simulated: bool) {
        match self.clock.take() {
            Some((owner, core)) if !simulated => {
                self.simulation.set(false);
                self.remove_subscription(owner, CLOCK, &core);
            }
            None if simulated => self.subscribe_to_clock(key),
            unchanged => self.clock = unchanged,
        }
    }

    fn subscribe_to_clock(&mut self, key: NodeKey) {
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

    /// Moves the subscription to `/clock` from a node that ends to another one.
    pub(in crate::driver) fn move_clock_subscription(&mut self, from: NodeKey) {
        let Some((_, core)) = self.clock.take_if(|(owner, _)| *owner == from) else { return };
        self.remove_subscription(from, CLOCK, &core);
        let follows = |node: &NodeSlot| node.follows_sim_time && node.stopped.is_none();
        let mut keys = self.nodes.keys().into_iter();
        match keys.find(|key| *key != from && self.nodes.get(*key).is_some_and(follows)) {
            Some(next) => self.subscribe_to_clock(next),
            None => self.simulation.set(false),
        }
    }
}
