//! Bound on what the master sends to addresses that have never answered one of its calls.
//!
//! Whoever registers a node names the address at which the master calls it, and need not be there. So until an address has
//! answered, the master sends it at most [`FACTOR`] times the bytes of the requests of the nodes registered there, connections included. An
//! update beyond that, or after an update or a question that failed, is withheld, and the address is asked for its process
//! number instead, less and less often. A question that the credit does not pay for waits until a request of a node there
//! brings more. The first answer releases what was withheld and ends the bound.
//!
//! Which queues are held is the notifier's to know. Here is only known which addresses are being asked: whatever ends that
//! is returned, so that the queue is released or dropped.

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

/// Bytes of the segments of one TCP connection beside its data: six headers of 40 bytes.
const CONNECTION: usize = 240;

/// Bytes of an HTTP head of ours at most, without the address.
const HEAD: usize = 160;

/// The call by which a node shows that it is there.
pub(super) const GET_PID: &str = "getPid";

/// From a failed question until the next one; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Failed calls after which what is withheld is given up: some 20 minutes after the first.
const TRIES: u32 = 9;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct SendCredit {
    addresses: Ordered<Arc<str>, Address>,
    under_way: BTreeMap<CallId, UnderWay>,
    due: Timers<Arc<str>>,
    most_addresses: usize,
    withheld: u64,
}

#[derive(Debug, Default)]
struct Address {
    has_answered: bool,
    /// Bytes that may still be sent before it has.
    credit: usize,
    /// Updates and questions that failed one after the other.
    failures: u32,
    question: Question,
}

/// Where the asking of an address stands, while updates for it are withheld.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Question {
    /// Nothing is withheld.
    #[default]
    None,
    /// It is asked at some time.
    Due,
    UnderWay,
    /// The credit does not pay for it.
    Unpaid,
}

/// Why a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To tell a node of a change.
    Update,
    /// To learn whether an address answers, from which updates are withheld.
    Question,
    /// To learn whether a registered node still lives.
    Liveness,
}

#[derive(Debug)]
struct UnderWay {
    api: Arc<str>,
    cost: usize,
    purpose: Purpose,
}

/// What follows from the end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    /// What is withheld from the address may go out.
    Release(Arc<str>),
    /// What is withheld from the address is given up: it never answered.
    GiveUp {
        api: Arc<str>,
        /// How the last call failed.
        last: CallError,
    },
}

/// Bytes that a call puts on the wire at most, connection included.
pub(super) fn cost(api: &str, method: &str, params: &[Value]) -> usize {
    let body = xmlrpc::encode_call(method, params).map_or(0, |body| body.len());
    // The address stands in the head twice at most: as host and as path.
    CONNECTION + HEAD + 2 * api.len() + body
}

/// What [`cost`] gives for a question.
pub(super) fn question_cost(api: &str) -> usize {
    cost(api, GET_PID, &[Value::from(MASTER_NAME)])
}

impl SendCredit {
    /// Credit for nodes of which so many may be registered at once.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            addresses: Ordered::default(),
            under_way: BTreeMap::new(),
            due: Timers::new(),
            most_addresses: nodes.saturating_mul(2),
            withheld: 0,
        }
    }

    /// How many times an update was withheld.
    pub(super) fn withheld(&self) -> u64 {
        self.withheld
    }

    /// A node that is registered at an address made a request of so many bytes. True if what may be withheld from it may be
    /// tried again.
    pub(super) fn grant(&mut self, now: Instant, api: &Arc<str>, bytes: usize) -> bool {
        let address = self.addresses.entry(api, Address::default);
        if address.has_answered {
            return false;
        }
        address.credit = address.credit.saturating_add(bytes.saturating_mul(FACTOR));
        let (credit, failed) = (address.credit, address.failures > 0);
        match address.question {
            // A node that registers again may have come to life meanwhile.
            Question::Due if failed => self.due.schedule_if_earlier(api.clone(), now + FIRST_PAUSE),
            Question::Unpaid if credit >= question_cost(api) => self.ask_at(api, now),
            _ => {}
        }
        !failed
    }

    /// Whether addresses that no node is registered with should be forgotten.
    pub(super) fn is_full(&self) -> bool {
        self.addresses.len() > self.most_addresses
    }

    /// Forgets addresses that no node is registered with. Gives those that were being asked: what is withheld from them is
    /// to be dropped.
    pub(super) fn forget_unregistered(&mut self, registered: &BTreeSet<Arc<str>>) -> Vec<Arc<str>> {
        let is_asked = |(_, address): &(&Arc<str>, &Address)| address.question != Question::None;
        let forgotten = self.addresses.iter().filter(|(api, _)| !registered.contains(*api));
        let asked = forgotten.filter(is_asked).map(|(api, _)| api.clone()).collect();
        self.addresses.retain(|api| registered.contains(api));
        self.due.retain(|api| registered.contains(api));
        self.under_way.retain(|_, call| registered.contains(&call.api));
        asked
    }

    /// Whether the bound holds for an address.
    pub(super) fn is_bounded(&self, api: &str) -> bool {
        self.addresses.get(api).is_none_or(|address| !address.has_answered)
    }

    /// Takes the cost of a call from the credit of an address; false if it is not to be made. While updates are withheld, the
    /// cost of the next question is left.
    pub(super) fn spend(&mut self, api: &str, cost: usize, purpose: Purpose) -> bool {
        let Some(address) = self.addresses.get_mut(api) else { return false };
        let is_asked = address.question != Question::None;
        let reserve = if is_asked && purpose != Purpose::Question { question_cost(api) } else { 0 };
        let is_payable = address.credit >= cost.saturating_add(reserve);
        let is_sent = is_payable && (purpose != Purpose::Update || address.failures == 0);
        if is_sent {
            address.credit -= cost;
        }
        is_sent
    }

    /// A call that was paid for went out.
    pub(super) fn sent(&mut self, call: CallId, api: Arc<str>, cost: usize, purpose: Purpose) {
        self.under_way.insert(call, UnderWay { api, cost, purpose });
    }

    /// An update is withheld: the address is to be asked then. True if it is not asked already.
    pub(super) fn withhold(&mut self, api: &Arc<str>, ask_at: Instant) -> bool {
        self.withheld += 1;
        let is_first = self.addresses.entry(api, Address::default).question == Question::None;
        if is_first {
            self.ask_at(api, ask_at);
        }
        is_first
    }

    /// When an address is to be asked of which a call just failed.
    pub(super) fn next_try(&self, now: Instant, api: &str) -> Instant {
        let failures = self.addresses.get(api).map_or(0, |address| address.failures);
        now + FIRST_PAUSE * 2u32.pow(failures.saturating_sub(1))
    }

    /// When the next address is to be asked.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.next_deadline()
    }

    /// An address that is to be asked now; [`Self::sent`], [`Self::unpaid`] or [`Self::dismiss`] must follow.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Arc<str>> {
        let (_, api) = self.due.pop_due(now)?;
        self.set_question(&api, Question::UnderWay);
        Some(api)
    }

    /// The question could not be paid for: it is asked when there is more credit.
    pub(super) fn unpaid(&mut self, api: &Arc<str>) {
        self.set_question(api, Question::Unpaid);
    }

    /// A call ended.
    pub(super) fn ended(
        &mut self,
        now: Instant,
        call: CallId,
        result: &Result<Value, CallError>,
    ) -> Option<Consequence> {
        let UnderWay { api, cost, purpose } = self.under_way.remove(&call)?;
        let error = match result {
            Ok(_) | Err(CallError::Fault { .. }) => return self.answered(api),
            Err(error) => error,
        };
        self.refund(&api, unsent(error, cost));
        match (purpose, error) {
            (Purpose::Liveness, _) => None,
            // Something answers that is no node, or a bad one: no proof, and no reason to withhold what is paid for.
            (Purpose::Update, CallError::BadResponse { .. }) => None,
            (Purpose::Update | Purpose::Question, _) => self.failed(now, api, purpose, error),
        }
    }

    /// Nothing is withheld from an address any more; the next update starts anew.
    pub(super) fn dismiss(&mut self, api: &Arc<str>) {
        self.set_question(api, Question::None);
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
        if purpose != Purpose::Question {
            return None;
        }
        if failures < TRIES {
            self.ask_at(&api, self.next_try(now, &api));
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

    fn set_question(&mut self, api: &Arc<str>, question: Question) {
        let Some(address) = self.addresses.get_mut(&**api) else { return };
        address.question = question;
        if question != Question::Due {
            self.due.cancel(api);
        }
    }

    fn ask_at(&mut self, api: &Arc<str>, at: Instant) {
        self.set_question(api, Question::Due);
        self.due.schedule(api.clone(), at);
    }
}

/// How much of the cost of a call that failed so was not sent.
fn unsent(error: &CallError, cost: usize) -> usize {
    match error {
        CallError::BadRequest { .. } | CallError::TooManyCalls { .. } => cost,
        CallError::Unreachable { is_tried: false, .. } => cost,
        CallError::Unreachable { is_tried: true, .. } => cost.saturating_sub(CONNECTION),
        CallError::TimedOut { .. }
        | CallError::Closed { .. }
        | CallError::BadResponse { .. }
        | CallError::Fault { .. } => 0,
    }
}
