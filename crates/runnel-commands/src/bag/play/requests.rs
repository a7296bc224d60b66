//! Recorded requests of services that are sent again.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use runnel::core::dynamic::{Array, DynamicMessage, Value, ValueRef};
use runnel::core::schema::Schema;
use runnel::{DynamicClient, Node};
use runnel_bag::Channel;

use super::service_events;
use crate::bag::service_topics::ServiceTopic;
use crate::bag::subject::Subject;
use crate::types::Types;

/// Which of the two events of a request is sent, by its number in `service_msgs/msg/ServiceEventInfo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RequestSource {
    /// What servers published
    #[default]
    #[value(name = "service_introspection")]
    ServiceIntrospection,
    /// What clients published
    #[value(name = "client_introspection")]
    ClientIntrospection,
}

/// How long a service may take to answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Sends the recorded requests of one service.
pub struct Requests {
    client: DynamicClient,
    event: Arc<Schema>,
    source: RequestSource,
    unanswered: Arc<Unanswered>,
}

/// The number of requests without a response.
#[derive(Default)]
struct Unanswered {
    count: Mutex<usize>,
    answered: Condvar,
}

/// A request without a response, until it is dropped.
struct PendingRequest(Arc<Unanswered>);

impl RequestSource {
    fn event_type(self) -> u64 {
        match self {
            Self::ClientIntrospection => 0,
            Self::ServiceIntrospection => 1,
        }
    }

    /// Whether an event is of this source, and has a request.
    pub fn has(self, event: &DynamicMessage) -> bool {
        event_type(event) == Some(self.event_type())
    }
}

impl Requests {
    /// Creates the client of a service whose calls are in a channel.
    ///
    /// # Errors
    /// Why the requests cannot be sent.
    pub fn create(
        node: &Node,
        service: &str,
        channel: &Channel,
        types: &Types,
        source: RequestSource,
    ) -> Result<Self, String> {
        let found = service_events::types(channel, types)?;
        let client =
            node.create_dynamic_client(service, &found.service).map_err(|error| error.to_string())?;
        Ok(Self { client, event: found.event, source, unanswered: Arc::default() })
    }

    /// The service.
    pub fn service(&self) -> &str {
        self.client.service()
    }

    /// Waits until the service is there, at most this long.
    pub fn wait(&self, timeout: Duration) {
        // Whether it is there is asked again for each request.
        _ = self.client.wait_for_service(timeout);
    }

    /// Waits until all requests are answered, at most until an instant. Returns the number of those without a response.
    ///
    /// A client that leaves earlier takes the requests along that the service has received and not read.
    pub fn wait_for_responses(&self, until: Instant) -> usize {
        self.unanswered.wait(until)
    }

    /// Sends the request of an event. False if the event has none to send.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub fn send(&self, event: &[u8]) -> Result<bool, String> {
        let event = DynamicMessage::decode_payload(&self.event, event).map_err(|error| error.to_string())?;
        if !self.source.has(&event) {
            return Ok(false);
        }
        let service = self.client.service();
        let request = request(&event)?;
        if !self.client.service_is_ready().map_err(|error| error.to_string())? {
            return Err("no server has the service. Try: start the server, or play without --publish-service-requests".into());
        }
        let (name, pending) = (service.to_owned(), PendingRequest::new(&self.unanswered));
        let done = move |response: Result<DynamicMessage, runnel::Error>| {
            drop(pending);
            if let Err(error) = response {
                log::warn!("service {name}: {error}");
            }
        };
        self.client.call_with(request, Some(TIMEOUT), done).map_err(|error| error.to_string())?;
        Ok(true)
    }
}

impl Unanswered {
    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, until: Instant) -> usize {
        let left = until.saturating_duration_since(Instant::now());
        let waited = self.answered.wait_timeout_while(self.count(), left, |count| *count > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl PendingRequest {
    fn new(unanswered: &Arc<Unanswered>) -> Self {
        *unanswered.count() += 1;
        Self(Arc::clone(unanswered))
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.answered.notify_all();
    }
}

/// The service's name of a channel with events, unless it belongs to an action.
pub fn service_of(channel: &Channel) -> Option<String> {
    match Subject::of(channel) {
        Subject::Service(ServiceTopic { service, .. }) => Some(service),
        _ => None,
    }
}

fn event_type(event: &DynamicMessage) -> Option<u64> {
    match event.get("info.event_type").ok()? {
        ValueRef::UInt(number) => Some(number),
        ValueRef::Int(number) => u64::try_from(number).ok(),
        _ => None,
    }
}

/// The request of an event.
///
/// # Errors
/// That it was not recorded.
pub fn request(event: &DynamicMessage) -> Result<&DynamicMessage, &'static str> {
    let request = match event.field("request") {
        Some(Value::Array(Array::Message(requests))) => requests.first(),
        _ => None,
    };
    request.ok_or("only the metadata of its calls were recorded, without the requests")
}
