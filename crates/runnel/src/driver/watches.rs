//! Endpoints of this process that are looked at from time to time: whether deadlines and leases are kept, also between those
//! who meet without a connection.

use std::sync::{Arc, Weak};

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_io::clock;

use super::effect::{Deadline, Effects};
use crate::data::Watched;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Watches {
    endpoints: SortedMap<u64, Weak<dyn Watched>>,
    last_number: u64,
}

impl Watches {
    /// An endpoint is looked at from now on.
    pub(super) fn add<W: Watched + 'static>(&mut self, endpoint: &Arc<W>, effects: &mut Effects) {
        if let Some(at) = endpoint.look(clock::monotonic()) {
            let endpoint: Weak<W> = Arc::downgrade(endpoint);
            self.last_number += 1;
            self.endpoints.insert(self.last_number, endpoint);
            effects.schedule(Deadline::WatchedEndpoint(self.last_number), at);
        }
    }

    /// Looks at the endpoint of this number, and forgets it if it is gone.
    pub(super) fn look(&mut self, number: u64, now: Instant, effects: &mut Effects) {
        let endpoint = self.endpoints.get(&number).and_then(Weak::upgrade);
        match endpoint.and_then(|endpoint| endpoint.look(now)) {
            Some(next) => effects.schedule(Deadline::WatchedEndpoint(number), next),
            None => _ = self.endpoints.remove(&number),
        }
    }
}
