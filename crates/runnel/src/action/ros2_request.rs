//! Request to a service of a ROS 2 action, independent of how it arrived.

use std::fmt;

use runnel_core::wire::Encoding;

/// See the module's documentation.
pub(super) struct Request {
    /// The payload in `encoding`; a ROS 2 one begins with its encapsulation header.
    pub(super) bytes: Vec<u8>,
    pub(super) encoding: Encoding,
    /// Names the client in log lines.
    pub(super) client: String,
    pub(super) reply: Reply,
}

/// Sends the response to a request, on any thread. It must not be dropped without a response: the client would wait for
/// ever.
pub(super) struct Reply(Box<dyn FnOnce(Vec<u8>) + Send>);

impl Reply {
    pub(super) fn new(send: impl FnOnce(Vec<u8>) + Send + 'static) -> Self {
        Self(Box::new(send))
    }

    /// Sends the payload of a response.
    pub(super) fn send(self, response: Vec<u8>) {
        (self.0)(response);
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}
