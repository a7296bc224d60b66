//! State of the node's registrations with the master.
//!
//! The node keeps one connection to the master open. The end of that connection is the sign that the master died;
//! only then does a retry timer run. A master that answers again is first asked for the owner of the node's name, so
//! that a newer node of that name keeps it. Then everything is registered again. That also happens when the master
//! names this node as the owner: a new master may have received one registration before the node noticed, and an old
//! one may have sent publisher updates that did not arrive.

#[cfg(test)]
mod tests;

use std::time::Duration;

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;

use super::event::Role;

/// Calls to the master in progress at a time.
const OUTSTANDING: usize = 8;

/// Interval of attempts to reach the master.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Time during which the master must report no owner of the node's name before the name is considered free. A newer node of that
/// name that waited for the master retries every [`RETRY_INTERVAL`] and must come first.
const OWNER_CONFIRM_DELAY: Duration = Duration::from_millis(700);

/// Time during which the publisher lists of a returned master only add publishers.
const ADDITIVE_PERIOD: Duration = Duration::from_secs(10);

/// One registration, and its state at the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// It is to be registered; otherwise it is to be unregistered and removed.
    desired: bool,
    state: Registration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registration {
    /// The master has never received it.
    Unknown,
    /// The master may have received it, but not its current state.
    Stale,
    /// A call is in progress.
    Pending,
    /// A call is in progress with a value that has changed since.
    Outdated,
    /// The master has accepted it.
    Registered,
    /// The master has refused it.
    Refused,
}

impl Entry {
    fn is_due(self) -> bool {
        matches!(self.state, Registration::Unknown | Registration::Stale)
    }

    /// Whether the master has it or may have it.
    fn is_known(self) -> bool {
        !matches!(self.state, Registration::Unknown | Registration::Refused)
    }

    fn is_in_progress(self) -> bool {
        matches!(self.state, Registration::Pending | Registration::Outdated)
    }
}

/// State of the connection to the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MasterState {
    /// The last call to the master was answered.
    Reachable,
    /// The master did not answer; the next attempt is at `retry`.
    Unreachable { retry: Instant },
    /// The owner of the node's name has been requested.
    CheckingOwner,
    /// The master reported no owner; it is asked once more at `at`.
    Unconfirmed { at: Instant },
    /// The second request for the owner is in progress.
    ConfirmingOwner,
    /// Another node owns the name, or this node is closing.
    Closed,
}

/// A call to make to the master.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MasterRequest {
    /// Register this role for this name.
    Register(Role, String),
    /// Unregister it.
    Unregister(Role, String),
    /// Look up the owner of the node's name.
    NameOwner,
}

/// The owner of the node's name at the master.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NameOwner {
    /// This node.
    Own,
    /// No node: the master is new.
    Unowned,
    /// Another node.
    Foreign,
}

#[derive(Debug)]
pub(super) struct Registrar {
    entries: SortedMap<(Role, String), Entry>,
    master: MasterState,
    /// The node is closing.
    ended: bool,
    /// The master has known this node. After an outage, the owner of the name must then be looked up.
    has_been_registered: bool,
    /// The outage has been reported.
    is_outage_reported: bool,
    additive_until: Instant,
    /// The node is on standby: services and parameters, of which the last registration counts, are not registered.
    is_standby: bool,
}

impl Registrar {
    pub(super) fn new(is_standby: bool) -> Self {
        Self {
            is_standby,
            entries: SortedMap::new(),
            master: MasterState::Reachable,
            ended: false,
            has_been_registered: false,
            is_outage_reported: false,
            additive_until: Instant::default(),
        }
    }

    /// Requests a registration.
    pub(super) fn want(&mut self, role: Role, topic: &str) {
        let entry = self.entries.entry((role, topic.to_owned()));
        let entry = entry.or_insert(Entry { desired: true, state: Registration::Unknown });
        if !entry.desired {
            *entry = Entry { desired: true, state: Registration::Stale };
        }
    }

    /// Requests a registration whose value has changed since the last request.
    pub(super) fn want_changed(&mut self, role: Role, topic: &str) {
        self.want(role, topic);
        if let Some(entry) = self.entries.get_mut(&(role, topic.to_owned())) {
            entry.state = match entry.state {
                Registration::Pending | Registration::Outdated => Registration::Outdated,
                Registration::Registered | Registration::Refused => Registration::Stale,
                due @ (Registration::Unknown | Registration::Stale) => due,
            };
        }
    }

    /// Requests the end of a registration.
    pub(super) fn forget(&mut self, role: Role, topic: &str) {
        let key = (role, topic.to_owned());
        match self.entries.get_mut(&key) {
            Some(Entry { state: Registration::Unknown | Registration::Refused, .. }) => {
                self.entries.remove(&key);
            }
            Some(entry) => *entry = Entry { desired: false, state: Registration::Stale },
            None => {}
        }
    }

    /// Notes that the master has an entry that another program has made.
    pub(super) fn adopt(&mut self, role: Role, topic: &str) {
        let registered = Entry { desired: true, state: Registration::Registered };
        self.entries.entry((role, topic.to_owned())).or_insert(registered);
    }

    /// Whether the master has not been sent the last value of an entry.
    pub(super) fn is_due(&self, role: Role, topic: &str) -> bool {
        let entry = self.entries.get(&(role, topic.to_owned()));
        entry.is_some_and(|entry| entry.is_due() || entry.state == Registration::Outdated)
    }

    /// Whether the master has not confirmed the end of an entry.
    pub(super) fn is_ending(&self, role: Role, topic: &str) -> bool {
        self.entries.get(&(role, topic.to_owned())).is_some_and(|entry| !entry.desired)
    }

    /// Whether calls to the master may be made.
    pub(super) fn can_call(&self) -> bool {
        self.master == MasterState::Reachable
    }

    /// The node has another name from now on: everything is to be registered under it. Returns what the master knows or
    /// may know under the former name.
    pub(super) fn rename(&mut self) -> Vec<(Role, String)> {
        self.is_standby = false;
        let known = self.entries.iter().filter(|(_, entry)| entry.is_known()).map(|(key, _)| key.clone());
        let known = known.collect();
        self.entries.retain(|_, entry| entry.desired);
        for (_, entry) in self.entries.iter_mut() {
            entry.state = match entry.state {
                Registration::Pending | Registration::Outdated => Registration::Outdated,
                _ => Registration::Unknown,
            };
        }
        known
    }

    /// Whether the master has answered everything.
    pub(super) fn is_settled(&self) -> bool {
        self.can_call() && !self.entries.values().any(|entry| entry.is_due() || entry.is_in_progress())
    }

    /// Ends all registrations for good. Returns those that the master knows or may know, and `None` the second time.
    pub(super) fn end(&mut self) -> Option<Vec<(Role, String)>> {
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        let ours = self.master != MasterState::Closed;
        self.master = MasterState::Closed;
        let entries = std::mem::take(&mut self.entries).into_iter();
        let known = entries.filter(|(_, entry)| entry.is_known());
        Some(known.map(|(key, _)| key).filter(|_| ours).collect())
    }

    /// True while the publisher lists of a returned master must not end links.
    pub(super) fn is_list_additive(&self, now: Instant) -> bool {
        now < self.additive_until
    }

    /// When that period ends.
    pub(super) fn additive_until(&self) -> Instant {
        self.additive_until
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self.master {
            MasterState::Unreachable { retry: at } | MasterState::Unconfirmed { at } => Some(at),
            _ => None,
        }
    }

    /// The next call to make; `None` if there is none or enough are in progress.
    pub(super) fn next_request(&mut self, now: Instant) -> Option<MasterRequest> {
        match self.master {
            MasterState::Unreachable { retry } if retry <= now => self.next_owner_lookup(),
            MasterState::Unconfirmed { at } if at <= now => {
                self.master = MasterState::ConfirmingOwner;
                Some(MasterRequest::NameOwner)
            }
            MasterState::Reachable => self.next_registration(),
            _ => None,
        }
    }

    fn next_owner_lookup(&mut self) -> Option<MasterRequest> {
        if self.has_been_registered {
            self.master = MasterState::CheckingOwner;
            return Some(MasterRequest::NameOwner);
        }
        self.master = MasterState::Reachable;
        self.next_registration()
    }

    fn next_registration(&mut self) -> Option<MasterRequest> {
        let asked = self.entries.values().filter(|entry| entry.is_in_progress()).count();
        if asked >= OUTSTANDING {
            return None;
        }
        let waits = |role: Role| self.is_standby && matches!(role, Role::Service | Role::Parameter);
        let is_next = |(key, entry): &(&(Role, String), &mut Entry)| entry.is_due() && !waits(key.0);
        let ((role, topic), entry) = self.entries.iter_mut().find(is_next)?;
        entry.state = Registration::Pending;
        let ask = if entry.desired { MasterRequest::Register } else { MasterRequest::Unregister };
        Some(ask(*role, topic.clone()))
    }

    /// The master has accepted or refused a registration. False if it was no longer pending.
    pub(super) fn registered(&mut self, role: Role, topic: &str, accepted: bool) -> bool {
        self.has_been_registered |= accepted;
        self.is_outage_reported = false;
        let entry = self.entries.get_mut(&(role, topic.to_owned())).filter(|entry| entry.desired);
        match entry {
            Some(entry) => {
                entry.state = match (entry.state, accepted) {
                    (Registration::Outdated, _) => Registration::Stale,
                    (_, true) => Registration::Registered,
                    (_, false) => Registration::Refused,
                }
            }
            None => return false,
        }
        true
    }

    /// The master has unregistered an entry.
    pub(super) fn unregistered(&mut self, role: Role, topic: &str) {
        let key = (role, topic.to_owned());
        if self.entries.get(&key).is_some_and(|entry| !entry.desired && entry.state == Registration::Pending)
        {
            self.entries.remove(&key);
        }
    }

    /// A call got no answer: all pending calls must be repeated. True if the outage is new.
    pub(super) fn on_no_answer(&mut self, now: Instant) -> bool {
        for entry in self.entries.iter_mut().map(|(_, entry)| entry).filter(|entry| entry.is_in_progress()) {
            entry.state = Registration::Stale;
        }
        if self.master == MasterState::Closed {
            return false;
        }
        self.master = MasterState::Unreachable { retry: now + RETRY_INTERVAL };
        !std::mem::replace(&mut self.is_outage_reported, true)
    }

    /// The open connection has ended. True if the owner of the node's name must be looked up.
    pub(super) fn connection_lost(&mut self) -> bool {
        let ask = self.master == MasterState::Reachable && self.has_been_registered;
        if ask {
            self.master = MasterState::CheckingOwner;
        }
        ask
    }

    /// The master has named the owner of the node's name. True if everything is registered again.
    pub(super) fn on_owner(&mut self, now: Instant, owner: &NameOwner) -> bool {
        if self.master == MasterState::Closed {
            return false;
        }
        self.is_outage_reported = false;
        match owner {
            NameOwner::Foreign => self.master = MasterState::Closed,
            NameOwner::Unowned if self.master != MasterState::ConfirmingOwner => {
                self.master = MasterState::Unconfirmed { at: now + OWNER_CONFIRM_DELAY };
            }
            NameOwner::Unowned | NameOwner::Own => {
                self.master = MasterState::Reachable;
                self.mark_all_unregistered(now, *owner == NameOwner::Own);
                return true;
            }
        }
        false
    }

    /// Marks everything as unregistered. Entries that are no longer desired are dropped if the master does not know
    /// the node.
    fn mark_all_unregistered(&mut self, now: Instant, is_node_known: bool) {
        self.additive_until = now + ADDITIVE_PERIOD;
        self.entries.retain(|_, entry| entry.desired || is_node_known);
        // A master that knows the node has kept its parameters, and later changes by other nodes.
        let affected =
            self.entries.iter_mut().filter(|((role, _), _)| !is_node_known || *role != Role::Parameter);
        affected.for_each(|(_, entry)| entry.state = Registration::Stale);
    }
}
