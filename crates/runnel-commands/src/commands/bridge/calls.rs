//! Calls of a service that this bridge carries. Nothing waits: a response is converted and sent on the thread that received
//! it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};

use runnel::Error;
use runnel::bridge::{RawServiceClient, RawServiceRequest};
use runnel::core::wire::{Bytes, Encoding};
use runnel_bridge::Plan;
use runnel_bridge::decision::Direction;

use super::report::{CallCounts, graph_name};
use crate::streaming::lock;

/// Most calls of a service that the real server works on: in ROS 1 each has a connection.
const MOST_IN_FLIGHT: usize = 64;

/// Most further calls that wait for one of those to end.
const MOST_WAITING: usize = 256;

/// Most remarks of one service.
const MOST_REMARKS: usize = 16;

/// Conversions of a service's messages.
pub struct Plans {
    /// From the caller's generation to that of the real server.
    pub request: Plan,
    /// The other way round.
    pub response: Plan,
}

/// See the module's documentation.
pub struct Calls {
    service: String,
    direction: Direction,
    client: RawServiceClient,
    plans: Plans,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    in_flight: BTreeMap<u64, RawServiceRequest>,
    waiting: VecDeque<RawServiceRequest>,
    counts: CallCounts,
    remarks: Vec<String>,
    is_closed: bool,
}

impl Calls {
    /// `client` calls the real server.
    pub fn new(service: &str, direction: Direction, client: RawServiceClient, plans: Plans) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Self { service: service.to_owned(), direction, client, plans, state })
    }

    /// Passes a request on, now or when other calls have ended.
    pub fn receive(self: &Arc<Self>, request: RawServiceRequest) {
        let mut state = lock(&self.state);
        if state.is_closed {
            drop(state);
            return self.fail(request, &self.ended());
        }
        if state.in_flight.len() < MOST_IN_FLIGHT {
            drop(state);
            return self.start(request);
        }
        if state.waiting.len() < MOST_WAITING {
            return state.waiting.push_back(request);
        }
        drop(state);
        let limit = MOST_IN_FLIGHT + MOST_WAITING;
        self.fail(request, &format!("{limit} calls of service {} have no response yet", self.service));
    }

    fn start(self: &Arc<Self>, request: RawServiceRequest) {
        let converted = convert(&self.plans.request, request.bytes(), request.encoding());
        let converted = match converted {
            Ok(converted) => converted,
            Err(why) => return self.fail(request, &format!("the request has no form there: {why}")),
        };
        let mut state = lock(&self.state);
        let number = state.next;
        state.next += 1;
        state.in_flight.insert(number, request);
        drop(state);
        let calls = Arc::downgrade(self);
        let callback = move |response| on_response(&calls, number, response);
        // The time limit is the caller's.
        if let Err(error) = self.client.call(&converted, None, callback) {
            self.finish(number, Err(error));
        }
    }

    fn finish(self: &Arc<Self>, number: u64, response: Result<Vec<u8>, Error>) {
        let mut state = lock(&self.state);
        let Some(request) = state.in_flight.remove(&number) else { return };
        let next = if state.is_closed { None } else { state.waiting.pop_front() };
        drop(state);
        match response
            .map_err(|error| error.to_string())
            .and_then(|response| self.convert_response(&response))
        {
            Ok(response) => {
                lock(&self.state).counts.calls += 1;
                request.respond(response);
            }
            Err(why) => self.fail(request, &why),
        }
        if let Some(next) = next {
            self.start(next);
        }
    }

    fn convert_response(&self, response: &[u8]) -> Result<Vec<u8>, String> {
        let encoding = match self.direction {
            Direction::ToRos2 => Encoding::Ros1,
            Direction::ToRos1 => Encoding::Xcdr1,
        };
        let converted = convert(&self.plans.response, response, encoding);
        converted.map_err(|why| format!("the response has no form here: {why}"))
    }

    /// Fails all calls. Later ones fail at once.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        let in_flight = std::mem::take(&mut state.in_flight).into_values();
        let open: Vec<_> = in_flight.chain(std::mem::take(&mut state.waiting)).collect();
        drop(state);
        let why = self.ended();
        open.into_iter().for_each(|request| self.fail(request, &why));
    }

    fn ended(&self) -> String {
        format!("the server of {} in {} has ended", self.service, graph_name(self.direction.source()))
    }

    fn fail(&self, request: RawServiceRequest, why: &str) {
        let graph = graph_name(self.direction.source());
        let mut state = lock(&self.state);
        state.counts.failed += 1;
        let remark = format!("a call failed: {why}");
        if state.remarks.len() < MOST_REMARKS && !state.remarks.contains(&remark) {
            state.remarks.push(remark);
        }
        drop(state);
        request.fail(format_args!("bridge to {graph}: {why}"));
    }

    /// The calls until now, and what was remarked about them.
    pub fn counts(&self) -> (CallCounts, Vec<String>) {
        let state = lock(&self.state);
        let open = (state.in_flight.len() + state.waiting.len()) as u64;
        (CallCounts { open, ..state.counts }, state.remarks.clone())
    }
}

fn on_response(calls: &Weak<Calls>, number: u64, response: Result<Vec<u8>, Error>) {
    if let Some(calls) = calls.upgrade() {
        calls.finish(number, response);
    }
}

fn convert(plan: &Plan, message: &[u8], encoding: Encoding) -> Result<Vec<u8>, String> {
    let mut converted = Vec::new();
    let notes = plan.convert(Bytes::from(message), encoding, &mut converted);
    notes.map(|_| converted).map_err(|error| error.to_string())
}
