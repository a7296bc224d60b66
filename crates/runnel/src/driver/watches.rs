//! Endpoints of this process that are looked at from time to time: whether deadlines and leases are kept, also between those
//! who meet without a connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use runnel_core::time::Instant;
use runnel_core::timers::Timers;
use runnel_io::clock;

use super::Driver;
use crate::data::Watched;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Watches {
    endpoints: BTreeMap<u64, Weak<dyn Watched>>,
    /// When each is to be looked at, by number.
    due: Timers<u64>,
    last_number: u64,
}

impl Watches {
    /// When something is to be looked at.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.next_deadline()
    }

    fn add(&mut self, at: Instant, endpoint: Weak<dyn Watched>) {
        self.last_number += 1;
        self.endpoints.insert(self.last_number, endpoint);
        self.due.schedule(self.last_number, at);
    }

    /// Looks at what is due, and forgets what is gone.
    fn look(&mut self, now: Instant) {
        for number in self.due.take_due(now) {
            let endpoint = self.endpoints.get(&number).and_then(Weak::upgrade);
            match endpoint.and_then(|endpoint| endpoint.look(now)) {
                Some(next) => self.due.schedule(number, next),
                None => _ = self.endpoints.remove(&number),
            }
        }
    }
}

impl Driver {
    /// An endpoint is looked at from now on.
    pub(super) fn watch_endpoint<W: Watched + 'static>(&mut self, endpoint: &Arc<W>) {
        let now = clock::monotonic();
        if let Some(at) = endpoint.look(now) {
            let what: Weak<W> = Arc::downgrade(endpoint);
            self.watches.add(at, what);
        }
    }

    pub(super) fn serve_watches(&mut self) {
        if self.watches.next().is_some() {
            self.watches.look(clock::monotonic());
        }
    }
}
