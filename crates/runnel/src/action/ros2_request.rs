//! Request to a service of a ROS 2 action, independent of how it arrived.

use std::fmt;

use runnel_core::wire::Encoding;

use super::goal_requests::ClientRequest;
use crate::data::{Responder, ServiceRequest};
use crate::ros2_graph::Gid;

/// See the module's documentation.
pub(super) struct Request {
    /// The payload in `encoding`; a ROS 2 one begins with its encapsulation header.
    pub(super) bytes: Vec<u8>,
    pub(super) encoding: Encoding,
    /// Names the client in log lines.
    pub(super) client: String,
    pub(super) reply: Reply,
}

/// Sends the response to a request, on any thread. It must not be dropped without a response, unless the client is gone:
/// the client would wait for ever.
pub(super) struct Reply(Responder);

impl Request {
    pub(super) fn of(ServiceRequest { bytes, mut responder }: ServiceRequest) -> Self {
        // Requests for results wait as long as goals take. The server limits goals, and requests for each.
        responder.release();
        let (encoding, client) = (responder.encoding(), Gid(responder.request().0).to_string());
        Self { bytes, encoding, client, reply: Reply(responder) }
    }
}

impl Reply {
    /// Sends the payload of a response.
    pub(super) fn send(self, response: Vec<u8>) {
        self.0.respond(Ok(response));
    }

    /// Sends `why` to a client that understands errors, and `response` to any other.
    pub(super) fn refuse(self, response: Vec<u8>, why: String) {
        self.0.refuse(response, why);
    }
}

impl ClientRequest for Reply {
    fn client(&self) -> [u8; 16] {
        self.0.request().0
    }

    fn is_abandoned(&self) -> bool {
        self.0.is_abandoned()
    }

    fn is_absent(&self) -> bool {
        self.0.is_absent()
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}
