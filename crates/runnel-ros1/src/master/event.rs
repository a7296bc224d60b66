//! Events of the master, for its driver.

use core::fmt;
use std::collections::VecDeque;
use std::net::SocketAddr;

use super::registry::Role;
use crate::peer_text::sanitize;
use crate::rpc::{CallError, ClientFault, UriError};

/// Most events that wait for the driver; past it the oldest are dropped.
const WAITING: usize = 4096;

/// An event of the master, for the log and for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MasterEvent {
    /// A node has made or repeated a registration.
    Registered {
        /// The role.
        role: Role,
        /// The node.
        node: String,
        /// The topic, service or parameter.
        name: String,
    },
    /// A node has ended a registration.
    Unregistered {
        /// The role.
        role: Role,
        /// The node.
        node: String,
        /// The topic, service or parameter.
        name: String,
    },
    /// A node registered under the name of another. The older node's registrations were dropped, and it is requested
    /// to shut down.
    TakenOver {
        /// The name.
        name: String,
        /// The URI of the older node.
        old_uri: String,
        /// The URI of the newer node.
        new_uri: String,
    },
    /// A node closed its connections and is no longer reachable. Its registrations were dropped.
    NodeLost {
        /// Its name.
        name: String,
        /// Its URI.
        uri: String,
    },
    /// A node could not be notified of a change.
    UpdateFailed {
        /// Its URI.
        uri: String,
        /// The error.
        why: UpdateFault,
    },
    /// Updates for a node are withheld until it answers a call: it never has, and they would exceed three times what
    /// it sent, or a call has failed. Reported for the first withheld update.
    Withheld {
        /// Its URI.
        uri: String,
    },
    /// A parameter change was refused because it could not be stored.
    ParamNotStored {
        /// The parameter.
        key: String,
        /// The node that requested the change.
        caller: String,
        /// The error of the store.
        why: String,
        /// Changes refused since the master started, this one included.
        count: u64,
    },
    /// A client was refused, or sent an invalid call.
    Refused {
        /// Its address.
        peer: SocketAddr,
        /// The fault.
        why: ClientFault,
    },
    /// A caller requests that the master shuts down. The master runs on until its driver ends it.
    ShutdownRequested {
        /// The caller's name.
        caller: String,
        /// The reason given.
        reason: String,
    },
}

impl fmt::Display for MasterEvent {
    /// A sentence for the log. Names and URIs come from nodes, so they are escaped and cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered { role, node, name } => {
                write!(f, "{} registered as {role} {}", sanitize(node), sanitize(name))
            }
            Self::Unregistered { role, node, name } => {
                write!(f, "{} is no longer registered as {role} {}", sanitize(node), sanitize(name))
            }
            Self::TakenOver { name, old_uri, new_uri } => {
                let [name, old, new] = [name, old_uri, new_uri].map(|text| sanitize(text));
                write!(f, "{name} at {old} is replaced by one at {new} and requested to shut down")
            }
            Self::NodeLost { name, uri } => {
                write!(f, "{} at {} is gone: its registrations are dropped", sanitize(name), sanitize(uri))
            }
            Self::UpdateFailed { uri, why } => {
                write!(
                    f,
                    "cannot notify the node at {} of a change: {}",
                    sanitize(uri),
                    sanitize(&why.to_string())
                )
            }
            Self::Withheld { uri } => {
                write!(f, "updates for the node at {} are withheld until it answers a call", sanitize(uri))
            }
            Self::ParamNotStored { key, caller, why, count } => {
                let [key, caller, why] = [key, caller, why].map(|text| sanitize(text));
                write!(
                    f,
                    "parameter {key} is not changed for {caller} ({count} refused since the start): {why}"
                )
            }
            Self::Refused { peer, why } => {
                write!(f, "peer {peer} is refused: {}", sanitize(&why.to_string()))
            }
            Self::ShutdownRequested { caller, reason } => {
                write!(f, "{} requests a shutdown: {}", sanitize(caller), sanitize(reason))
            }
        }
    }
}

/// Reason why a node could not be notified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateFault {
    /// Its URI is invalid.
    Uri(UriError),
    /// The call failed.
    Call(CallError),
    /// It has answered no call to its URI.
    NeverAnswered {
        /// Updates that are given up.
        updates: usize,
        /// The error of the last call.
        last: CallError,
    },
}

impl fmt::Display for UpdateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uri(error) => error.fmt(f),
            Self::Call(error) => error.fmt(f),
            Self::NeverAnswered { updates, last } => {
                write!(f, "it has never answered; {updates} updates are given up: {last}")
            }
        }
    }
}

/// Queue of events. If the driver takes none, the oldest are dropped, but never a shutdown request.
#[derive(Debug, Default)]
pub(super) struct Events {
    waiting: VecDeque<MasterEvent>,
    shutdown: Option<MasterEvent>,
}

impl Events {
    /// Adds an event.
    pub(super) fn push(&mut self, event: MasterEvent) {
        if matches!(event, MasterEvent::ShutdownRequested { .. }) {
            self.shutdown.get_or_insert(event);
            return;
        }
        if self.waiting.len() >= WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(event);
    }

    /// Takes the next event.
    pub(super) fn pop(&mut self) -> Option<MasterEvent> {
        self.waiting.pop_front().or_else(|| self.shutdown.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{CallTarget, Uri};

    #[test]
    fn untaken_events_are_dropped_except_shutdown() {
        let mut events = Events::default();
        let shutdown = MasterEvent::ShutdownRequested { caller: "/x".into(), reason: "done".into() };
        events.push(shutdown.clone());
        for number in 0..=WAITING {
            events.push(MasterEvent::NodeLost { name: number.to_string(), uri: String::new() });
        }
        assert_eq!(events.pop(), Some(MasterEvent::NodeLost { name: "1".into(), uri: String::new() }));
        assert_eq!(std::iter::from_fn(|| events.pop()).last(), Some(shutdown));
    }

    #[test]
    fn event_is_one_sentence_on_one_line() {
        let (node, name) = (String::from("/talker"), String::from("/chatter"));
        let uri = || String::from("http://a:1/");
        let call = CallTarget { uri: Uri::parse(&uri()).expect("an address"), method: "getPid".into() };
        let timed_out = CallError::TimedOut { call };
        let table = [
            (
                MasterEvent::Registered { role: Role::Publisher, node: node.clone(), name: name.clone() },
                "/talker registered as publisher of topic /chatter",
            ),
            (
                MasterEvent::Unregistered { role: Role::Service, node, name },
                "/talker is no longer registered as provider of service /chatter",
            ),
            (
                MasterEvent::NodeLost { name: "/odd\nname".into(), uri: uri() },
                "/odd\\nname at http://a:1/ is gone: its registrations are dropped",
            ),
            (
                MasterEvent::UpdateFailed { uri: uri(), why: UpdateFault::Call(timed_out.clone()) },
                "cannot notify the node at http://a:1/ of a change: call of getPid of http://a:1/: no answer in time",
            ),
            (
                MasterEvent::UpdateFailed {
                    uri: uri(),
                    why: UpdateFault::NeverAnswered { updates: 2, last: timed_out },
                },
                "cannot notify the node at http://a:1/ of a change: it has never answered; 2 updates are given up: \
                 call of getPid of http://a:1/: no answer in time",
            ),
            (
                MasterEvent::Refused { peer: ([10, 0, 0, 9], 7).into(), why: ClientFault::EvictedIdle },
                "peer 10.0.0.9:7 is refused: closed while idle, to accept another client",
            ),
        ];
        for (event, expected) in table {
            assert_eq!(event.to_string(), expected);
        }
    }
}
