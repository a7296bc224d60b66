//! Dispatch of samples from RTPS whose pairs a ROS 1 link serves: the event loop checks whether the publisher has ended
//! the link.

use crate::driver::Driver;
use crate::driver::effect::Effect;

impl Driver {
    /// Reads the links of these pairs to their end, if they have ended: their messages come before the samples.
    pub(super) fn read_ended_links(&mut self) {
        for (dual_node_id, pair) in self.ros2.refused_pairs() {
            for link in self.links_for(dual_node_id, pair) {
                self.sockets.read_if_ended(link, &mut self.effects);
            }
        }
        self.effects.push_back(Effect::EndedLinksRead);
    }

    /// Delivers the samples of pairs that no link serves any longer, then the datagrams behind them.
    pub(super) fn dispatch_refused(&mut self) {
        for sample in self.ros2.take_refused(&mut self.effects) {
            self.dispatch_sample(sample, &[]);
        }
        self.end_pairs();
    }
}
