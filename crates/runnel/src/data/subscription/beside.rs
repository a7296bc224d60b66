//! What has come by ROS 1 of a publisher whose messages come by ROS 2 as well, one after the other.

use std::sync::{Arc, Mutex};

use runnel_ros1::node::LinkStats;

use crate::sync::lock;

/// The links of ROS 1 from one publisher, and how many messages of each had come when all that was sent before was read from
/// them. Nothing if that was never done.
#[derive(Debug, Default)]
pub(crate) struct Beside(Mutex<Option<Vec<Counted>>>);

type Counted = (Arc<LinkStats>, u64);

impl Beside {
    /// True if these are all, and none has brought anything since: the publisher has not gone back to them meanwhile.
    pub(crate) fn is_level(&self) -> bool {
        let links = lock(&self.0);
        links.as_ref().is_some_and(|links| links.iter().all(|(stats, heard)| stats.messages() == *heard))
    }

    /// What was sent before by these has been heard.
    pub(crate) fn heard(&self, links: impl Iterator<Item = Arc<LinkStats>>) {
        let counted = links.map(|stats| {
            let messages = stats.messages();
            (stats, messages)
        });
        *lock(&self.0) = Some(counted.collect());
    }

    /// There is another.
    pub(crate) fn forget(&self) {
        *lock(&self.0) = None;
    }
}
