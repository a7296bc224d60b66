//! Subscribers in both graphs that RTPS has met, and that go over to it from ROS 1: not before all that was sent by ROS 1 has
//! arrived, since nothing keeps what goes by one from overtaking what goes by the other.

use std::sync::atomic::Ordering;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::{Offer, State};
use crate::sync::lock;

/// So long is waited for a moment in which nothing is under way to a subscriber: while messages follow each other faster than
/// they are acknowledged there may be none. What waits on this side is waited for without end.
const PATIENCE: Duration = Duration::from_secs(1);

/// A node in both graphs that can go over.
pub(super) struct Ready {
    origin: u64,
    since: Instant,
}

impl Offer {
    /// A subscription that its writer has met, of a node of this origin, can go over.
    pub(crate) fn can_go_over(&self, origin: u64) {
        let ready = &mut lock(&self.readers).ready;
        if ready.iter().all(|other| other.origin != origin) {
            ready.push(Ready { origin, since: clock::monotonic() });
        }
        self.awaits.store(true, Ordering::Relaxed);
    }

    /// Has them go over whose links of ROS 1 are empty. Whether others are left.
    pub(crate) fn let_over(&self) -> bool {
        self.publication().is_some_and(|publication| {
            lock(&publication.state).let_over(self);
            self.awaits()
        })
    }

    fn awaits(&self) -> bool {
        self.awaits.load(Ordering::Relaxed)
    }

    /// The nodes of these origins go over. Messages are to go to the writer from now on, also before it is known who they are.
    fn go_over(&self, origins: &[u64]) {
        let Some(writer) = self.writer() else { return };
        if origins.iter().fold(false, |any, origin| writer.let_over(*origin) | any) {
            self.set_matched(self.matched().max(1));
        }
    }
}

impl State {
    /// Has those go over to an offer's writer whose links of ROS 1 are empty: before the next message, which goes there.
    pub(super) fn let_over(&self, offer: &Offer) {
        if !offer.awaits() {
            return;
        }
        let mut over = Vec::new();
        {
            let ready = &mut lock(&offer.readers).ready;
            let now = clock::monotonic();
            ready.retain(|Ready { origin, since }| {
                let stays = !self.has_sent_all(*origin, now < *since + PATIENCE);
                if !stays {
                    over.push(*origin);
                }
                stays
            });
            offer.awaits.store(!ready.is_empty(), Ordering::Relaxed);
        }
        offer.go_over(&over);
    }

    /// Whether nothing waits for a node of this origin on a link of ROS 1, or is under way if that is waited for as well.
    fn has_sent_all(&self, origin: u64, and_delivered: bool) -> bool {
        let mut links = self.links.iter().filter(|link| link.origin == Some(origin));
        links.all(|link| link.is_flushed() && (!and_delivered || link.is_delivered()))
    }
}
