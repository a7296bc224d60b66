//! What the master knows, and what follows from each change of it.

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
use super::notify::{News, Notifier};
use super::params::{ParamStore, Params, tree_key};
use super::registry::{Departed, Registry, Role};
use super::retries::Retries;
use super::watch::{Watchers, update_key};

/// The name under which the master calls nodes.
pub(super) const MASTER_NAME: &str = "/master";

/// The method that ends a node.
pub(super) const SHUTDOWN: &str = "shutdown";

/// The master without its connections.
#[derive(Debug)]
pub(super) struct State {
    pub(super) uri: String,
    pub(super) pid: i32,
    pub(super) limits: MasterLimits,
    pub(super) registry: Registry,
    pub(super) params: Params,
    /// Where parameters outlive the master, if anywhere.
    pub(super) param_store: Option<Box<dyn ParamStore>>,
    /// Changes of parameters that were refused because they could not be stored.
    pub(super) unstored_params: u64,
    pub(super) watchers: Watchers,
    pub(super) notifier: Notifier,
    pub(super) retries: Retries,
    pub(super) liveness: Liveness,
    pub(super) credit: SendCredit,
    pub(super) events: Events,
}

/// Who makes a call, when and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    pub(super) now: Instant,
    pub(super) conn: ConnId,
    pub(super) name: &'a str,
    /// Bytes of the request, or of the part of it that this call is.
    pub(super) bytes: usize,
}

/// What became of the call of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateOutcome {
    /// It was told, or is not worth another try.
    Settled,
    /// There was no answer in time.
    TimedOut,
    /// The node could not be reached, and may be there all the same.
    OutOfReach,
}

/// A call that a node is to get.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Update {
    pub(super) api: Arc<str>,
    pub(super) news: News,
    pub(super) method: &'static str,
    pub(super) params: Vec<Value>,
}

impl State {
    /// A master that knows nothing yet.
    pub(super) fn new(uri: String, pid: i32, limits: MasterLimits) -> Self {
        Self {
            uri,
            pid,
            registry: Registry::default(),
            params: Params::default(),
            param_store: None,
            unstored_params: 0,
            watchers: Watchers::default(),
            notifier: Notifier::new(&limits),
            retries: Retries::default(),
            liveness: Liveness::default(),
            credit: SendCredit::new(limits.nodes),
            events: Events::default(),
            limits,
        }
    }

    /// Makes room for a registration: the caller is known at its URI afterwards, and a node of the same name at
    /// another URI is gone.
    ///
    /// # Errors
    /// When the caller has been replaced by a newer node of its name and is to end, or the registration would go past
    /// a bound; nothing has changed then.
    pub(super) fn enter(
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
        if let Some(old) = self.registry.enlist(from.name, api, from.now) {
            self.taken_over(from.name, api, old);
        }
        if let Some(api) = self.registry.api(from.name) {
            self.liveness.registered(from.now, from.conn, from.name, api);
        }
        let (node, name) = (from.name.to_owned(), name.to_owned());
        self.events.push(MasterEvent::Registered { role, node, name });
        Ok(())
    }

    /// What follows when a node ended a registration; `last` if it has none left and is forgotten.
    pub(super) fn left(&mut self, node: &str, role: Role, name: &str, last: bool) {
        if last {
            self.liveness.forget(node);
        }
        self.registry.forget_types(self.limits.remembered_types);
        let (node, name) = (node.to_owned(), name.to_owned());
        self.events.push(MasterEvent::Unregistered { role, node, name });
    }

    /// Drops a node that is no longer there.
    pub(super) fn lose(&mut self, node: &str) {
        let Some(departed) = self.registry.expel(node) else { return };
        self.liveness.forget(node);
        let (name, uri) = (node.to_owned(), departed.api.to_string());
        self.events.push(MasterEvent::NodeLost { name, uri });
        self.clear(node, &departed);
    }

    /// Tells the subscribers of a topic that its publishers changed.
    pub(super) fn publishers_changed(&mut self, topic: &str) {
        let topic: Arc<str> = topic.into();
        let subscribers: Vec<Arc<str>> = self.registry.subscribers(&topic).cloned().collect();
        for node in subscribers {
            self.tell(&node.clone(), News::Publishers { node, topic: topic.clone() });
        }
    }

    /// Stores a change of a parameter that is about to be made, if parameters are stored.
    ///
    /// # Errors
    /// When it cannot be stored, so that it must not be made.
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

    /// Tells those concerned that a parameter changed.
    pub(super) fn param_changed(&mut self, key: &str, setter: Option<&str>) {
        for touched in self.watchers.touched(key, setter) {
            self.tell(&touched.node.clone(), News::Param { node: touched.node, key: touched.key });
        }
    }

    /// The next call to a node; news that no longer concern their node are passed over.
    pub(super) fn next_update(&mut self) -> Option<Update> {
        while let Some((api, news)) = self.notifier.next() {
            if self.concerns(&api, &news) {
                return Some(self.compose(api, news));
            }
            self.notifier.skip(&api);
            self.retries.forget(&(api, news));
        }
        None
    }

    /// Queues the updates again that nodes out of reach could not be told, where they still concern them.
    pub(super) fn tell_again(&mut self, now: Instant) {
        while let Some((api, news)) = self.retries.take_due(now) {
            if !self.concerns(&api, &news) || !self.notifier.push(&api, news.clone()) {
                self.retries.forget(&(api, news));
            }
        }
    }

    /// Counts the bytes of a call for the address of the node that made it, if that is registered.
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

    /// Withholds an update from an address that has not answered a call yet, until it has been asked.
    pub(super) fn withhold(&mut self, api: &Arc<str>, news: News, ask_at: Instant) {
        self.notifier.hold(api, news);
        if self.credit.withhold(api, ask_at) {
            self.events.push(MasterEvent::Withheld { uri: api.to_string() });
        }
    }

    /// The call of an update ended. If it is unclear whether the node is there, the update is tried again later: when an
    /// address that has never answered has been asked, and else after a pause of its own.
    pub(super) fn update_ended(&mut self, now: Instant, call: CallId, outcome: UpdateOutcome) {
        let Some((api, news)) = self.retries.under_way(call).cloned() else { return };
        let timed_out = outcome == UpdateOutcome::TimedOut;
        let is_settled = outcome == UpdateOutcome::Settled;
        let is_asked_first = self.credit.is_bounded(&api) && !matches!(news, News::Shutdown { .. });
        if !is_settled && is_asked_first && self.concerns(&api, &news) {
            self.retries.settled(call);
            self.notifier.end_call(call, timed_out);
            return self.withhold(&api, news, self.credit.next_try(now, &api));
        }
        self.notifier.ended(call, timed_out);
        if is_settled { self.retries.settled(call) } else { self.retries.failed(now, call) }
    }

    /// An address to be asked whether a node is there, since updates for it are withheld.
    pub(super) fn next_question(&mut self, now: Instant) -> Option<Arc<str>> {
        while let Some(api) = self.credit.take_due(now) {
            if self.notifier.held(&api).any(|news| self.concerns(&api, news)) {
                return Some(api);
            }
            self.credit.dismiss(&api);
            self.abandon(&api);
        }
        None
    }

    /// Carries out what follows from the end of a call to an address that had not answered.
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

    /// Drops what is withheld from an address; how many updates that were.
    fn abandon(&mut self, api: &Arc<str>) -> usize {
        let dropped = self.notifier.abandon(api);
        dropped.iter().for_each(|news| self.retries.dropped(&(api.clone(), news.clone())));
        dropped.len()
    }

    fn taken_over(&mut self, node: &str, new_uri: &str, old: Departed) {
        self.notifier.push(&old.api, News::Shutdown { node: node.into() });
        let (old_uri, new_uri) = (old.api.to_string(), new_uri.to_owned());
        self.events.push(MasterEvent::TakenOver { name: node.to_owned(), old_uri, new_uri });
        self.clear(node, &old);
    }

    /// Follows up what a departed node had registered.
    fn clear(&mut self, node: &str, departed: &Departed) {
        departed.watched.iter().for_each(|key| self.watchers.remove(key, node));
        departed.published.iter().for_each(|topic| self.publishers_changed(topic));
        self.registry.forget_types(self.limits.remembered_types);
    }

    fn tell(&mut self, node: &str, news: News) {
        let Some(api) = self.registry.api(node).cloned() else { return };
        if self.notifier.has_no_room(&api, &news) {
            self.condense(&api);
        }
        self.notifier.push(&api, news);
    }

    /// Makes room in a full queue: what concerns nobody any more goes, and in the place of single parameters
    /// come the namespaces that their nodes subscribed to.
    fn condense(&mut self, api: &Arc<str>) {
        let Self { registry, watchers, notifier, retries, .. } = self;
        let mut told_whole: BTreeSet<Arc<str>> = BTreeSet::new();
        let dropped = notifier.trim(api, |news| match news {
            News::Publishers { .. } | News::Shutdown { .. } => concerns(registry, watchers, api, news),
            News::Param { node, .. } => {
                told_whole.insert(node.clone());
                false
            }
        });
        for news in dropped {
            retries.dropped(&(api.clone(), news));
        }
        for node in told_whole {
            for key in registry.names_of(&node, Role::ParamSubscriber) {
                notifier.push(api, News::Param { node: node.clone(), key });
            }
        }
    }

    /// Whether what this call tells still concerns its node. A node that ends unregisters before it closes its
    /// connections, so that what it was being told meanwhile is no failure.
    pub(super) fn is_wanted(&self, call: CallId) -> bool {
        self.retries.under_way(call).is_some_and(|(api, news)| self.concerns(api, news))
    }

    fn concerns(&self, api: &Arc<str>, news: &News) -> bool {
        concerns(&self.registry, &self.watchers, api, news)
    }

    fn compose(&self, api: Arc<str>, news: News) -> Update {
        let me = Value::from(MASTER_NAME);
        let (method, params) = match news.clone() {
            News::Publishers { topic, .. } => {
                ("publisherUpdate", vec![me, Value::from(&*topic), self.registry.publisher_apis(&topic)])
            }
            News::Param { key, .. } => {
                let value =
                    self.params.get(&key).cloned().unwrap_or_else(|| Value::Struct(Default::default()));
                ("paramUpdate", vec![me, update_key(&key).into(), value])
            }
            News::Shutdown { node } => {
                let reason = format!("[{node}] Reason: new node registered with same name");
                (SHUTDOWN, vec![me, reason.into()])
            }
        };
        Update { api, news, method, params }
    }
}

/// Whether news still concern their node at that URI.
fn concerns(registry: &Registry, watchers: &Watchers, api: &Arc<str>, news: &News) -> bool {
    let lives_there = |node: &str| registry.api(node) == Some(api);
    match news {
        News::Publishers { node, topic } => lives_there(node) && registry.has(node, Role::Subscriber, topic),
        News::Param { node, key } => lives_there(node) && watchers.covers(node, key),
        News::Shutdown { .. } => true,
    }
}

#[cfg(test)]
mod tests;
