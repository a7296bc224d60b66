//! What the master tells whoever drives it.

use core::fmt;
use std::collections::VecDeque;
use std::net::SocketAddr;

use super::registry::Role;
use crate::rpc::{CallError, ClientFault, UriError};
use crate::told::told;

/// How many events wait to be taken; past it the oldest are dropped.
const WAITING: usize = 4096;

/// What happened at the master, for logs and for whoever must act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MasterEvent {
    /// A node registered something, or registered it again.
    Registered {
        /// As what.
        role: Role,
        /// The node.
        node: String,
        /// The topic, service or parameter.
        name: String,
    },
    /// A node ended a registration.
    Unregistered {
        /// As what.
        role: Role,
        /// The node.
        node: String,
        /// The topic, service or parameter.
        name: String,
    },
    /// A node registered under the name of another, whose registrations were dropped and which is told to shut
    /// down.
    TakenOver {
        /// The name.
        name: String,
        /// Where the old node was reached.
        old_uri: String,
        /// Where the new one is reached.
        new_uri: String,
    },
    /// A node closed its connections and cannot be reached any more; its registrations were dropped.
    NodeLost {
        /// Its name.
        name: String,
        /// Where it was reached.
        uri: String,
    },
    /// A node could not be told of something.
    UpdateFailed {
        /// Where it is reached.
        uri: String,
        /// What went wrong.
        why: UpdateFault,
    },
    /// Updates for a node wait until it has answered a call: it never has, and more than three times what it sent would
    /// go to its address, or a call has failed. Told when the first one waits.
    Withheld {
        /// Where it says that it is reached.
        uri: String,
    },
    /// A change of a parameter was refused because it could not be stored.
    ParamNotStored {
        /// The parameter.
        key: String,
        /// The node that asked for the change.
        caller: String,
        /// Why it could not be stored.
        why: String,
        /// Changes that were refused so since the master began, this one included.
        count: u64,
    },
    /// A peer was turned away, or sent something that is no call.
    Refused {
        /// Its address.
        peer: SocketAddr,
        /// What was wrong.
        why: ClientFault,
    },
    /// A caller asks the master to shut down. It goes on until its driver ends it.
    ShutdownRequested {
        /// The caller's name.
        caller: String,
        /// The reason that it gave.
        reason: String,
    },
}

impl fmt::Display for MasterEvent {
    /// A sentence for a log. Names and addresses are as nodes gave them, so they are escaped and cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered { role, node, name } => {
                write!(f, "{} registered as {role} {}", told(node), told(name))
            }
            Self::Unregistered { role, node, name } => {
                write!(f, "{} is no longer registered as {role} {}", told(node), told(name))
            }
            Self::TakenOver { name, old_uri, new_uri } => {
                let [name, old, new] = [name, old_uri, new_uri].map(|text| told(text));
                write!(f, "{name} at {old} is replaced by one at {new} and told to shut down")
            }
            Self::NodeLost { name, uri } => {
                write!(f, "{} at {} is gone: its registrations are dropped", told(name), told(uri))
            }
            Self::UpdateFailed { uri, why } => {
                write!(
                    f,
                    "the node at {} could not be told of a change: {}",
                    told(uri),
                    told(&why.to_string())
                )
            }
            Self::Withheld { uri } => {
                write!(f, "updates for the node at {} wait until it has answered a call", told(uri))
            }
            Self::ParamNotStored { key, caller, why, count } => {
                let [key, caller, why] = [key, caller, why].map(|text| told(text));
                write!(
                    f,
                    "parameter {key} is not changed for {caller} ({count} refused since the start): {why}"
                )
            }
            Self::Refused { peer, why } => write!(f, "peer {peer} is refused: {}", told(&why.to_string())),
            Self::ShutdownRequested { caller, reason } => {
                write!(f, "{} asks for a shutdown: {}", told(caller), told(reason))
            }
        }
    }
}

/// Why a node could not be told of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateFault {
    /// It is reached at no address.
    Uri(UriError),
    /// The call failed.
    Call(CallError),
    /// It has answered none of the calls to its address.
    NeverAnswered {
        /// Updates that are given up.
        updates: usize,
        /// How the last call failed.
        last: CallError,
    },
}

impl fmt::Display for UpdateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uri(error) => error.fmt(f),
            Self::Call(error) => error.fmt(f),
            Self::NeverAnswered { updates, last } => {
                write!(f, "it has never answered, {updates} updates are given up: {last}")
            }
        }
    }
}

/// Events that wait to be taken. A request to shut down is never dropped.
#[derive(Debug, Default)]
pub(super) struct Events {
    waiting: VecDeque<MasterEvent>,
    shutdown: Option<MasterEvent>,
    dropped: u64,
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
            self.dropped += 1;
        }
        self.waiting.push_back(event);
    }

    /// Takes the next event.
    pub(super) fn pop(&mut self) -> Option<MasterEvent> {
        self.waiting.pop_front().or_else(|| self.shutdown.take())
    }

    /// How many events were dropped because nobody took them.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{CallTarget, Uri};

    #[test]
    fn events_that_nobody_takes_are_dropped_and_counted_but_not_a_shutdown() {
        let mut events = Events::default();
        let shutdown = MasterEvent::ShutdownRequested { caller: "/x".into(), reason: "done".into() };
        events.push(shutdown.clone());
        for number in 0..=WAITING {
            events.push(MasterEvent::NodeLost { name: number.to_string(), uri: String::new() });
        }
        assert_eq!(events.dropped(), 1);
        assert_eq!(events.pop(), Some(MasterEvent::NodeLost { name: "1".into(), uri: String::new() }));
        assert_eq!(std::iter::from_fn(|| events.pop()).last(), Some(shutdown));
    }

    #[test]
    fn an_event_is_a_sentence_on_one_line() {
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
                "the node at http://a:1/ could not be told of a change: call of getPid of http://a:1/: no answer in time",
            ),
            (
                MasterEvent::UpdateFailed {
                    uri: uri(),
                    why: UpdateFault::NeverAnswered { updates: 2, last: timed_out },
                },
                "the node at http://a:1/ could not be told of a change: it has never answered, 2 updates are given up: \
                 call of getPid of http://a:1/: no answer in time",
            ),
            (
                MasterEvent::Refused { peer: ([10, 0, 0, 9], 7).into(), why: ClientFault::DisplacedIdle },
                "peer 10.0.0.9:7 is refused: closed while idle, to accept another client",
            ),
        ];
        for (event, expected) in table {
            assert_eq!(event.to_string(), expected);
        }
    }
}
