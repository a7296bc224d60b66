//! Calls of services: what is asked for on each link, and what it came to.

use std::sync::Arc;
use std::thread::Thread;

use runnel_ros1::node::ServiceFailure;
use runnel_ros1::tcpros::Response;

use crate::driver::table::Key;
use crate::ready::{ReadyQueue, Runnable};

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
    /// What the call came to, until it is taken.
    answer: Option<CallAnswer>,
    tell: Option<Tell>,
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

/// What a call came to.
pub(crate) type CallAnswer = Result<Response, ServiceFailure>;

/// Who is told when the answer is there.
pub(crate) enum Tell {
    /// A callback, which waits for its turn.
    Callback { ready: Arc<ReadyQueue>, due: Arc<dyn Runnable> },
    /// A thread that waits for it.
    Thread(Thread),
}

impl Tell {
    fn tell(self) {
        match self {
            Self::Callback { ready, due } => ready.push(due),
            Self::Thread(thread) => thread.unpark(),
        }
    }
}

impl Call {
    pub(in crate::driver) fn new(Asks { request, response_len }: Asks, tell: Option<Tell>) -> Self {
        Self { request, response_len, info: None, socket: None, answer: None, tell }
    }

    /// Another call on the same link: gives its socket, if the link stands and no answer waits to be taken.
    pub(in crate::driver) fn begin_again(&mut self, tell: Tell) -> Option<Key> {
        let socket = self.socket.filter(|_| self.answer.is_none())?;
        self.tell = Some(tell);
        Some(socket)
    }

    /// It has come to something; false if it had before, since a service closes behind its answer, which is no reason to
    /// forget that.
    pub(in crate::driver) fn end(&mut self, answer: CallAnswer) -> bool {
        if answer.is_err() {
            self.socket = None;
        }
        if self.answer.is_some() {
            return false;
        }
        self.answer = Some(answer);
        self.tell.take().into_iter().for_each(Tell::tell);
        true
    }

    /// What it came to, once.
    pub(in crate::driver) fn take_answer(&mut self) -> Option<CallAnswer> {
        self.answer.take()
    }
}
