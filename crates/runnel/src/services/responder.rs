//! Deferred responses of services.

use std::fmt;
use std::marker::PhantomData;

use runnel_core::message::Service;

use crate::data::{Responder as RequestResponder, ServiceCallback, ServiceRequest};
use crate::error::Error;
use crate::node::Node;
use crate::node::options::ServerOptions;
use crate::services::service::{ServiceServer, read_request, write_response};

impl Node {
    /// Creates a service whose responses are sent later: by the callback's second parameter, at any time, in any order
    /// and from any thread. The callback runs on a spinning thread. It gets the next request before it has responded to
    /// this one.
    ///
    /// ```no_run
    /// use std::{thread, time::Duration};
    /// use runnel::msgs::std_srvs::srv::{Trigger, TriggerResponse};
    ///
    /// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
    /// let _calibrate = node.create_deferred_service::<Trigger>("calibrate", |_, responder| {
    ///     thread::spawn(move || {
    ///         thread::sleep(Duration::from_secs(10));
    ///         responder.respond(&TriggerResponse { success: true, message: "calibrated".into() });
    ///     });
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Node::create_service`].
    pub fn create_deferred_service<S: Service>(
        &self,
        service: impl Into<ServerOptions>,
        mut callback: impl FnMut(S::Request, Responder<S>) + Send + 'static,
    ) -> Result<ServiceServer, Error> {
        let on_request = move |request| {
            if let Some((request, responder)) = Responder::of_request(request) {
                callback(request, responder);
            }
        };
        self.provide::<S>(
            service,
            self.inner.executor_dispatch(),
            ServiceCallback::Defers(Box::new(on_request)),
        )
    }
}

/// Identifies a request: its client and its sequence number for that client. As `rmw_request_id_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    client: [u8; 16],
    sequence_number: i64,
}

impl RequestId {
    pub(crate) fn of(responder: &RequestResponder) -> Self {
        let (client, sequence_number) = responder.request();
        Self { client, sequence_number }
    }

    /// The client. In ROS 1 it is a number of the client's connection in this process, in ROS 2 the GUID of one of its
    /// endpoints.
    pub fn client(&self) -> [u8; 16] {
        self.client
    }

    /// The request's sequence number for its client, from 1.
    pub fn sequence_number(&self) -> i64 {
        self.sequence_number
    }
}

/// Answers one request of a service, from any thread. If it is dropped without a response, the client gets an error.
#[must_use = "a responder that is dropped refuses the request: call `respond` or move it to a thread that does"]
pub struct Responder<S> {
    responder: RequestResponder,
    service: PhantomData<fn(S)>,
}

impl<S: Service> Responder<S> {
    /// Sends the response. If it cannot be encoded, the client gets the reason as an error in its place, as by
    /// [`fail`](Self::fail).
    pub fn respond(self, response: &S::Response) {
        let mut bytes = Vec::new();
        let written = write_response(response, self.responder.encoding(), &mut bytes);
        self.responder.respond(written.map(|()| bytes));
    }

    /// Sends the error `why` to the client in place of a response.
    pub fn fail(self, why: impl fmt::Display) {
        self.responder.respond(Err(why.to_string()));
    }

    /// The request that this answers.
    pub fn request_id(&self) -> RequestId {
        RequestId::of(&self.responder)
    }

    /// Reads a request. The client of an unreadable request gets an error.
    pub(crate) fn of_request(request: ServiceRequest) -> Option<(S::Request, Self)> {
        let ServiceRequest { bytes, responder } = request;
        let mut request = S::Request::default();
        match read_request(&mut request, responder.encoding(), &bytes) {
            Ok(()) => Some((request, Self { responder, service: PhantomData })),
            Err(why) => {
                responder.respond(Err(why));
                None
            }
        }
    }
}

impl<S: Service> fmt::Debug for Responder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("request_id", &self.request_id()).finish_non_exhaustive()
    }
}
