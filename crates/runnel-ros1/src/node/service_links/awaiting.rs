//! Waits for a service: a master does not announce services, so the node looks the service up again and again.

use std::mem;
use std::time::Duration;

use runnel_core::time::Instant;

use super::{ServiceClientSpec, ServiceLinkId, State};
use crate::node::Node;

/// Pause after the first failure. It doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Longest pause between two lookups.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Time for a provider to accept the connection and to send its header.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);

impl Node {
    /// Opens a link to a service once a node provides it. Until then, the node looks the service up after pauses of 50 ms
    /// to 1 s. [`NodeEvent::ServiceLinked`](crate::node::NodeEvent::ServiceLinked) follows, unless
    /// [`Node::close_service`] ends the wait.
    pub fn await_service(&mut self, now: Instant, wanted: ServiceClientSpec) -> ServiceLinkId {
        let id = self.add_service_link(wanted, Some(FIRST_PAUSE));
        self.look_up_service(now, id);
        id
    }

    /// Schedules the next lookup after a failure. False if the service is not awaited.
    pub(super) fn retry_service(&mut self, now: Instant, id: ServiceLinkId) -> bool {
        let Some(link) = self.service_links.get_mut(&id) else { return false };
        let Some(pause) = link.pause else { return false };
        link.pause = Some((2 * pause).min(MAX_PAUSE));
        let failed = mem::replace(&mut link.state, State::ExpectRetry);
        if let Some(conn) = failed.conn() {
            self.close_service_conn(conn);
        }
        self.set_service_deadline(id, Some(now + pause));
        true
    }

    /// Limits the time of a connection to the provider of an awaited service.
    pub(super) fn limit_attempt(&mut self, now: Instant, id: ServiceLinkId) {
        if self.service_links.get(&id).is_some_and(|link| link.pause.is_some()) {
            self.set_service_deadline(id, Some(now + ATTEMPT_TIMEOUT));
        }
    }

    /// The link of an awaited service is established, and fails like any other from now on.
    pub(super) fn end_wait_for_service(&mut self, id: ServiceLinkId) {
        let Some(link) = self.service_links.get_mut(&id) else { return };
        if link.pause.take().is_some() {
            self.set_service_deadline(id, None);
        }
    }
}
