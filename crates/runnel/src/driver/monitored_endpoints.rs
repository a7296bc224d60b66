//! Monitoring of deadlines and liveliness leases of this process's endpoints, also between those that match without a
//! connection.

use runnel_core::sorted::SortedMap;
use std::sync::{Arc, Weak};

use runnel_core::time::Instant;
use runnel_io::clock;

use super::effect::{Deadline, Effects};
use crate::data::Monitored;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct MonitoredEndpoints {
    endpoints: SortedMap<u64, Weak<dyn Monitored>>,
    last_number: u64,
}

impl MonitoredEndpoints {
    /// Monitors an endpoint, if its QoS asks for it.
    pub(super) fn add<W: Monitored + 'static>(&mut self, endpoint: &Arc<W>, effects: &mut Effects) {
        if let Some(at) = endpoint.check(clock::monotonic()) {
            let endpoint: Weak<W> = Arc::downgrade(endpoint);
            self.last_number += 1;
            self.endpoints.insert(self.last_number, endpoint);
            effects.schedule(Deadline::MonitoredEndpoint(self.last_number), at);
        }
    }

    /// Checks the endpoint with this number, or forgets it if it is gone.
    pub(super) fn check(&mut self, number: u64, now: Instant, effects: &mut Effects) {
        let endpoint = self.endpoints.get(&number).and_then(Weak::upgrade);
        match endpoint.and_then(|endpoint| endpoint.check(now)) {
            Some(next) => effects.schedule(Deadline::MonitoredEndpoint(number), next),
            None => _ = self.endpoints.remove(&number),
        }
    }
}
