//! The data plane: what carries messages once a link stands. Nothing here knows of the master, or resolves a
//! name.

mod datagrams;
mod events;
mod frames;
mod input;
mod kept;
mod met;
mod param_watch;
mod pending_call;
mod publication;
mod qos_events;
mod received;
mod sample_info;
mod service;
mod subscription;
mod unsent;
mod watch;
mod way;

pub(crate) use events::{Event, Events, Most};
pub(crate) use input::TopicInput;
pub(crate) use kept::Kept;
pub(crate) use param_watch::WatchCore;
pub(crate) use pending_call::{CallAnswer, PendingCall};
pub(crate) use publication::{
    Blank, Filled, NoBlank, Offer, Outgoing, Publication, PublicationOptions, Refused, RtpsWriter,
};
pub(crate) use qos_events::{Callbacks, QosEvents};
pub(crate) use received::{Received, SharedMessage};
pub(crate) use sample_info::SampleInfo;
pub(crate) use service::{
    Asked, ClientLink, Responder, ServiceCallback, ServiceCore, ServiceRequest, ServiceTypes,
    no_memory_for_response,
};
pub(crate) use subscription::{
    Delivery, LinkInfo, PairPosition, SubscriptionCore, SubscriptionSpec, Taken, Unreadable,
};
pub(crate) use unsent::Unsent;
pub(crate) use watch::Watched;
pub(crate) use way::Way;
