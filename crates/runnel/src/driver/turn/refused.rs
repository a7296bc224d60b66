//! Samples that RTPS brings of pairs that a link of ROS 1 serves: the loop finds out whether the publisher has ended the link.

use crate::driver::Driver;
use crate::driver::effect::Effect;

impl Driver {
    /// Reads the links of such pairs that have ended: what they still bring comes before the samples.
    pub(super) fn read_ended_links(&mut self) {
        for (dual_node_id, pair) in self.ros2.refused_pairs() {
            for link in self.links_for(dual_node_id, pair) {
                self.sockets.read_if_ended(link, &mut self.effects);
            }
        }
        self.effects.push_back(Effect::EndedLinksRead);
    }

    /// Gives the samples of pairs that no link serves any longer, and goes on with the datagrams that came behind.
    pub(super) fn dispatch_refused(&mut self) {
        for sample in self.ros2.take_refused(&mut self.effects) {
            self.dispatch_sample(sample, &[]);
        }
        self.end_pairs();
    }
}
