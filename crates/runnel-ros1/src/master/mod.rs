//! The ROS 1 master and its parameter server.
//!
//! [`Master`] answers as rosmaster 1.15 does: the same methods, checks, status codes and, in effect, texts; what
//! they are was found by experiment. Where it differs, it does so on purpose:
//!
//! - An address that has never answered a call is sent at most three times the bytes that its nodes
//!   sent. What is more waits until it answers `getPid` ([`MasterEvent::Withheld`]).
//! - It is bounded ([`MasterLimits`]). A call that would go past a bound is answered with status -1.
//! - A node that closes its connections and cannot be reached any more is dropped ([`MasterEvent::NodeLost`]).
//! - A node that was replaced by another of its name cannot take the name back while it ends, for 10 s.
//! - Publishers that vanish because their node's name was taken over are made known to their subscribers.
//! - A node that has not answered its last update hears the newest state once, not every change.
//! - A subscriber of a parameter is also told when a plain value takes the place of a namespace around it.
//! - `system.listMethods` exists; `system.multicall` does not take itself.

mod api;
mod check;
mod credit;
mod event;
mod limits;
mod liveness;
mod measure;
mod methods;
mod multicall;
mod names;
mod notify;
mod ordered;
mod param_methods;
mod params;
mod registry;
mod retries;
mod state;
mod watch;

#[cfg(test)]
mod tests;

pub use event::{MasterEvent, UpdateFault};
pub use limits::MasterLimits;
pub use params::{ParamChange, ParamStore};
pub use registry::Role;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;

use crate::answer::Answer;
use crate::net::{ConnId, Transmit};
use crate::rpc::{CallError, CallId, CallOptions, RpcConfig, RpcEvent, RpcPeer, Uri};
use crate::xmlrpc::Value;

use credit::{GET_PID, Purpose};
use liveness::{Question, Sign};
use state::{MASTER_NAME, SHUTDOWN, State, Update, UpdateOutcome};

/// How long a node may take to answer an update.
const UPDATE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a node may take to answer whether it lives.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);

/// What a master is told when it is made.
#[derive(Clone, Debug)]
pub struct MasterConfig {
    /// The URI under which nodes reach it, such as `http://robot:11311/`.
    pub uri: String,
    /// The number of its process.
    pub pid: i32,
    /// Bounds on what callers can make it hold.
    pub limits: MasterLimits,
    /// Bounds on its connections.
    pub rpc: RpcConfig,
}

impl MasterConfig {
    /// A configuration with default bounds.
    pub fn new(uri: impl Into<String>, pid: i32) -> Self {
        let rpc = RpcConfig { max_server_connections: 16_384, any_path: false, ..RpcConfig::default() };
        Self { uri: uri.into(), pid, limits: MasterLimits::default(), rpc }
    }
}

/// A ROS 1 master, driven by whoever owns the sockets: `handle_*` takes what happened to a connection,
/// `poll_transmit` says what is to be done with connections, `poll_timeout` when [`Self::handle_timeout`] is due.
#[derive(Debug)]
pub struct Master {
    rpc: RpcPeer,
    state: State,
    /// The time that it was told last.
    latest: Instant,
}

impl Master {
    /// A master that knows no node and no parameter.
    pub fn new(config: MasterConfig) -> Self {
        let MasterConfig { uri, pid, limits, rpc } = config;
        Self { rpc: RpcPeer::new(rpc), state: State::new(uri, pid, limits), latest: Instant::default() }
    }

    /// How many nodes are registered.
    pub fn node_count(&self) -> usize {
        self.state.registry.node_count()
    }

    /// How many registrations there are: publishers, subscribers, services and parameter subscriptions.
    pub fn registration_count(&self) -> usize {
        self.state.registry.registration_count()
    }

    /// How many bytes of parameters are held, as [`MasterLimits::param_bytes`] counts them.
    pub fn param_bytes(&self) -> usize {
        self.state.params.held().bytes
    }

    /// The struct of all parameters.
    pub fn params(&self) -> Option<&Value> {
        self.state.params.get("/")
    }

    /// Changes a parameter as one that was kept from an earlier run did. To be called before any node knows the master.
    ///
    /// # Errors
    /// Which bound it would pass.
    pub fn restore_param(&mut self, change: &ParamChange) -> Result<(), String> {
        match &change.value {
            Some(value) => {
                let checked = self.state.params.check(&change.key, value, &self.state.limits);
                let checked = checked.map_err(|error| api::Refusal::from(error).text)?;
                self.state.params.set(checked);
                Ok(())
            }
            None => {
                self.state.params.delete(&change.key);
                Ok(())
            }
        }
    }

    /// Has each change of a parameter stored before it is made, from now on.
    pub fn set_param_store(&mut self, store: Box<dyn ParamStore>) {
        self.state.param_store = Some(store);
    }

    /// Changes of parameters that were refused because they could not be stored.
    pub fn unstored_params(&self) -> u64 {
        self.state.unstored_params
    }

    /// How many updates were not sent because a node's queue was full.
    pub fn lost_updates(&self) -> u64 {
        self.state.notifier.lost()
    }

    /// How many times an update was withheld from an address that had never answered.
    pub fn withheld_updates(&self) -> u64 {
        self.state.credit.withheld()
    }

    /// How many events were dropped because nobody took them.
    pub fn dropped_events(&self) -> u64 {
        self.state.events.dropped()
    }

    /// Whether a connection is the master's and open as far as it knows.
    pub fn owns(&self, conn: ConnId) -> bool {
        self.rpc.owns(conn)
    }

    /// A client has connected: gives the connection's name, or `None` when there are too many and it is to be
    /// closed.
    pub fn handle_accepted(&mut self, now: Instant, peer: SocketAddr) -> Option<ConnId> {
        let conn = self.rpc.handle_accepted(now, peer);
        self.advance(now);
        conn
    }

    /// A connection that [`Transmit::Connect`] asked for is open.
    pub fn handle_connected(&mut self, now: Instant, conn: ConnId) {
        self.rpc.handle_connected(now, conn);
        self.advance(now);
    }

    /// Bytes have come in on a connection.
    pub fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        self.rpc.handle_data(now, conn, bytes);
        self.advance(now);
    }

    /// A connection has ended or could not be opened; `why` is what the operating system said, if it was an error.
    /// That a connection was refused is known from the word in it: only that proves that nobody listens there.
    pub fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>) {
        self.rpc.handle_closed(now, conn, why);
        self.state.liveness.closed(now, conn, true);
        self.advance(now);
    }

    /// A connection that [`Transmit::Connect`] asked for was not even tried: its host has no address. In place of
    /// [`Self::handle_closed`], so that the address is not charged for a connection.
    pub fn handle_unresolved(&mut self, now: Instant, conn: ConnId, why: &str) {
        self.rpc.handle_unresolved(now, conn, why);
        self.advance(now);
    }

    /// Does what is due at this time.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.rpc.handle_timeout(now);
        self.state.tell_again(now);
        self.advance(now);
        while let Some(question) = self.state.liveness.question(now, self.state.limits.probes) {
            self.ask(now, &question);
        }
        self.advance(now);
    }

    /// When [`Self::handle_timeout`] is to be called next; `None` while nothing is awaited but bytes.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let question = self.state.liveness.next_due(self.state.limits.probes);
        let retry = self.state.retries.next_due();
        let unanswered = self.state.credit.next_due();
        [self.rpc.poll_timeout(), question, retry, unanswered].into_iter().flatten().min()
    }

    /// The next thing to do with a connection.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        let transmit = self.rpc.poll_transmit()?;
        if let Transmit::Close { conn } = transmit {
            self.state.liveness.closed(self.latest, conn, false);
        }
        Some(transmit)
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<MasterEvent> {
        self.state.events.pop()
    }

    /// Follows up all that the connections brought, and sends what nodes must hear of it.
    fn advance(&mut self, now: Instant) {
        self.latest = now;
        loop {
            while let Some(event) = self.rpc.poll_event() {
                self.follow_up(now, event);
            }
            if let Some(update) = self.state.next_update() {
                self.send(now, update);
            } else if let Some(api) = self.state.next_question(now) {
                self.ask_for_answer(now, api);
            } else {
                return;
            }
        }
    }

    fn follow_up(&mut self, now: Instant, event: RpcEvent) {
        match event {
            RpcEvent::Called { conn, method, params, bytes, .. } => {
                let request = api::Request { now, conn, bytes };
                let answer = api::call(&mut self.state, request, &method, &params);
                self.rpc.reply(now, conn, answer);
            }
            RpcEvent::Answered { call, result } => self.answered(now, call, result),
            RpcEvent::Refused { peer, why } => self.state.events.push(MasterEvent::Refused { peer, why }),
            RpcEvent::KeptLost => {}
        }
    }

    fn answered(&mut self, now: Instant, call: CallId, result: Result<Value, CallError>) {
        let consequence = self.state.credit.ended(now, call, &result);
        self.state.follow_up_credit(consequence);
        if let Some(api) = self.state.retries.under_way(call).map(|(api, _)| api.clone()) {
            let wanted = self.state.is_wanted(call);
            let outcome = outcome_of(&result);
            if let Err(error) = result.or_else(forgive_end)
                && wanted
            {
                self.update_failed(&api, UpdateFault::Call(error));
            }
            self.state.update_ended(now, call, outcome);
        } else if let Some(lost) = self.state.liveness.answered(now, call, sign_of(&result)) {
            self.state.lose(&lost);
        }
    }

    fn send(&mut self, now: Instant, update: Update) {
        let Update { api, news, method, params } = update;
        let to = match Uri::parse(&api) {
            Ok(uri) => uri,
            Err(error) => {
                self.state.notifier.skip(&api);
                return self.update_failed(&api, UpdateFault::Uri(error));
            }
        };
        let cost = self.state.credit.is_bounded(&api).then(|| credit::cost(&api, method, &params));
        if cost.is_some_and(|cost| !self.state.credit.spend(&api, cost, Purpose::Update)) {
            return self.state.withhold(&api, news, now);
        }
        let bytes = params.iter().map(|value| measure::size(value).bytes).sum();
        let call = self.rpc.call(now, &to, method, &params, options(UPDATE_TIMEOUT));
        if let Some(cost) = cost {
            self.state.credit.sent(call, api.clone(), cost, Purpose::Update);
        }
        self.state.retries.sent(call, api.clone(), news);
        self.state.notifier.sent(api, call, bytes);
    }

    fn ask(&mut self, now: Instant, question: &Question) {
        let Ok(to) = Uri::parse(&question.api) else {
            self.state.liveness.answer(now, &question.node, Sign::Unclear);
            return;
        };
        match self.ask_pid(now, &question.api, &to, Purpose::Liveness) {
            Some(call) => self.state.liveness.asked(&question.node, call),
            None => _ = self.state.liveness.answer(now, &question.node, Sign::Unclear),
        }
    }

    /// Asks an address that has never answered a call, and for which updates wait.
    fn ask_for_answer(&mut self, now: Instant, api: Arc<str>) {
        let asked = Uri::parse(&api).ok().and_then(|to| self.ask_pid(now, &api, &to, Purpose::Question));
        if asked.is_none() {
            self.state.credit.unpaid(&api);
        }
    }

    /// Asks for the number of a process; `None` if no more may be sent there.
    fn ask_pid(&mut self, now: Instant, api: &Arc<str>, to: &Uri, purpose: Purpose) -> Option<CallId> {
        let cost = self.state.credit.is_bounded(api).then(|| credit::question_cost(api));
        if cost.is_some_and(|cost| !self.state.credit.spend(api, cost, purpose)) {
            return None;
        }
        let params = [Value::from(MASTER_NAME)];
        let call = self.rpc.call(now, to, GET_PID, &params, options(QUESTION_TIMEOUT));
        if let Some(cost) = cost {
            self.state.credit.sent(call, api.clone(), cost, purpose);
        }
        Some(call)
    }

    fn update_failed(&mut self, api: &Arc<str>, why: UpdateFault) {
        self.state.events.push(MasterEvent::UpdateFailed { uri: api.to_string(), why });
    }
}

/// How nodes are called. Nodes of one process may share a port, so that calls wait for one another.
fn options(timeout: Duration) -> CallOptions {
    CallOptions { timeout, total_timeout: timeout * 4, keep_open: false }
}

/// A node that is told to shut down may end before it has answered.
fn forgive_end(error: CallError) -> Result<Value, CallError> {
    match error {
        CallError::Closed { call, .. } if call.method == SHUTDOWN => Ok(Value::from(0)),
        other => Err(other),
    }
}

/// What became of an update whose call ended so.
fn outcome_of(result: &Result<Value, CallError>) -> UpdateOutcome {
    match (sign_of(result), result) {
        (Sign::Unclear, Err(CallError::TimedOut { .. })) => UpdateOutcome::TimedOut,
        (Sign::Unclear, _) => UpdateOutcome::OutOfReach,
        (Sign::Pid(_) | Sign::Nobody | Sign::Odd, _) => UpdateOutcome::Settled,
    }
}

/// What the outcome of a `getPid` says of the node that was asked.
fn sign_of(result: &Result<Value, CallError>) -> Sign {
    match result {
        Ok(reply) => match Answer::parse(reply).map(Answer::granted) {
            Ok(Ok(Value::Int(pid))) => Sign::Pid(*pid),
            Ok(_) | Err(_) => Sign::Odd,
        },
        Err(CallError::Unreachable { why: Some(why), .. })
            if why.to_ascii_lowercase().contains("refused") =>
        {
            Sign::Nobody
        }
        Err(CallError::Fault { .. } | CallError::BadResponse { .. } | CallError::Closed { .. }) => Sign::Odd,
        Err(_) => Sign::Unclear,
    }
}
