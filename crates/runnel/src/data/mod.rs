//! Data plane: carries messages over established links. It knows neither the master nor name resolution.

pub(crate) mod bridge_node;
mod datagrams;
mod deadline_monitor;
mod events;
mod frames;
mod input;
mod kept;
mod matched_publishers;
pub(crate) mod outgoing;
mod param_watch;
mod pending_call;
mod publication;
mod qos_events;
mod received;
mod sample_info;
mod service;
mod stream_path;
mod subscription;
mod switch_outcome;
mod type_sums;
mod unsent;

pub(crate) use deadline_monitor::Monitored;
pub(crate) use events::{Event, EventLimit, Events};
pub(crate) use input::TopicInput;
pub(crate) use kept::Kept;
pub(crate) use param_watch::{ParameterRead, WatchCore};
pub(crate) use pending_call::{CallAnswer, CallPath, PendingCall};
pub(crate) use publication::{
    LoanError, LoanedBuffer, Outgoing, Publication, PublicationOptions, Refused, RtpsWriter, WriterGroup,
    WrittenLoan,
};
pub(crate) use qos_events::{Callbacks, QosEvents};
pub(crate) use received::{Received, SharedMessage};
pub(crate) use sample_info::SampleInfo;
pub(crate) use service::{
    ABSENCE, Addressee, ClientLink, EventPublishing, LocalClient, LongWaits, Replies, RequestIdentity,
    RequestKey, Responder, ServiceCall, ServiceCallback, ServiceCore, ServiceEnd, ServiceEvent,
    ServiceEventType, ServiceEvents, ServiceMemory, ServiceRequest, ServiceTypes, no_memory_for_response,
};
pub(crate) use stream_path::StreamPath;
pub(crate) use subscription::{
    Delivery, LinkInfo, PairPosition, SubscriptionCore, SubscriptionSpec, Taken, Unreadable,
};
pub(crate) use switch_outcome::SwitchOutcome;
pub(crate) use type_sums::TypeSums;
pub(crate) use unsent::Unsent;
