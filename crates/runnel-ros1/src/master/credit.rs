//! Bound on what the master sends to addresses that have never answered one of its calls.
//!
//! A caller that registers a node names the address at which the master calls it, and may name that of a third party.
//! Until an address has answered, the master sends it at most [`FACTOR`] times the bytes of the requests of the nodes
//! registered there, connection overhead included. Updates beyond that, or after a failed update or probe, are
//! withheld. The address is then probed by `getPid`, with growing pauses. A probe without sufficient credit waits
//! until a request of a node there grants more. The first answer releases the withheld updates and ends the bound.
//!
//! The notifier holds the queues. This module only knows which addresses are being probed; it returns every end of a
//! probe, so that the notifier releases or drops the queue.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_core::timers::Timers;

use super::ordered::Ordered;
use super::state::MASTER_NAME;
use crate::rpc::{CallError, CallId};
use crate::xmlrpc::{self, Value};

/// Bytes that may be sent to an address for each byte of the requests of its nodes.
const FACTOR: usize = 3;

/// Bytes of TCP/IP headers of one connection: six headers of 40 bytes.
const CONNECTION: usize = 240;

/// Longest HTTP head of a call, in bytes, without the address.
const HEAD: usize = 160;

/// The call that proves a node's presence.
pub(super) const GET_PID: &str = "getPid";

/// Pause after a failed probe; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Failed calls after which withheld updates are given up, some 20 minutes after the first.
const TRIES: u32 = 9;

/// Credit and probes of all addresses that have not answered.
#[derive(Debug)]
pub(super) struct SendCredit {
    addresses: Ordered<Arc<str>, Address>,
    in_progress: BTreeMap<CallId, InProgress>,
    due: Timers<Arc<str>>,
    most_addresses: usize,
    withheld: u64,
}

#[derive(Debug, Default)]
struct Address {
    has_answered: bool,
    /// Bytes that may still be sent before an answer.
    credit: usize,
    /// Consecutive failed updates and probes.
    failures: u32,
    probe: ProbeState,
}

/// State of an address's probe while updates are withheld.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ProbeState {
    /// Nothing is withheld.
    #[default]
    None,
    /// A probe is scheduled.
    Due,
    InProgress,
    /// The credit does not cover a probe.
    Unpaid,
}

/// The purpose of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Notifies a node of a change.
    Update,
    /// Probes whether an address answers, from which updates are withheld.
    Probe,
    /// Probes whether a registered node is alive.
    Liveness,
}

#[derive(Debug)]
struct InProgress {
    api: Arc<str>,
    cost: usize,
    purpose: Purpose,
}

/// Consequence of the end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    /// Release the updates withheld from this address.
    Release(Arc<str>),
    /// Give up the updates withheld from this address: it never answered.
    GiveUp {
        api: Arc<str>,
        /// The error of the last call.
        last: CallError,
    },
}

/// Most bytes that a call puts on the wire, connection overhead included.
pub(super) fn cost(api: &str, method: &str, params: &[Value]) -> usize {
    let body = xmlrpc::encode_call(method, params).map_or(0, |body| body.len());
    // The head contains the address at most twice: as host and as path.
    CONNECTION + HEAD + 2 * api.len() + body
}

/// The [`cost`] of a probe.
pub(super) fn probe_cost(api: &str) -> usize {
    cost(api, GET_PID, &[Value::from(MASTER_NAME)])
}

impl SendCredit {
    /// Credit for at most `nodes` registered nodes.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            addresses: Ordered::default(),
            in_progress: BTreeMap::new(),
            due: Timers::new(),
            most_addresses: nodes.saturating_mul(2),
            withheld: 0,
        }
    }

    /// Updates withheld.
    pub(super) fn withheld(&self) -> u64 {
        self.withheld
    }

    /// Grants credit for a request of `bytes` bytes from a node registered at the address. True if withheld updates
    /// may be retried.
    pub(super) fn grant(&mut self, now: Instant, api: &Arc<str>, bytes: usize) -> bool {
        let address = self.addresses.entry(api, Address::default);
        if address.has_answered {
            return false;
        }
        address.credit = address.credit.saturating_add(bytes.saturating_mul(FACTOR));
        let (credit, failed) = (address.credit, address.failures > 0);
        match address.probe {
            // A node that registers again may have come alive meanwhile.
            ProbeState::Due if failed => self.due.schedule_if_earlier(api.clone(), now + FIRST_PAUSE),
            ProbeState::Unpaid if credit >= probe_cost(api) => self.schedule_probe(api, now),
            _ => {}
        }
        !failed
    }

    /// Whether addresses without a registered node must be removed.
    pub(super) fn is_full(&self) -> bool {
        self.addresses.len() > self.most_addresses
    }

    /// Removes addresses without a registered node. Returns those being probed: their withheld updates must be
    /// dropped.
    pub(super) fn forget_unregistered(&mut self, registered: &BTreeSet<Arc<str>>) -> Vec<Arc<str>> {
        let is_probed = |(_, address): &(&Arc<str>, &Address)| address.probe != ProbeState::None;
        let forgotten = self.addresses.iter().filter(|(api, _)| !registered.contains(*api));
        let probed = forgotten.filter(is_probed).map(|(api, _)| api.clone()).collect();
        self.addresses.retain(|api| registered.contains(api));
        self.due.retain(|api| registered.contains(api));
        self.in_progress.retain(|_, call| registered.contains(&call.api));
        probed
    }

    /// Whether the bound applies to an address.
    pub(super) fn is_bounded(&self, api: &str) -> bool {
        self.addresses.get(api).is_none_or(|address| !address.has_answered)
    }

    /// Charges the cost of a call; false if the credit does not cover it. While updates are withheld, credit for the
    /// next probe is reserved.
    pub(super) fn spend(&mut self, api: &str, cost: usize, purpose: Purpose) -> bool {
        let Some(address) = self.addresses.get_mut(api) else { return false };
        let is_probed = address.probe != ProbeState::None;
        let reserve = if is_probed && purpose != Purpose::Probe { probe_cost(api) } else { 0 };
        let is_payable = address.credit >= cost.saturating_add(reserve);
        let is_sent = is_payable && (purpose != Purpose::Update || address.failures == 0);
        if is_sent {
            address.credit -= cost;
        }
        is_sent
    }

    /// A charged call was sent.
    pub(super) fn sent(&mut self, call: CallId, api: Arc<str>, cost: usize, purpose: Purpose) {
        self.in_progress.insert(call, InProgress { api, cost, purpose });
    }

    /// An update is withheld; schedules a probe. True if none was scheduled.
    pub(super) fn withhold(&mut self, api: &Arc<str>, probe_at: Instant) -> bool {
        self.withheld += 1;
        let is_first = self.addresses.entry(api, Address::default).probe == ProbeState::None;
        if is_first {
            self.schedule_probe(api, probe_at);
        }
        is_first
    }

    /// When to probe an address after a failed call.
    pub(super) fn next_try(&self, now: Instant, api: &str) -> Instant {
        let failures = self.addresses.get(api).map_or(0, |address| address.failures);
        now + FIRST_PAUSE * 2u32.pow(failures.saturating_sub(1))
    }

    /// When the next probe is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.next_deadline()
    }

    /// An address whose probe is due. The caller must then call [`Self::sent`], [`Self::unpaid`] or
    /// [`Self::dismiss`].
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Arc<str>> {
        let (_, api) = self.due.pop_due(now)?;
        self.set_probe(&api, ProbeState::InProgress);
        Some(api)
    }

    /// The credit did not cover a probe: it is sent when there is more.
    pub(super) fn unpaid(&mut self, api: &Arc<str>) {
        self.set_probe(api, ProbeState::Unpaid);
    }

    /// A call has ended.
    pub(super) fn ended(
        &mut self,
        now: Instant,
        call: CallId,
        result: &Result<Value, CallError>,
    ) -> Option<Consequence> {
        let InProgress { api, cost, purpose } = self.in_progress.remove(&call)?;
        let error = match result {
            Ok(_) | Err(CallError::Fault { .. }) => return self.answered(api),
            Err(error) => error,
        };
        self.refund(&api, unsent(error, cost));
        match (purpose, error) {
            (Purpose::Liveness, _) => None,
            // The answer is not that of a node: it proves nothing, and is no reason to withhold charged updates.
            (Purpose::Update, CallError::BadResponse { .. }) => None,
            (Purpose::Update | Purpose::Probe, _) => self.failed(now, api, purpose, error),
        }
    }

    /// No update is withheld from an address any more.
    pub(super) fn dismiss(&mut self, api: &Arc<str>) {
        self.set_probe(api, ProbeState::None);
        if let Some(address) = self.addresses.get_mut(&**api) {
            address.failures = 0;
        }
    }

    fn failed(
        &mut self,
        now: Instant,
        api: Arc<str>,
        purpose: Purpose,
        error: &CallError,
    ) -> Option<Consequence> {
        let address = self.addresses.get_mut(&*api)?;
        if address.has_answered {
            return None;
        }
        address.failures += 1;
        let failures = address.failures;
        if purpose != Purpose::Probe {
            return None;
        }
        if failures < TRIES {
            self.schedule_probe(&api, self.next_try(now, &api));
            return None;
        }
        self.dismiss(&api);
        Some(Consequence::GiveUp { api, last: error.clone() })
    }

    fn answered(&mut self, api: Arc<str>) -> Option<Consequence> {
        let address = self.addresses.get_mut(&*api)?;
        address.has_answered = true;
        self.dismiss(&api);
        Some(Consequence::Release(api))
    }

    fn refund(&mut self, api: &str, bytes: usize) {
        if let Some(address) = self.addresses.get_mut(api) {
            address.credit = address.credit.saturating_add(bytes);
        }
    }

    fn set_probe(&mut self, api: &Arc<str>, probe: ProbeState) {
        let Some(address) = self.addresses.get_mut(&**api) else { return };
        address.probe = probe;
        if probe != ProbeState::Due {
            self.due.cancel(api);
        }
    }

    fn schedule_probe(&mut self, api: &Arc<str>, at: Instant) {
        self.set_probe(api, ProbeState::Due);
        self.due.schedule(api.clone(), at);
    }
}

/// The part of a failed call's cost that was not sent.
fn unsent(error: &CallError, cost: usize) -> usize {
    match error {
        CallError::BadRequest { .. } | CallError::TooManyCalls { .. } => cost,
        CallError::Unreachable { is_attempted: false, .. } => cost,
        CallError::Unreachable { is_attempted: true, .. } => cost.saturating_sub(CONNECTION),
        CallError::TimedOut { .. }
        | CallError::Closed { .. }
        | CallError::BadResponse { .. }
        | CallError::Fault { .. } => 0,
    }
}
