//! The requests of a guest's service: to the guest or, while it moves to another host, also to its other half there. In
//! ROS 2 a client sends a request to all servers of a service, so both hosts get it, and one of them answers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runnel::DynamicResponder;
use serde::{Deserialize, Serialize};

use super::events::{Event, EventKind, Events};
use super::{MOST_PENDING, PendingRequest, PendingRequests};

/// Clients whose requests are remembered, at most.
const MOST_CLIENTS: usize = 1024;

/// Requests of a guest that has moved that are remembered, at most.
const MOST_REMEMBERED: usize = 4096;

/// A client in ROS 2, and the number of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestName {
    pub client: [u8; 16],
    pub number: i64,
}

/// The last requests of each client in ROS 2 that a service has received.
pub type LastRequests = Vec<RequestName>;

/// See the module's documentation.
pub struct ServiceRequests {
    service: u32,
    events: Arc<Events>,
    pending: PendingRequests,
    state: Mutex<State>,
}

struct State {
    last: BTreeMap<[u8; 16], i64>,
    phase: Phase,
}

enum Phase {
    /// The guest gets the requests.
    Usual,
    /// The guest has yet to come.
    Gathering(VecDeque<(DynamicResponder, Vec<u8>)>),
    /// The guest has come. Its former host answers what it had received then, and what it passes on: these requests have
    /// been received by either of the hosts since.
    Joining(BTreeSet<RequestName>),
}

impl ServiceRequests {
    pub fn new(service: u32, events: &Arc<Events>, pending: &PendingRequests, is_expected: bool) -> Self {
        let phase = if is_expected { Phase::Gathering(VecDeque::new()) } else { Phase::Usual };
        let state = Mutex::new(State { last: BTreeMap::new(), phase });
        Self { service, events: Arc::clone(events), pending: Arc::clone(pending), state }
    }

    /// Takes a request.
    pub fn receive(&self, responder: DynamicResponder, request: Vec<u8>) {
        let state = &mut *self.state();
        let name = name_of(&responder);
        match (&mut state.phase, name) {
            (Phase::Gathering(gathered), Some(_)) => {
                gathered.push_back((responder, request));
                if gathered.len() > MOST_PENDING
                    && let Some((oldest, _)) = gathered.pop_front()
                {
                    // The former host has it, too.
                    oldest.discard();
                }
            }
            (Phase::Joining(received), Some(name)) => match state.last.get(&name.client) {
                Some(last) if name.number <= *last => responder.discard(),
                _ if !received.insert(name) => responder.discard(),
                _ => {
                    limit(received);
                    self.accept(responder, request);
                }
            },
            (Phase::Gathering(_), None) => responder.fail("the node has yet to come here"),
            (Phase::Usual | Phase::Joining(_), _) => {
                if let Some(name) = name {
                    state.note(name);
                }
                self.accept(responder, request);
            }
        }
    }

    /// Takes a request that the former host passes on, which its `accept` gives to the guest. False if the guest has it.
    pub fn receive_relayed(&self, name: Option<RequestName>) -> bool {
        let state = &mut *self.state();
        let (Phase::Joining(received), Some(name)) = (&mut state.phase, name) else { return true };
        let is_old = state.last.get(&name.client).is_some_and(|last| name.number <= *last);
        let is_new = !is_old && received.insert(name);
        limit(received);
        is_new
    }

    /// The last requests of each client.
    pub fn last(&self) -> LastRequests {
        let state = self.state();
        state.last.iter().map(|(client, number)| RequestName { client: *client, number: *number }).collect()
    }

    /// The guest has come. Its former host had received these requests.
    pub fn join(&self, last: &LastRequests) {
        let state = &mut *self.state();
        state.last = last.iter().map(|name| (name.client, name.number)).collect();
        let Phase::Gathering(gathered) = std::mem::replace(&mut state.phase, Phase::Joining(BTreeSet::new()))
        else {
            return;
        };
        for (responder, request) in gathered {
            let Some(name) = name_of(&responder) else { continue };
            match (&mut state.phase, state.last.get(&name.client)) {
                (_, Some(last)) if name.number <= *last => responder.discard(),
                (Phase::Joining(received), _) => {
                    received.insert(name);
                    self.accept(responder, request);
                }
                _ => self.accept(responder, request),
            }
        }
    }

    /// The former host passes on no more.
    pub fn end_joining(&self) {
        let state = &mut *self.state();
        if let Phase::Joining(received) = std::mem::replace(&mut state.phase, Phase::Usual) {
            received.into_iter().for_each(|name| state.note(name));
        }
    }

    /// Gives a request to the guest.
    fn accept(&self, responder: DynamicResponder, request: Vec<u8>) {
        let id = self.events.next_id();
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.len() >= MOST_PENDING {
            return responder.fail(format_args!("{MOST_PENDING} requests wait for a response"));
        }
        pending.insert(id, PendingRequest { responder, handle: self.service });
        if !self.events.push(Event::new(EventKind::Request, self.service, id).payload(request))
            && let Some(request) = pending.remove(&id)
        {
            request.responder.fail("the service has too much to do");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ServiceRequests {
    /// A guest that has not come leaves the requests to the host where it is.
    fn drop(&mut self) {
        if let Phase::Gathering(gathered) = &mut self.state().phase {
            gathered.drain(..).for_each(|(responder, _)| responder.discard());
        }
    }
}

impl State {
    fn note(&mut self, RequestName { client, number }: RequestName) {
        if self.last.len() >= MOST_CLIENTS && !self.last.contains_key(&client) {
            self.last.pop_first();
        }
        let last = self.last.entry(client).or_insert(number);
        *last = number.max(*last);
    }
}

fn limit(received: &mut BTreeSet<RequestName>) {
    if received.len() > MOST_REMEMBERED {
        received.pop_first();
    }
}

/// The name of a request in ROS 2. In ROS 1 a client sends a request to one server.
pub fn name_of(responder: &DynamicResponder) -> Option<RequestName> {
    let id = responder.request_id();
    let in_ros2 = responder.generation() == runnel::core::schema::Generation::Ros2;
    in_ros2.then(|| RequestName { client: id.client(), number: id.sequence_number() })
}
