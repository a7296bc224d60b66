//! Service calls: the request and the result of each link.

use std::sync::Arc;

use crate::data::{CallAnswer, PendingCall};
use crate::driver::table::Key;

/// A link to a service and its current call.
pub(crate) struct Call {
    /// The framed request until it is sent; `None` to learn only which node provides the service.
    pub(in crate::driver) request: Option<Vec<u8>>,
    /// Bytes of every response of its type, if that is fixed.
    pub(in crate::driver) response_len: Option<usize>,
    /// Header of the service.
    pub(in crate::driver) info: Option<ServiceInfo>,
    /// Its socket, while the link exists.
    pub(in crate::driver) socket: Option<Key>,
    /// The current call.
    pending: Option<Arc<PendingCall>>,
}

/// Node and type of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceInfo {
    /// The node.
    pub node: String,
    /// Service type, such as `std_srvs/SetBool`; empty if the node does not report it.
    pub type_name: String,
    /// MD5 sum of the type.
    pub md5: String,
}

/// Request and expected response of a call.
pub(crate) struct CallRequest {
    /// The framed request; `None` to learn only which node provides the service.
    pub(crate) request: Option<Vec<u8>>,
    /// Bytes of every response of the type, if that is fixed.
    pub(crate) response_len: Option<usize>,
}

impl Call {
    pub(in crate::driver) fn new(
        CallRequest { request, response_len }: CallRequest,
        pending: Arc<PendingCall>,
    ) -> Self {
        Self { request, response_len, info: None, socket: None, pending: Some(pending) }
    }

    /// Begins another call on the same link. Returns its socket, or `None` if the link has ended or has a call.
    pub(in crate::driver) fn begin_again(&mut self, pending: &Arc<PendingCall>) -> Option<Key> {
        let socket = self.socket.filter(|_| self.pending.is_none())?;
        self.pending = Some(Arc::clone(pending));
        Some(socket)
    }

    /// Ends the call; false if it had ended. A service closes the connection after its response, which does not change
    /// the result.
    pub(in crate::driver) fn end(&mut self, answer: CallAnswer) -> bool {
        if answer.is_err() {
            self.socket = None;
        }
        let Some(pending) = self.pending.take() else { return false };
        pending.complete(answer);
        true
    }
}
