//! Calls of services: what is asked for on each link, and what it came to.

use std::sync::Arc;

use crate::data::{CallAnswer, PendingCall};
use crate::driver::table::Key;

/// A link to a service and the call that is under way on it.
pub(crate) struct Call {
    /// The request, framed, until it is sent; `None` to learn only who provides the service.
    pub(in crate::driver) request: Option<Vec<u8>>,
    /// Bytes of every response of its type, if that is fixed.
    pub(in crate::driver) response_len: Option<usize>,
    /// What the provider said of itself.
    pub(in crate::driver) info: Option<ServiceInfo>,
    /// Its socket, while the link stands.
    pub(in crate::driver) socket: Option<Key>,
    /// The call that is under way.
    pending: Option<Arc<PendingCall>>,
}

/// Who provides a service, and of which type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceInfo {
    /// The node.
    pub node: String,
    /// Service type, such as `std_srvs/SetBool`; empty if the node does not tell.
    pub type_name: String,
    /// MD5 sum of the type.
    pub md5: String,
}

/// What a call sends and expects.
pub(crate) struct Asks {
    /// The request, framed; `None` to learn only who provides the service.
    pub(crate) request: Option<Vec<u8>>,
    /// Bytes of every response of the type, if that is fixed.
    pub(crate) response_len: Option<usize>,
}

impl Call {
    pub(in crate::driver) fn new(Asks { request, response_len }: Asks, pending: Arc<PendingCall>) -> Self {
        Self { request, response_len, info: None, socket: None, pending: Some(pending) }
    }

    /// Another call on the same link: gives its socket, if the link stands and no call is under way on it.
    pub(in crate::driver) fn begin_again(&mut self, pending: &Arc<PendingCall>) -> Option<Key> {
        let socket = self.socket.filter(|_| self.pending.is_none())?;
        self.pending = Some(Arc::clone(pending));
        Some(socket)
    }

    /// It has come to something; false if it had before, since a service closes behind its answer, which is no reason to
    /// forget that.
    pub(in crate::driver) fn end(&mut self, answer: CallAnswer) -> bool {
        if answer.is_err() {
            self.socket = None;
        }
        let Some(pending) = self.pending.take() else { return false };
        pending.complete(answer);
        true
    }
}
