//! Endpoints of this process that are looked at from time to time: whether deadlines and leases are kept, also between those
//! who meet without a connection.

use std::sync::{Arc, Weak};

use runnel_core::time::Instant;
use runnel_io::clock;

use super::Driver;
use crate::data::Watched;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Watches {
    all: Vec<Watch>,
    next: Option<Instant>,
}

struct Watch {
    at: Instant,
    what: Weak<dyn Watched>,
}

impl Watches {
    /// When something is to be looked at.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Looks at what is due, and forgets what is gone.
    fn look(&mut self, now: Instant) {
        self.all.retain_mut(|watch| {
            if watch.at > now {
                return true;
            }
            let next = watch.what.upgrade().and_then(|what| what.look(now));
            watch.at = next.unwrap_or(now);
            next.is_some()
        });
        self.next = self.all.iter().map(|watch| watch.at).min();
    }
}

impl Driver {
    /// An endpoint is looked at from now on.
    pub(super) fn watch_endpoint<W: Watched + 'static>(&mut self, endpoint: &Arc<W>) {
        let now = clock::monotonic();
        if let Some(at) = endpoint.look(now) {
            let what: Weak<W> = Arc::downgrade(endpoint);
            self.watches.all.push(Watch { at, what });
            self.watches.next = self.watches.next.into_iter().chain([at]).min();
        }
    }

    pub(super) fn serve_watches(&mut self) {
        if self.watches.next.is_some() {
            let now = clock::monotonic();
            if self.watches.next.is_some_and(|at| at <= now) {
                self.watches.look(now);
            }
        }
    }
}
