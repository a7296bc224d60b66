//! Publishers of both graphs, which go over from ROS 1 to ROS 2 between two messages: what was sent before by ROS 1 comes first.

use std::sync::atomic::Ordering;

use runnel_rtps::Sample;

use super::super::Driver;
use super::super::socket::{DatagramInput, Input, Socket};
use super::super::table::Key;
use crate::data::LinkInfo;

/// How often a connection is read at most for what was sent before.
const READS: usize = 64;

impl LinkInfo {
    /// The publisher is in both graphs and nothing has come yet by this link: what it sent before by the other graph comes
    /// first.
    pub(in crate::driver) fn follows_ros1(&self) -> bool {
        self.origin.is_some() && !self.heard.load(Ordering::Relaxed)
    }
}

impl Driver {
    /// Before the first sample of a publisher in both graphs what it has sent by ROS 1 is heard.
    pub(super) fn hear_ros1_first(&mut self, sample: &Sample) {
        let end = self.ros2.readers.get(&sample.reader);
        let from = end.and_then(|end| end.links.get(&sample.writer)).filter(|from| from.follows_ros1());
        let Some((from, origin)) = from.and_then(|from| Some((from, from.origin?))) else { return };
        from.heard.store(true, Ordering::Relaxed);
        for link in self.links_from(origin) {
            let _ = (0..READS).take_while(|_| self.has_read(link)).count();
            let _ = (0..READS).take_while(|_| self.look_at_sessions()).count();
        }
    }

    /// The connections to publishers of the node of this origin.
    fn links_from(&self, origin: u64) -> Vec<Key> {
        let is_from = |key: &Key| match self.sockets.get(*key) {
            Some(Socket::Input(Input { from, .. }) | Socket::DatagramInput(DatagramInput { from, .. })) => {
                from.origin == Some(origin)
            }
            _ => false,
        };
        self.sockets.keys().into_iter().filter(is_from).collect()
    }

    /// Reads from a publisher once; whether anything came.
    fn has_read(&mut self, link: Key) -> bool {
        let received = |driver: &Self| match driver.sockets.get(link) {
            Some(Socket::Input(input)) => Some(input.received),
            // Its messages are read one at a time.
            Some(Socket::DatagramInput(input)) => Some(input.from.stats.messages()),
            _ => None,
        };
        let before = received(self);
        self.readable(link);
        received(self) > before
    }
}

#[cfg(test)]
mod tests;
