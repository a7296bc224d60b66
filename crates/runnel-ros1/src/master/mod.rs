//! The ROS 1 master and its parameter server.
//!
//! [`Master`] answers as rosmaster 1.15 does: the same methods, checks, status codes and, in effect, texts, as found
//! by experiment. It differs on purpose in these points:
//!
//! - An address that has never answered a call gets at most three times the bytes that its nodes sent. Further
//!   updates are withheld until it answers `getPid` ([`MasterEvent::Withheld`]).
//! - Its resources are bounded ([`MasterLimits`]). A call that would exceed a bound is answered with status -1.
//! - A node that closes its connections and is no longer reachable is dropped ([`MasterEvent::NodeLost`]).
//! - A node that was replaced by another of its name cannot take the name back for 10 s, while it shuts down.
//! - Subscribers get an update when publishers vanish because their node's name was taken over.
//! - A node that has not answered its last update gets the newest state once, not every change.
//! - A subscriber of a parameter also gets an update when a plain value replaces a namespace around it.
//! - `system.listMethods` exists. `system.multicall` does not accept itself.

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
mod param_subscribers;
mod params;
mod registry;
mod retries;
mod state;

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
use liveness::{Probe, ProbeResult};
use state::{MASTER_NAME, SHUTDOWN, State, Update, UpdateOutcome};

/// Time for a node to answer an update.
const UPDATE_TIMEOUT: Duration = Duration::from_secs(15);
/// Time for a node to answer a liveness probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Configuration of a master.
#[derive(Clone, Debug)]
pub struct MasterConfig {
    /// The URI that nodes call, such as `http://robot:11311/`.
    pub uri: String,
    /// Its process id.
    pub pid: i32,
    /// Limits on the resources that callers can make it use.
    pub limits: MasterLimits,
    /// Limits of its connections.
    pub rpc: RpcConfig,
}

impl MasterConfig {
    /// A configuration with default bounds.
    pub fn new(uri: impl Into<String>, pid: i32) -> Self {
        let rpc = RpcConfig { max_server_connections: 16_384, any_path: false, ..RpcConfig::default() };
        Self { uri: uri.into(), pid, limits: MasterLimits::default(), rpc }
    }
}

/// A ROS 1 master without I/O. The driver passes connection events to `handle_*`, carries out `poll_transmit`, and
/// calls [`Self::handle_timeout`] when `poll_timeout` is due.
#[derive(Debug)]
pub struct Master {
    rpc: RpcPeer,
    state: State,
    /// The latest time that the driver passed in.
    latest: Instant,
}

impl Master {
    /// A master without nodes and parameters.
    pub fn new(config: MasterConfig) -> Self {
        let MasterConfig { uri, pid, limits, rpc } = config;
        Self { rpc: RpcPeer::new(rpc), state: State::new(uri, pid, limits), latest: Instant::default() }
    }

    /// Registered nodes.
    pub fn node_count(&self) -> usize {
        self.state.registry.node_count()
    }

    /// Registrations: publishers, subscribers, services and parameter subscriptions.
    pub fn registration_count(&self) -> usize {
        self.state.registry.registration_count()
    }

    /// Bytes of parameters, as [`MasterLimits::param_bytes`] counts them.
    pub fn param_bytes(&self) -> usize {
        self.state.params.held().bytes
    }

    /// The struct of all parameters.
    pub fn params(&self) -> Option<&Value> {
        self.state.params.get("/")
    }

    /// Restores a parameter that was stored in an earlier run. Call it before any node can reach the master.
    ///
    /// # Errors
    /// The bound that it would exceed.
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

    /// Stores every later change of a parameter before it is made.
    pub fn set_param_store(&mut self, store: Box<dyn ParamStore>) {
        self.state.param_store = Some(store);
    }

    /// Parameter changes that were refused because they could not be stored.
    pub fn unstored_params(&self) -> u64 {
        self.state.unstored_params
    }

    /// Updates that were dropped because a node's queue was full.
    pub fn lost_updates(&self) -> u64 {
        self.state.notifier.lost()
    }

    /// Updates that were withheld from addresses that had never answered.
    pub fn withheld_updates(&self) -> u64 {
        self.state.credit.withheld()
    }

    /// Whether a connection belongs to the master and is not known to be closed.
    pub fn owns(&self, conn: ConnId) -> bool {
        self.rpc.owns(conn)
    }

    /// A client has connected. Returns the connection's id, or `None` if there are too many connections and this one
    /// must be closed.
    pub fn handle_accepted(&mut self, now: Instant, peer: SocketAddr) -> Option<ConnId> {
        let conn = self.rpc.handle_accepted(now, peer);
        self.advance(now);
        conn
    }

    /// A connection requested by [`Transmit::Connect`] is open.
    pub fn handle_connected(&mut self, now: Instant, conn: ConnId) {
        self.rpc.handle_connected(now, conn);
        self.advance(now);
    }

    /// Bytes have arrived on a connection.
    pub fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        self.rpc.handle_data(now, conn, bytes);
        self.advance(now);
    }

    /// A connection has ended or could not be opened. `why` is the operating system's error, if there was one. The
    /// word "refused" in it is taken as proof that no process listens there.
    pub fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>) {
        self.rpc.handle_closed(now, conn, why);
        self.state.liveness.closed(now, conn, true);
        self.advance(now);
    }

    /// A connection requested by [`Transmit::Connect`] was not attempted: its host name has no address. Call it in
    /// place of [`Self::handle_closed`], so that the address is not charged for a connection.
    pub fn handle_unresolved(&mut self, now: Instant, conn: ConnId, why: &str) {
        self.rpc.handle_unresolved(now, conn, why);
        self.advance(now);
    }

    /// Does the work that is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.rpc.handle_timeout(now);
        self.state.retry_updates(now);
        self.advance(now);
        while let Some(probe) = self.state.liveness.next_probe(now, self.state.limits.probes) {
            self.send_liveness_probe(now, &probe);
        }
        self.advance(now);
    }

    /// When [`Self::handle_timeout`] is to be called next; `None` if no deadline runs.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let probe = self.state.liveness.next_due(self.state.limits.probes);
        let retry = self.state.retries.next_due();
        let unanswered = self.state.credit.next_due();
        [self.rpc.poll_timeout(), probe, retry, unanswered].into_iter().flatten().min()
    }

    /// The next socket operation.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        let transmit = self.rpc.poll_transmit()?;
        if let Transmit::Close { conn } = transmit {
            self.state.liveness.closed(self.latest, conn, false);
        }
        Some(transmit)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<MasterEvent> {
        self.state.events.pop()
    }

    /// Handles the events of the connections, and sends the resulting updates.
    fn advance(&mut self, now: Instant) {
        self.latest = now;
        loop {
            while let Some(event) = self.rpc.poll_event() {
                self.follow_up(now, event);
            }
            if let Some(update) = self.state.next_update() {
                self.send(now, update);
            } else if let Some(api) = self.state.next_credit_probe(now) {
                self.send_credit_probe(now, api);
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
            RpcEvent::KeptConnectionLost => {}
        }
    }

    fn answered(&mut self, now: Instant, call: CallId, result: Result<Value, CallError>) {
        let consequence = self.state.credit.ended(now, call, &result);
        self.state.follow_up_credit(consequence);
        if let Some(api) = self.state.retries.in_progress(call).map(|(api, _)| api.clone()) {
            let is_wanted = self.state.is_wanted(call);
            let outcome = outcome_of(&result);
            if let Err(error) = result.or_else(accept_closed)
                && is_wanted
            {
                self.update_failed(&api, UpdateFault::Call(error));
            }
            self.state.update_ended(now, call, outcome);
        } else if let Some(lost) = self.state.liveness.probe_ended(now, call, probe_result_of(&result)) {
            self.state.drop_lost_node(&lost);
        }
    }

    fn send(&mut self, now: Instant, update: Update) {
        let Update { api, notification, method, params } = update;
        let to = match Uri::parse(&api) {
            Ok(uri) => uri,
            Err(error) => {
                self.state.notifier.skip(&api);
                return self.update_failed(&api, UpdateFault::Uri(error));
            }
        };
        let cost = self.state.credit.is_bounded(&api).then(|| credit::cost(&api, method, &params));
        if cost.is_some_and(|cost| !self.state.credit.spend(&api, cost, Purpose::Update)) {
            return self.state.withhold(&api, notification, now);
        }
        let bytes = params.iter().map(|value| measure::size(value).bytes).sum();
        let call = self.rpc.call(now, &to, method, &params, options(UPDATE_TIMEOUT));
        if let Some(cost) = cost {
            self.state.credit.sent(call, api.clone(), cost, Purpose::Update);
        }
        self.state.retries.sent(call, api.clone(), notification);
        self.state.notifier.sent(api, call, bytes);
    }

    fn send_liveness_probe(&mut self, now: Instant, probe: &Probe) {
        let Ok(to) = Uri::parse(&probe.api) else {
            self.state.liveness.on_probe_result(now, &probe.node, ProbeResult::Unknown);
            return;
        };
        match self.call_get_pid(now, &probe.api, &to, Purpose::Liveness) {
            Some(call) => self.state.liveness.probe_sent(&probe.node, call),
            None => _ = self.state.liveness.on_probe_result(now, &probe.node, ProbeResult::Unknown),
        }
    }

    /// Probes an address that has never answered a call and for which updates are withheld.
    fn send_credit_probe(&mut self, now: Instant, api: Arc<str>) {
        let call = Uri::parse(&api).ok().and_then(|to| self.call_get_pid(now, &api, &to, Purpose::Probe));
        if call.is_none() {
            self.state.credit.unpaid(&api);
        }
    }

    /// Calls `getPid`; `None` if the address has no credit for it.
    fn call_get_pid(&mut self, now: Instant, api: &Arc<str>, to: &Uri, purpose: Purpose) -> Option<CallId> {
        let cost = self.state.credit.is_bounded(api).then(|| credit::probe_cost(api));
        if cost.is_some_and(|cost| !self.state.credit.spend(api, cost, purpose)) {
            return None;
        }
        let params = [Value::from(MASTER_NAME)];
        let call = self.rpc.call(now, to, GET_PID, &params, options(PROBE_TIMEOUT));
        if let Some(cost) = cost {
            self.state.credit.sent(call, api.clone(), cost, purpose);
        }
        Some(call)
    }

    fn update_failed(&mut self, api: &Arc<str>, why: UpdateFault) {
        self.state.events.push(MasterEvent::UpdateFailed { uri: api.to_string(), why });
    }
}

/// Options of a call to a node. Nodes of one process may share a port, so that calls may wait for each other.
fn options(timeout: Duration) -> CallOptions {
    CallOptions { timeout, total_timeout: timeout * 4, keep_open: false }
}

/// Forgives the end of a connection: a node that is requested to shut down may exit before it answers.
fn accept_closed(error: CallError) -> Result<Value, CallError> {
    match error {
        CallError::Closed { call, .. } if call.method == SHUTDOWN => Ok(Value::from(0)),
        other => Err(other),
    }
}

/// The outcome of an update, from the result of its call.
fn outcome_of(result: &Result<Value, CallError>) -> UpdateOutcome {
    match (probe_result_of(result), result) {
        (ProbeResult::Unknown, Err(CallError::TimedOut { .. })) => UpdateOutcome::TimedOut,
        (ProbeResult::Unknown, _) => UpdateOutcome::OutOfReach,
        (ProbeResult::Pid(_) | ProbeResult::NotListening | ProbeResult::NotANode, _) => {
            UpdateOutcome::Settled
        }
    }
}

/// The result of a liveness probe, from the result of `getPid`.
fn probe_result_of(result: &Result<Value, CallError>) -> ProbeResult {
    match result {
        Ok(reply) => match Answer::parse(reply).map(Answer::into_result) {
            Ok(Ok(Value::Int(pid))) => ProbeResult::Pid(*pid),
            Ok(_) | Err(_) => ProbeResult::NotANode,
        },
        Err(CallError::Unreachable { why: Some(why), .. })
            if why.to_ascii_lowercase().contains("refused") =>
        {
            ProbeResult::NotListening
        }
        Err(CallError::Fault { .. } | CallError::BadResponse { .. } | CallError::Closed { .. }) => {
            ProbeResult::NotANode
        }
        Err(_) => ProbeResult::Unknown,
    }
}
