//! State of the master, and the consequences of each change.

use std::collections::BTreeSet;
use std::sync::Arc;

use runnel_core::time::Instant;

use crate::net::ConnId;
use crate::rpc::CallId;
use crate::xmlrpc::Value;

use super::api::Refusal;
use super::credit::{Consequence, SendCredit};
use super::event::{Events, MasterEvent, UpdateFault};
use super::limits::MasterLimits;
use super::liveness::Liveness;
use super::notify::{Notification, Notifier};
use super::param_subscribers::{ParamSubscribers, update_key};
use super::params::{ParamStore, Params, tree_key};
use super::registry::{Registry, RemovedNode, Role};
use super::retries::Retries;

/// The caller name of the master's calls to nodes.
pub(super) const MASTER_NAME: &str = "/master";

/// The method that shuts a node down.
pub(super) const SHUTDOWN: &str = "shutdown";

/// The master without its connections.
#[derive(Debug)]
pub(super) struct State {
    pub(super) uri: String,
    pub(super) pid: i32,
    pub(super) limits: MasterLimits,
    pub(super) registry: Registry,
    pub(super) params: Params,
    /// Persistent storage of parameters, if any.
    pub(super) param_store: Option<Box<dyn ParamStore>>,
    /// Parameter changes that were refused because they could not be stored.
    pub(super) unstored_params: u64,
    pub(super) param_subscribers: ParamSubscribers,
    pub(super) notifier: Notifier,
    pub(super) retries: Retries,
    pub(super) liveness: Liveness,
    pub(super) credit: SendCredit,
    pub(super) events: Events,
}

/// Caller, time and connection of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    pub(super) now: Instant,
    pub(super) conn: ConnId,
    pub(super) name: &'a str,
    /// Bytes of the request, or of this call's part of it.
    pub(super) bytes: usize,
}

/// Outcome of an update's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateOutcome {
    /// It was delivered, or is not worth a retry.
    Settled,
    /// No answer arrived in time.
    TimedOut,
    /// The node is unreachable, but may be alive.
    OutOfReach,
}

/// A call to a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Update {
    pub(super) api: Arc<str>,
    pub(super) notification: Notification,
    pub(super) method: &'static str,
    pub(super) params: Vec<Value>,
}

impl State {
    /// A master without nodes and parameters.
    pub(super) fn new(uri: String, pid: i32, limits: MasterLimits) -> Self {
        Self {
            uri,
            pid,
            registry: Registry::default(),
            params: Params::default(),
            param_store: None,
            unstored_params: 0,
            param_subscribers: ParamSubscribers::default(),
            notifier: Notifier::new(&limits),
            retries: Retries::default(),
            liveness: Liveness::default(),
            credit: SendCredit::new(limits.nodes),
            events: Events::default(),
            limits,
        }
    }

    /// Admits a registration. Afterwards the caller is known at its URI, and a node of the same name at another URI
    /// is removed.
    ///
    /// # Errors
    /// If a newer node has replaced the caller, which must shut down, or the registration would exceed a limit.
    /// Nothing has then changed.
    pub(super) fn admit_registration(
        &mut self,
        from: Caller<'_>,
        api: &str,
        role: Role,
        name: &str,
    ) -> Result<(), Refusal> {
        if self.registry.was_replaced(from.name, api, from.now) {
            return Err(Refusal::new(format!("a newer node has taken the name [{}] from {api}", from.name)));
        }
        self.registry.admit(&self.limits, (from.name, api), (role, name))?;
        if let Some(old) = self.registry.add_node(from.name, api, from.now) {
            self.report_takeover(from.name, api, old);
        }
        if let Some(api) = self.registry.api(from.name) {
            self.liveness.registered(from.now, from.conn, from.name, api);
        }
        let (node, name) = (from.name.to_owned(), name.to_owned());
        self.events.push(MasterEvent::Registered { role, node, name });
        Ok(())
    }

    /// A node has ended a registration; `last` if it has none left and is removed.
    pub(super) fn on_unregistered(&mut self, node: &str, role: Role, name: &str, last: bool) {
        if last {
            self.liveness.forget(node);
        }
        self.registry.forget_types(self.limits.remembered_types);
        let (node, name) = (node.to_owned(), name.to_owned());
        self.events.push(MasterEvent::Unregistered { role, node, name });
    }

    /// Drops a node that is no longer alive.
    pub(super) fn drop_lost_node(&mut self, node: &str) {
        let Some(removed) = self.registry.remove_node(node) else { return };
        self.liveness.forget(node);
        let (name, uri) = (node.to_owned(), removed.api.to_string());
        self.events.push(MasterEvent::NodeLost { name, uri });
        self.notify_removal(node, &removed);
    }

    /// Notifies the subscribers of a topic that its publishers changed.
    pub(super) fn publishers_changed(&mut self, topic: &str) {
        let topic: Arc<str> = topic.into();
        let subscribers: Vec<Arc<str>> = self.registry.subscribers(&topic).cloned().collect();
        for node in subscribers {
            self.notify(&node.clone(), Notification::Publishers { node, topic: topic.clone() });
        }
    }

    /// Stores a change of a parameter before it is made, if there is a store.
    ///
    /// # Errors
    /// If it cannot be stored; the change must then not be made.
    pub(super) fn store_param(
        &mut self,
        from: Caller<'_>,
        key: &str,
        value: Option<&Value>,
    ) -> Result<(), Refusal> {
        let Some(store) = &mut self.param_store else { return Ok(()) };
        let tree_key = tree_key(key);
        let Err(why) = store.store(&tree_key, value, self.params.get("/")) else { return Ok(()) };
        self.unstored_params += 1;
        let (caller, count) = (from.name.to_owned(), self.unstored_params);
        let refusal = Refusal::internal(&format!("parameter {key} is not changed: {why}"));
        self.events.push(MasterEvent::ParamNotStored { key: tree_key, caller, why, count });
        Err(refusal)
    }

    /// Notifies the subscribers that a parameter changed.
    pub(super) fn param_changed(&mut self, key: &str, setter: Option<&str>) {
        for affected in self.param_subscribers.affected(key, setter) {
            self.notify(
                &affected.node.clone(),
                Notification::Param { node: affected.node, key: affected.key },
            );
        }
    }

    /// The next call to a node; notifications that no longer concern their node are skipped.
    pub(super) fn next_update(&mut self) -> Option<Update> {
        while let Some((api, notification)) = self.notifier.next() {
            if self.concerns(&api, &notification) {
                return Some(self.compose(api, notification));
            }
            self.notifier.skip(&api);
            self.retries.forget(&(api, notification));
        }
        None
    }

    /// Queues failed updates again whose retry is due, if they still concern their nodes.
    pub(super) fn retry_updates(&mut self, now: Instant) {
        while let Some((api, notification)) = self.retries.take_due(now) {
            if !self.concerns(&api, &notification) || !self.notifier.push(&api, notification.clone()) {
                self.retries.forget(&(api, notification));
            }
        }
    }

    /// Grants credit to the registered address of a caller for the bytes of its call.
    pub(super) fn grant_credit(&mut self, from: Caller<'_>) {
        let Some(api) = self.registry.api(from.name) else { return };
        if self.credit.grant(from.now, api, from.bytes) {
            self.notifier.release(api);
        }
        if self.credit.is_full() {
            for api in self.credit.forget_unregistered(&self.registry.node_apis()) {
                self.abandon(&api);
            }
        }
    }

    /// Withholds an update from an address that has not answered a call yet, until it has been probed.
    pub(super) fn withhold(&mut self, api: &Arc<str>, notification: Notification, probe_at: Instant) {
        self.notifier.hold(api, notification);
        if self.credit.withhold(api, probe_at) {
            self.events.push(MasterEvent::Withheld { uri: api.to_string() });
        }
    }

    /// The call of an update has ended. If the node may be alive but did not answer, the update is retried: after a
    /// probe if the address has never answered, otherwise after a pause.
    pub(super) fn update_ended(&mut self, now: Instant, call: CallId, outcome: UpdateOutcome) {
        let Some((api, notification)) = self.retries.in_progress(call).cloned() else { return };
        let timed_out = outcome == UpdateOutcome::TimedOut;
        let is_settled = outcome == UpdateOutcome::Settled;
        let is_asked_first =
            self.credit.is_bounded(&api) && !matches!(notification, Notification::Shutdown { .. });
        if !is_settled && is_asked_first && self.concerns(&api, &notification) {
            self.retries.settled(call);
            self.notifier.end_call(call, timed_out);
            return self.withhold(&api, notification, self.credit.next_try(now, &api));
        }
        self.notifier.ended(call, timed_out);
        if is_settled { self.retries.settled(call) } else { self.retries.failed(now, call) }
    }

    /// An address to be probed, from which updates are withheld.
    pub(super) fn next_credit_probe(&mut self, now: Instant) -> Option<Arc<str>> {
        while let Some(api) = self.credit.take_due(now) {
            if self.notifier.held(&api).any(|notification| self.concerns(&api, notification)) {
                return Some(api);
            }
            self.credit.dismiss(&api);
            self.abandon(&api);
        }
        None
    }

    /// Carries out the consequence of a call to an address that had not answered.
    pub(super) fn follow_up_credit(&mut self, consequence: Option<Consequence>) {
        match consequence {
            None => {}
            Some(Consequence::Release(api)) => self.notifier.release(&api),
            Some(Consequence::GiveUp { api, last }) => {
                let why = UpdateFault::NeverAnswered { updates: self.abandon(&api), last };
                self.events.push(MasterEvent::UpdateFailed { uri: api.to_string(), why });
            }
        }
    }

    /// Drops the updates withheld from an address; returns their number.
    fn abandon(&mut self, api: &Arc<str>) -> usize {
        let dropped = self.notifier.abandon(api);
        dropped.iter().for_each(|notification| self.retries.dropped(&(api.clone(), notification.clone())));
        dropped.len()
    }

    fn report_takeover(&mut self, node: &str, new_uri: &str, old: RemovedNode) {
        self.notifier.push(&old.api, Notification::Shutdown { node: node.into() });
        let (old_uri, new_uri) = (old.api.to_string(), new_uri.to_owned());
        self.events.push(MasterEvent::TakenOver { name: node.to_owned(), old_uri, new_uri });
        self.notify_removal(node, &old);
    }

    /// Notifies subscribers of the registrations that a removed node had.
    fn notify_removal(&mut self, node: &str, removed: &RemovedNode) {
        removed.watched_params.iter().for_each(|key| self.param_subscribers.remove(key, node));
        removed.published.iter().for_each(|topic| self.publishers_changed(topic));
        self.registry.forget_types(self.limits.remembered_types);
    }

    fn notify(&mut self, node: &str, notification: Notification) {
        let Some(api) = self.registry.api(node).cloned() else { return };
        if self.notifier.is_queue_full(&api, &notification) {
            self.condense_queue(&api);
        }
        self.notifier.push(&api, notification);
    }

    /// Condenses a full queue: drops notifications that no longer concern their node, and replaces single parameters
    /// by the subscribed namespaces.
    fn condense_queue(&mut self, api: &Arc<str>) {
        let Self { registry, param_subscribers, notifier, retries, .. } = self;
        let mut notified_completely: BTreeSet<Arc<str>> = BTreeSet::new();
        let dropped = notifier.trim(api, |notification| match notification {
            Notification::Publishers { .. } | Notification::Shutdown { .. } => {
                concerns(registry, param_subscribers, api, notification)
            }
            Notification::Param { node, .. } => {
                notified_completely.insert(node.clone());
                false
            }
        });
        for notification in dropped {
            retries.dropped(&(api.clone(), notification));
        }
        for node in notified_completely {
            for key in registry.names_of(&node, Role::ParamSubscriber) {
                notifier.push(api, Notification::Param { node: node.clone(), key });
            }
        }
    }

    /// Whether the call's notification still concerns its node. A node that shuts down unregisters before it closes
    /// its connections, so that an interrupted notification is no failure.
    pub(super) fn is_wanted(&self, call: CallId) -> bool {
        self.retries.in_progress(call).is_some_and(|(api, notification)| self.concerns(api, notification))
    }

    fn concerns(&self, api: &Arc<str>, notification: &Notification) -> bool {
        concerns(&self.registry, &self.param_subscribers, api, notification)
    }

    fn compose(&self, api: Arc<str>, notification: Notification) -> Update {
        let me = Value::from(MASTER_NAME);
        let (method, params) = match notification.clone() {
            Notification::Publishers { topic, .. } => {
                ("publisherUpdate", vec![me, Value::from(&*topic), self.registry.publisher_apis(&topic)])
            }
            Notification::Param { key, .. } => {
                let value =
                    self.params.get(&key).cloned().unwrap_or_else(|| Value::Struct(Default::default()));
                ("paramUpdate", vec![me, update_key(&key).into(), value])
            }
            Notification::Shutdown { node } => {
                let reason = format!("[{node}] Reason: new node registered with same name");
                (SHUTDOWN, vec![me, reason.into()])
            }
        };
        Update { api, notification, method, params }
    }
}

/// Whether a notification still concerns its node at that URI.
fn concerns(
    registry: &Registry,
    param_subscribers: &ParamSubscribers,
    api: &Arc<str>,
    notification: &Notification,
) -> bool {
    let is_registered_here = |node: &str| registry.api(node) == Some(api);
    match notification {
        Notification::Publishers { node, topic } => {
            is_registered_here(node) && registry.has(node, Role::Subscriber, topic)
        }
        Notification::Param { node, key } => is_registered_here(node) && param_subscribers.covers(node, key),
        Notification::Shutdown { .. } => true,
    }
}

#[cfg(test)]
mod tests;
