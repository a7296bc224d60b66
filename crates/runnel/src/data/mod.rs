//! The data plane: what carries messages once a link stands. Nothing here knows of the master, or resolves a
//! name.

mod datagrams;
mod events;
mod frames;
mod input;
mod met;
mod publication;
mod qos_events;
mod ready;
mod received;
mod service;
mod subscription;
mod unsent;
mod watch;
mod way;

// What the two graphs have in common is of ROS 1, which was here first: how long a message is stands before it, and what
// may wait has a bound.
pub(crate) use runnel_ros1::tcpros::{LENGTH, LengthBeyondLimit, MAX_MESSAGE, QueueBound};

pub(crate) use events::{Event, Events, Most};
pub(crate) use input::TopicInput;
pub(crate) use publication::{
    Blank, Filled, Left, MOST_UNDER_WAY, Offer, Outgoing, Publication, PublicationOptions, Refused,
    RtpsWriter, Unfit,
};
pub(crate) use qos_events::{Callbacks, QosEvents};
pub(crate) use ready::{ReadyQueue, Runnable, When};
pub(crate) use received::Kept;
pub(crate) use service::{Asked, ClientLink, Runner, ServiceCore, ServiceTypes};
pub(crate) use subscription::{
    Delivery, LinkInfo, SharedMessage, SubscriptionCore, SubscriptionSpec, Unreadable,
};
pub(crate) use unsent::Unsent;
pub(crate) use watch::Watched;
pub(crate) use way::Way;
