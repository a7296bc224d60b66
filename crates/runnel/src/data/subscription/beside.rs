//! What has come by ROS 1 of a publisher whose messages come by ROS 2 as well, one after the other.

use std::sync::Arc;

use runnel_ros1::node::LinkStats;

use crate::sync::{Class, Mutex, lock};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Beside(Mutex<Links>);

#[derive(Debug, Default)]
struct Links {
    /// How many messages of each had come when all that was sent before was read from them.
    counted: Vec<(Arc<LinkStats>, u64)>,
    /// That was done, and of all of them.
    complete: bool,
}

impl Links {
    /// Messages that have come by a link since it was read.
    fn since(&self, stats: &Arc<LinkStats>) -> u64 {
        let counted = self.counted.iter().find(|(of, _)| Arc::ptr_eq(of, stats));
        stats.messages() - counted.map_or(0, |(_, messages)| *messages)
    }
}

impl Default for Beside {
    fn default() -> Self {
        Self(Mutex::new(Class::DualLinks, Links::default()))
    }
}

impl Beside {
    /// True if no link of ROS 1 has brought anything since what was sent before was read from them: the publisher has not gone
    /// back to them meanwhile.
    pub(crate) fn is_level(&self) -> bool {
        let links = lock(&self.0);
        links.complete && links.counted.iter().all(|(stats, heard)| stats.messages() == *heard)
    }

    /// True if one has brought something since: the publisher has gone back to them.
    pub(crate) fn has_gone_back(&self) -> bool {
        lock(&self.0).counted.iter().any(|(stats, heard)| stats.messages() != *heard)
    }

    /// What was sent before has been read from these. How many messages they have brought since this was last so.
    pub(crate) fn heard(&self, stats: impl Iterator<Item = Arc<LinkStats>>) -> u64 {
        let links = &mut *lock(&self.0);
        let stats: Vec<_> = stats.collect();
        let brought = stats.iter().map(|stats| links.since(stats)).sum();
        links.counted = stats.into_iter().map(|stats| (Arc::clone(&stats), stats.messages())).collect();
        links.complete = true;
        brought
    }

    /// There is another.
    pub(crate) fn forget(&self) {
        lock(&self.0).complete = false;
    }
}
