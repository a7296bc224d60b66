//! Bound on what the master sends to addresses that have never answered one of its calls.
//!
//! Whoever registers a node names the address at which the master calls it, and need not be there. So until an address has
//! answered, the master sends it at most [`FACTOR`] times the bytes of the requests of the nodes registered there, connections included. An
//! update beyond that, or after a call that failed, is withheld, and the address is asked for its process number instead,
//! less and less often. Its first answer releases what was withheld and ends the bound.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;

use super::ordered::Ordered;
use crate::rpc::{CallError, CallId};
use crate::xmlrpc::{self, Value};

/// Bytes that may be sent to an address for each byte of the requests of its nodes.
const FACTOR: usize = 3;

/// Bytes of the segments of one TCP connection beside its data: six headers of 40 bytes.
const CONNECTION: usize = 240;

/// Bytes of an HTTP head of ours at most, without the address.
const HEAD: usize = 160;

/// From a failed question until the next one; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Failed questions after which what is withheld is given up: some 40 minutes after the first.
const TRIES: u32 = 9;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct SendCredit {
    addresses: Ordered<Arc<str>, Address>,
    under_way: BTreeMap<CallId, UnderWay>,
    due: BTreeSet<(Instant, Arc<str>)>,
    most_addresses: usize,
    withheld: u64,
}

#[derive(Debug, Default)]
struct Address {
    has_answered: bool,
    /// Bytes that may still be sent before it has.
    credit: usize,
    /// Calls that failed one after the other.
    failures: u32,
    is_withheld: bool,
    /// When it is asked next.
    question_due: Option<Instant>,
}

#[derive(Debug)]
struct UnderWay {
    api: Arc<str>,
    cost: usize,
}

/// What follows from the end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    /// What is withheld from the address may go out.
    Release(Arc<str>),
    /// What is withheld from the address is given up: it never answered.
    GiveUp(Arc<str>),
}

/// Bytes that a call puts on the wire at most, connection included.
pub(super) fn cost(api: &str, method: &str, params: &[Value]) -> usize {
    let body = xmlrpc::encode_call(method, params).map_or(0, |body| body.len());
    // The address stands in the head twice at most: as host and as path.
    CONNECTION + HEAD + 2 * api.len() + body
}

impl SendCredit {
    /// Credit for nodes of which so many may be registered at once.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            addresses: Ordered::default(),
            under_way: BTreeMap::new(),
            due: BTreeSet::new(),
            most_addresses: nodes.saturating_mul(2),
            withheld: 0,
        }
    }

    /// How many times an update was withheld.
    pub(super) fn withheld(&self) -> u64 {
        self.withheld
    }

    /// A node that is registered at an address made a request of so many bytes. True if what is withheld from it may be tried again.
    pub(super) fn grant(&mut self, now: Instant, api: &Arc<str>, bytes: usize) -> bool {
        let address = self.addresses.entry(api, Address::default);
        if address.has_answered {
            return false;
        }
        address.credit = address.credit.saturating_add(bytes.saturating_mul(FACTOR));
        let (failed, withheld, due) = (address.failures > 0, address.is_withheld, address.question_due);
        // A node that registers again may have come to life meanwhile.
        if let Some(at) = due.filter(|at| failed && *at > now + FIRST_PAUSE) {
            self.set_due(api, Some(at), Some(now + FIRST_PAUSE));
        }
        withheld && !failed
    }

    /// Whether addresses that no node is registered with should be forgotten.
    pub(super) fn is_full(&self) -> bool {
        self.addresses.len() > self.most_addresses
    }

    /// Forgets addresses that no node is registered with.
    pub(super) fn forget_unregistered(&mut self, registered: &BTreeSet<Arc<str>>) {
        self.addresses.retain(|api| registered.contains(api));
        self.due.retain(|(_, api)| registered.contains(api));
    }

    /// Whether the bound holds for an address.
    pub(super) fn is_bounded(&self, api: &str) -> bool {
        self.addresses.get(api).is_none_or(|address| !address.has_answered)
    }

    /// Takes the cost of an update from the credit of an address; false if it is to be withheld.
    pub(super) fn spend_on_update(&mut self, api: &str, cost: usize) -> bool {
        self.addresses.get(api).is_some_and(|address| address.failures == 0) && self.spend(api, cost)
    }

    /// Takes the cost of any call from the credit of an address; false if it has too little.
    pub(super) fn spend(&mut self, api: &str, cost: usize) -> bool {
        let Some(address) = self.addresses.get_mut(api) else { return false };
        let left = address.credit.checked_sub(cost);
        address.credit = left.unwrap_or(address.credit);
        left.is_some()
    }

    /// A call that was paid for went out.
    pub(super) fn sent(&mut self, call: CallId, api: Arc<str>, cost: usize) {
        self.under_way.insert(call, UnderWay { api, cost });
    }

    /// An update is withheld: the address is to be asked. True if it is the first that is.
    pub(super) fn withhold(&mut self, now: Instant, api: &Arc<str>) -> bool {
        self.withheld += 1;
        let address = self.addresses.entry(api, Address::default);
        let first = !std::mem::replace(&mut address.is_withheld, true);
        if first {
            let before = address.question_due;
            self.set_due(api, before, Some(now));
        }
        first
    }

    /// When the next address is to be asked.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// An address that is to be asked now; [`Self::sent`] or [`Self::failed`] must follow.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Arc<str>> {
        self.next_due().filter(|at| *at <= now)?;
        let (_, api) = self.due.pop_first()?;
        if let Some(address) = self.addresses.get_mut(&*api) {
            address.question_due = None;
        }
        Some(api)
    }

    /// A call ended.
    pub(super) fn ended(
        &mut self,
        now: Instant,
        call: CallId,
        result: &Result<Value, CallError>,
    ) -> Option<Consequence> {
        let UnderWay { api, cost } = self.under_way.remove(&call)?;
        match result {
            Ok(_) | Err(CallError::Fault { .. }) => self.answered(api),
            // Something answers that is no node, or a bad one: no proof, and no reason to withhold what is paid for.
            Err(CallError::BadResponse { .. }) if !self.is_withheld(&api) => None,
            Err(CallError::Unreachable { .. }) => {
                self.refund(&api, cost.saturating_sub(CONNECTION));
                self.failed(now, api)
            }
            Err(CallError::BadRequest { .. } | CallError::TooManyCalls { .. }) => {
                self.refund(&api, cost);
                self.failed(now, api)
            }
            Err(CallError::TimedOut { .. } | CallError::Closed { .. } | CallError::BadResponse { .. }) => {
                self.failed(now, api)
            }
        }
    }

    /// A call to an address failed, or could not be paid for.
    pub(super) fn failed(&mut self, now: Instant, api: Arc<str>) -> Option<Consequence> {
        let address = self.addresses.get_mut(&*api)?;
        if address.has_answered {
            return None;
        }
        address.failures += 1;
        if !address.is_withheld {
            return None;
        }
        let (failures, before) = (address.failures, address.question_due);
        if failures < TRIES {
            self.set_due(&api, before, Some(now + FIRST_PAUSE * 2u32.pow(failures - 1)));
            return None;
        }
        self.dismiss(&api);
        Some(Consequence::GiveUp(api))
    }

    /// Nothing is withheld from an address any more; the next update starts anew.
    pub(super) fn dismiss(&mut self, api: &Arc<str>) {
        let Some(address) = self.addresses.get_mut(&**api) else { return };
        let before = address.question_due;
        (address.is_withheld, address.failures) = (false, 0);
        self.set_due(api, before, None);
    }

    fn answered(&mut self, api: Arc<str>) -> Option<Consequence> {
        let address = self.addresses.get_mut(&*api)?;
        address.has_answered = true;
        let was_withheld = address.is_withheld;
        self.dismiss(&api);
        was_withheld.then_some(Consequence::Release(api))
    }

    fn is_withheld(&self, api: &str) -> bool {
        self.addresses.get(api).is_some_and(|address| address.is_withheld)
    }

    fn refund(&mut self, api: &str, bytes: usize) {
        if let Some(address) = self.addresses.get_mut(api) {
            address.credit = address.credit.saturating_add(bytes);
        }
    }

    fn set_due(&mut self, api: &Arc<str>, before: Option<Instant>, at: Option<Instant>) {
        if let Some(before) = before {
            self.due.remove(&(before, api.clone()));
        }
        if let Some(at) = at {
            self.due.insert((at, api.clone()));
        }
        if let Some(address) = self.addresses.get_mut(&**api) {
            address.question_due = at;
        }
    }
}
