//! Responses of services.

use std::fmt;
use std::marker::PhantomData;

use runnel_core::message::Service;
use runnel_core::wire::Encoding;

use crate::abi::{Handle, Severity};
use crate::encoding::encoded;
use crate::error::Error;
use crate::host::{self, services};

/// Answers one request of a service. If it is dropped without a response, the client gets an error.
#[must_use = "a responder that is dropped refuses the request: call `respond` or keep it"]
pub struct Responder<S> {
    /// `None` once it has answered.
    request: Option<u64>,
    node: Handle,
    encoding: Encoding,
    service: PhantomData<fn(S)>,
}

impl<S: Service> Responder<S> {
    pub(crate) fn new(request: u64, node: Handle, encoding: Encoding) -> Self {
        Self { request: Some(request), node, encoding, service: PhantomData }
    }

    /// Sends the response. If it cannot be encoded, the client gets the reason as an error in its place, as by
    /// [`fail`](Self::fail).
    pub fn respond(mut self, response: &S::Response) {
        let Some(request) = self.request else { return };
        match encoded(response, self.encoding, |bytes| services::respond(request, bytes)) {
            Ok(sent) => {
                self.request = None;
                self.report(sent);
            }
            Err(why) => self.fail(format_args!("response: {why}")),
        }
    }

    /// Sends the error `why` to the client in place of a response.
    pub fn fail(mut self, why: impl fmt::Display) {
        self.refuse(&why.to_string());
    }
}

impl<S> Responder<S> {
    fn refuse(&mut self, why: &str) {
        if let Some(request) = self.request.take() {
            self.report(services::refuse(request, why));
        }
    }

    fn report(&self, sent: Result<(), Error>) {
        if let Err(error) = sent {
            host::log(self.node, Severity::WARN, &format!("a response cannot be sent: {error}"));
        }
    }
}

impl<S> Drop for Responder<S> {
    fn drop(&mut self) {
        self.refuse("the service has not answered");
    }
}

impl<S> fmt::Debug for Responder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("request", &self.request).finish_non_exhaustive()
    }
}
