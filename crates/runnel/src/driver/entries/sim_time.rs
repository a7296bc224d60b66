//! Simulated time, which a parameter or the user switches.

use crate::driver::Driver;
use crate::driver::nodes::{NodeKey, NodeSlot};
use crate::ros_clock::CLOCK;

impl Driver {
    /// A node follows simulated time from now on, whatever the master says.
    pub(crate) fn follow_clock(&mut self, key: NodeKey) {
        if let Some(node) = self.nodes.get_mut(key) {
            node.follows_sim_time = true;
            self.simulate_time(key, true);
        }
    }

    /// Time is simulated from now on, or no longer. One node of all hears `/clock`: by two ways the same times would come
    /// twice, and go backwards in between.
    pub(in crate::driver) fn simulate_time(&mut self, key: NodeKey, simulated: bool) {
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
    pub(in crate::driver) fn hand_clock_on(&mut self, from: NodeKey) {
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
