//! Introspection of services in ROS 2: events about the requests and responses of a server or a client, which it
//! publishes on `<service>/_service_event`. Source: service_msgs/msg/ServiceEventInfo.
//!
//! ```text
//! | encapsulation (4) | kind (1), padding (3) | stamp (8) | client (16) | padding (4) | number (8) | request | response |
//! ```
//! Request and response are sequences of at most one element.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use runnel_core::dynamic::DynamicMessage;
use runnel_core::message::Message;
use runnel_core::schema::Schema;
use runnel_core::time::Time;
use runnel_core::wire::{Bytes, Encoding, Sink, cdr};

use super::requester::RequestKey;
use crate::data::outgoing::Written;
use crate::data::{Publication, WriterGroup};
use crate::sync::{Class, Mutex, lock};

/// What has happened to a request or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceEvent {
    RequestSent = 0,
    RequestReceived = 1,
    ResponseSent = 2,
    ResponseReceived = 3,
}

/// Puts a request into a sequence, in which its fields are aligned differently.
#[derive(Clone, Debug)]
pub(crate) enum InSequence {
    /// Of a type that is known when the program is compiled.
    Typed(fn(&[u8]) -> Option<Vec<u8>>),
    /// Of a type that is known only at run time, as it is in ROS 2.
    Dynamic(Arc<Schema>),
}

/// The events of one server or client; none unless they are configured.
#[derive(Default)]
pub(crate) struct ServiceEvents {
    is_on: AtomicBool,
    publisher: EventPublisher,
}

/// Publishes events.
pub(crate) struct EventPublishing {
    pub(crate) publication: Arc<Publication>,
    pub(crate) group: Arc<WriterGroup>,
    /// The current ROS time.
    pub(crate) now: Box<dyn Fn() -> Time + Send + Sync>,
    /// For the requests, if events have contents.
    pub(crate) contents: Option<InSequence>,
}

struct EventPublisher(Mutex<Option<Arc<EventPublishing>>>);

impl Default for EventPublisher {
    fn default() -> Self {
        Self(Mutex::new(Class::ServiceEvents, None))
    }
}

impl ServiceEvents {
    /// Publishes events from now on, or none.
    pub(crate) fn configure(&self, publishing: Option<EventPublishing>) {
        let is_on = publishing.is_some();
        let former = std::mem::replace(&mut *lock(&self.publisher.0), publishing.map(Arc::new));
        self.is_on.store(is_on, Ordering::Release);
        drop(former);
    }

    /// Whether events are published.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }

    /// Publishes an event about the request of this key, and the payload that was sent or received.
    pub(crate) fn note(&self, event: ServiceEvent, key: RequestKey, payload: &[u8]) {
        if !self.is_on() {
            return;
        }
        let Some(publishing) = lock(&self.publisher.0).clone() else { return };
        let EventPublishing { publication, group, now, contents } = &*publishing;
        let body = encode((event, key), now(), contents.as_ref().map(|in_sequence| (in_sequence, payload)));
        let write = |encoding: Encoding, out: &mut runnel_core::wire::GrowingSink| {
            // It has no form in ROS 1.
            if !encoding.is_ros1() {
                out.put(&body);
            }
            Ok(())
        };
        // A slow subscriber misses events, not the service its responses.
        drop(publication.publish(Written::by(write), group));
    }
}

impl fmt::Debug for ServiceEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceEvents").field("is_on", &self.is_on).finish_non_exhaustive()
    }
}

/// The payload of an event.
fn encode(
    (event, (client, number)): (ServiceEvent, RequestKey),
    stamp: Time,
    contents: Option<(&InSequence, &[u8])>,
) -> Vec<u8> {
    let mut payload = vec![0, 1, 0, 0, event as u8, 0, 0, 0];
    payload.extend(cdr::encode(&stamp, Encoding::Xcdr1).unwrap_or_default().iter().skip(cdr::HEADER_LEN));
    payload.extend(client);
    payload.extend([0; 4]);
    payload.extend(number.to_le_bytes());
    let empty = 0_u32.to_le_bytes();
    match (event, contents) {
        (ServiceEvent::RequestSent | ServiceEvent::RequestReceived, Some((in_sequence, request))) => {
            payload.extend(in_sequence.of(request).unwrap_or_else(|| empty.to_vec()));
            payload.resize(payload.len().next_multiple_of(4), 0);
            payload.extend(empty);
        }
        // The element begins at a multiple of 8, as after its own encapsulation.
        (_, Some((_, [0, 1, _, _, response @ ..]))) => {
            payload.extend(empty);
            payload.extend(1_u32.to_le_bytes());
            payload.extend(response);
        }
        _ => payload.extend([empty, empty].concat()),
    }
    payload
}

impl InSequence {
    pub(crate) fn typed<M: Message>() -> Self {
        Self::Typed(|payload| {
            let message: M = cdr::decode(payload).ok()?;
            cdr::encode(&vec![message], Encoding::Xcdr1).ok()
        })
    }

    /// The sequence of the request with this payload, without encapsulation. `None` if it cannot be read.
    fn of(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut sequence = match self {
            Self::Typed(in_sequence) => in_sequence(payload)?,
            Self::Dynamic(schema) => {
                let reader = cdr::reader(Bytes::from(payload)).ok()?;
                let message = DynamicMessage::read(schema, reader).ok()?;
                message.to_payload_of_sequence(Encoding::Xcdr1).ok()?
            }
        };
        sequence.drain(..cdr::HEADER_LEN);
        Some(sequence)
    }
}

#[cfg(test)]
mod tests {
    use runnel_core::schema::{Generation, TypeName};
    use runnel_msgs::rcl_interfaces::msg::{Parameter, ParameterValue};
    use runnel_msgs::rcl_interfaces::srv::SetParametersRequest;
    use runnel_msgs::std_srvs::srv::{SetBoolRequest, SetBoolResponse};

    use super::*;

    const KEY: RequestKey = ([7; 16], 3);

    fn info(kind: u8) -> Vec<u8> {
        let mut info = vec![0, 1, 0, 0, kind, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];
        info.extend([7; 16]);
        info.extend([0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        info
    }

    fn event(event: ServiceEvent, contents: Option<&[u8]>) -> Vec<u8> {
        let stamp = Time::from_nanos(1_000_000_002);
        let in_sequence = InSequence::typed::<SetBoolRequest>();
        encode((event, KEY), stamp, contents.map(|payload| (&in_sequence, payload)))
    }

    #[test]
    fn metadata_has_empty_sequences() {
        let expected = [info(1), vec![0; 8]].concat();
        assert_eq!(event(ServiceEvent::RequestReceived, None), expected);
    }

    #[test]
    fn request_is_the_only_element_of_its_sequence() {
        let request = cdr::encode(&SetBoolRequest { data: true }, Encoding::Xcdr1).unwrap();
        let expected = [info(0), vec![1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!(event(ServiceEvent::RequestSent, Some(&request)), expected);
        let malformed = event(ServiceEvent::RequestSent, Some(&[0, 1, 0, 0]));
        assert_eq!(malformed, [info(0), vec![0; 8]].concat());
    }

    /// The element has fields of 8 bytes, which a sequence aligns differently.
    #[test]
    fn request_of_dynamic_type_is_like_a_typed_one() {
        type Request = SetParametersRequest;
        let value =
            ParameterValue { double_value: 0.5, string_value: "m".into(), ..ParameterValue::default() };
        let request = Request { parameters: vec![Parameter { name: "rate".into(), value }] };
        let name = TypeName::parse("rcl_interfaces/srv/SetParameters_Request").unwrap();
        let schema = Schema::from_full_text_in(Generation::Ros2, &name, Request::ROS2_DEFINITION).unwrap();
        let payload = cdr::encode(&request, Encoding::Xcdr1).unwrap();
        let typed = InSequence::typed::<Request>().of(&payload).unwrap();
        assert_eq!(InSequence::Dynamic(schema).of(&payload).unwrap(), typed);
    }

    #[test]
    fn response_is_the_only_element_of_its_sequence() {
        let response = SetBoolResponse { success: true, message: "on".into() };
        let response = cdr::encode(&response, Encoding::Xcdr1).unwrap();
        let content = [&[0, 0, 0, 0, 1, 0, 0, 0], &response[4..]].concat();
        assert_eq!(event(ServiceEvent::ResponseSent, Some(&response)), [info(2), content].concat());
    }
}
