//! What entities are made from. A checkpoint holds it, and a restored guest gets the same entities.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Length of the record `qos` in the guest's memory.
pub const QOS_RECORD: usize = 48;

/// An entity, as the guest describes it when it creates it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Description {
    Node { name: String },
    Publisher(Topic),
    Subscription(Topic),
    Client(Interface),
    Service(Interface),
    ActionClient(Interface),
    ActionServer(Interface),
    Timer(TimerDescription),
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node { name } => write!(f, "node {name}"),
            Self::Publisher(topic) => write!(f, "the publisher of {}", topic.name),
            Self::Subscription(topic) => write!(f, "the subscription of {}", topic.name),
            Self::Client(service) => write!(f, "the client of {}", service.name),
            Self::Service(service) => write!(f, "the service {}", service.name),
            Self::ActionClient(action) => write!(f, "the client of the action {}", action.name),
            Self::ActionServer(action) => write!(f, "the server of the action {}", action.name),
            Self::Timer(_) => f.write_str("a timer"),
        }
    }
}

/// The topic of a publisher or subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Topic {
    pub node: u32,
    pub name: String,
    pub type_name: String,
    pub encoding: u32,
    /// The record `qos`.
    pub qos: Vec<u8>,
}

/// A service or an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    pub node: u32,
    pub name: String,
    pub type_name: String,
    pub encoding: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimerDescription {
    pub node: u32,
    /// Nanoseconds.
    pub period: u64,
    pub clock: u32,
    pub is_oneshot: bool,
}
