//! Requester: where the response to a request goes.

use std::collections::BTreeSet;
use std::sync::Arc;

use runnel_core::wire::Encoding;
use runnel_rtps::wire::{Guid, GuidPrefix};

use super::client_link::ClientLink;
use super::events::{ServiceEvent, ServiceEvents};
use super::replies::Ros2Request;
use crate::data::PendingCall;

/// Identifies a request: its client and its number at that client.
pub(crate) type RequestKey = ([u8; 16], i64);

/// What unanswered requests are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// A client in ROS 1.
    Connection(u64),
    /// All clients of a participant in ROS 2.
    Participant(GuidPrefix),
    /// All clients of this process.
    Process,
}

/// A client of this process, as services of this process know it.
pub(crate) struct LocalClient {
    pub(crate) guid: Guid,
    pub(crate) events: Arc<ServiceEvents>,
}

/// A call by a client of this process.
pub(crate) struct LocalCall {
    pub(crate) pending: Arc<PendingCall>,
    pub(crate) key: RequestKey,
    /// The events of the client.
    pub(crate) events: Arc<ServiceEvents>,
}

impl LocalClient {
    pub(crate) fn key(&self, number: i64) -> RequestKey {
        (self.guid.to_bytes(), number)
    }

    pub(crate) fn call(&self, number: i64, pending: Arc<PendingCall>) -> LocalCall {
        LocalCall { pending, key: self.key(number), events: Arc::clone(&self.events) }
    }
}

impl LocalCall {
    fn complete(&self, result: Result<Vec<u8>, String>) {
        if let Ok(response) = &result {
            self.events.note(ServiceEvent::ResponseReceived, self.key, response);
        }
        self.pending.complete(Ok(result));
    }
}

/// See the module's documentation.
pub(super) enum Requester {
    /// A ROS 1 connection, and the number of the request on it.
    Ros1 { link: Arc<ClientLink>, number: u64 },
    /// A client in ROS 2.
    Ros2(Ros2Request),
    /// A client of this process.
    Local(LocalCall),
}

impl Requester {
    /// The encoding of its request and response.
    pub(super) fn encoding(&self) -> Encoding {
        match self {
            Self::Ros1 { .. } => Encoding::Ros1,
            Self::Ros2(_) | Self::Local(_) => Encoding::Xcdr1,
        }
    }

    pub(super) fn key(&self) -> RequestKey {
        match self {
            Self::Ros1 { link, number } => {
                let client = u128::from(link.token().0).to_be_bytes();
                (client, i64::try_from(*number).unwrap_or(i64::MAX).saturating_add(1))
            }
            Self::Ros2(request) => request.key(),
            Self::Local(call) => call.key,
        }
    }

    /// Publishes an event about it, if it is in ROS 2.
    pub(super) fn note(&self, events: &ServiceEvents, event: ServiceEvent, payload: &[u8]) {
        if !self.encoding().is_ros1() {
            events.note(event, self.key(), payload);
        }
    }

    /// Counts the request as answered before it is, if its client has a limit in ROS 2.
    pub(super) fn release(&mut self) {
        if let Self::Ros2(request) = self {
            request.release();
        }
    }

    /// Whether its client understands errors.
    pub(super) fn reads_failures(&self) -> bool {
        match self {
            Self::Ros1 { .. } | Self::Local(_) => true,
            Self::Ros2(request) => request.reads_failures(),
        }
    }

    /// Whether its client in ROS 2 or in this process is gone, or has given up.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            Self::Ros1 { .. } => false,
            Self::Ros2(request) => request.is_abandoned(),
            // The client's end of the call is dropped.
            Self::Local(call) => Arc::strong_count(&call.pending) == 1,
        }
    }

    /// Whether its client in ROS 2 has been gone for so long that it will not return, or its client in this process has
    /// given up.
    pub(super) fn is_absent(&self) -> bool {
        match self {
            Self::Ros2(request) => request.is_absent(),
            Self::Ros1 { .. } | Self::Local { .. } => self.is_abandoned(),
        }
    }

    /// The client is gone: it gets no response. A request that it sends again is a new one.
    pub(super) fn give_up(&self) {
        if let Self::Ros2(request) = self {
            request.give_up();
        }
    }

    /// Sends the response to a request of so many bytes, or the error text.
    pub(super) fn answer(&self, request_len: usize, result: Result<Vec<u8>, String>) {
        match self {
            Self::Ros1 { link, number } => link.answer(*number, (request_len, result)),
            Self::Ros2(request) => request.answer(result),
            Self::Local(call) => call.complete(result),
        }
    }

    /// The service has ended before it took the request.
    pub(super) fn end(&self) {
        match self {
            Self::Ros1 { link, .. } => link.end(),
            // The client sends the request again to the server that takes its place.
            Self::Ros2(_) => {}
            Self::Local(call) => call.complete(Err("the service has ended".to_owned())),
        }
    }

    /// The client or participant that the limits of requests apply to.
    pub(super) fn holder(&self) -> Holder {
        match self {
            Self::Ros1 { link, .. } => Holder::Connection(link.token().0),
            Self::Ros2(request) => Holder::Participant(request.client().prefix),
            Self::Local(_) => Holder::Process,
        }
    }

    /// Gives the request up if its client in ROS 2 is one of these. Returns whether it is.
    pub(super) fn gives_up(&self, clients: &BTreeSet<Guid>) -> bool {
        let Self::Ros2(request) = self else { return false };
        let is_gone = clients.contains(&request.client());
        if is_gone {
            request.give_up();
        }
        is_gone
    }

    pub(super) fn is_of(&self, client: &Arc<ClientLink>) -> bool {
        matches!(self, Self::Ros1 { link, .. } if Arc::ptr_eq(link, client))
    }
}
