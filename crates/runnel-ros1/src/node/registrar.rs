//! State of the node's registrations with the master.
//!
//! The node keeps one connection to the master open. The end of that connection is the sign that the master died;
//! only then does a retry timer run. A master that answers again is first asked for the owner of the node's name, so
//! that a newer node of that name keeps it. Then everything is registered again. That also happens when the master
//! names this node as the owner: a new master may have received one registration before the node noticed, and an old
//! one may have sent publisher updates that did not arrive.

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
}

impl Registrar {
    pub(super) fn new() -> Self {
        Self {
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

    /// Ends all registrations for good. Returns those that the master knows or may know, and `None` the second time.
    pub(super) fn end(&mut self) -> Option<Vec<(Role, String)>> {
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        let ours = self.master != MasterState::Closed;
        self.master = MasterState::Closed;
        let entries = std::mem::take(&mut self.entries).into_iter();
        let known = entries
            .filter(|(_, entry)| !matches!(entry.state, Registration::Unknown | Registration::Refused));
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
        let ((role, topic), entry) = self.entries.iter_mut().find(|(_, entry)| entry.is_due())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(1_000_000_000);

    fn register_a() -> Option<MasterRequest> {
        Some(MasterRequest::Register(Role::Publisher, "/a".into()))
    }

    fn known() -> Registrar {
        let mut registrar = Registrar::new();
        registrar.want(Role::Publisher, "/a");
        assert_eq!(registrar.next_request(NOW), register_a());
        assert!(registrar.registered(Role::Publisher, "/a", true));
        assert_eq!(registrar.next_request(NOW), None);
        registrar
    }

    #[test]
    fn no_timer_runs_while_master_answers() {
        assert_eq!(known().poll_timeout(), None);
    }

    #[test]
    fn changed_value_is_sent_again_after_call_in_progress() {
        let mut registrar = Registrar::new();
        let set_rate = || Some(MasterRequest::Register(Role::Parameter, "/n/rate".into()));
        registrar.want_changed(Role::Parameter, "/n/rate");
        assert_eq!(registrar.next_request(NOW), set_rate());
        registrar.want_changed(Role::Parameter, "/n/rate");
        registrar.want_changed(Role::Parameter, "/n/rate");
        assert_eq!(registrar.next_request(NOW), None, "one call per parameter, so that values stay in order");
        assert!(registrar.registered(Role::Parameter, "/n/rate", true));
        assert_eq!(registrar.next_request(NOW), set_rate());
        assert!(registrar.registered(Role::Parameter, "/n/rate", true));
        assert_eq!(registrar.next_request(NOW), None);
        registrar.want_changed(Role::Parameter, "/n/rate");
        assert_eq!(registrar.next_request(NOW), set_rate());
    }

    #[test]
    fn new_master_is_asked_twice_then_gets_everything() {
        let mut registrar = known();
        assert!(registrar.connection_lost());
        assert!(!registrar.on_owner(NOW, &NameOwner::Unowned), "a newer node may be about to register");
        assert_eq!(
            (registrar.next_request(NOW), registrar.poll_timeout()),
            (None, Some(NOW + OWNER_CONFIRM_DELAY))
        );
        let later = NOW + OWNER_CONFIRM_DELAY;
        assert_eq!(registrar.next_request(later), Some(MasterRequest::NameOwner));
        assert!(registrar.on_owner(later, &NameOwner::Unowned));
        assert_eq!(registrar.next_request(later), register_a());
        assert!(registrar.is_list_additive(later));
        assert!(!registrar.is_list_additive(later + ADDITIVE_PERIOD));
    }

    #[test]
    fn master_that_knows_node_gets_everything_again() {
        let mut registrar = known();
        assert!(registrar.connection_lost());
        assert!(registrar.on_owner(NOW, &NameOwner::Own));
        assert_eq!(registrar.next_request(NOW), register_a());
    }

    #[test]
    fn silent_master_is_retried_until_it_answers() {
        let mut registrar = known();
        registrar.connection_lost();
        assert!(registrar.on_no_answer(NOW));
        assert_eq!(registrar.poll_timeout(), Some(NOW + RETRY_INTERVAL));
        assert_eq!(registrar.next_request(NOW), None);
        assert_eq!(registrar.next_request(NOW + RETRY_INTERVAL), Some(MasterRequest::NameOwner));
        assert!(!registrar.on_no_answer(NOW + RETRY_INTERVAL), "no news the second time");
        assert_eq!(
            registrar.next_request(NOW + RETRY_INTERVAL + RETRY_INTERVAL),
            Some(MasterRequest::NameOwner)
        );
    }

    #[test]
    fn name_taken_by_another_is_not_registered() {
        for doubts in [false, true] {
            let mut registrar = known();
            registrar.connection_lost();
            if doubts {
                registrar.on_owner(NOW, &NameOwner::Unowned);
                registrar.next_request(NOW + OWNER_CONFIRM_DELAY);
            }
            assert!(!registrar.on_owner(NOW, &NameOwner::Foreign));
            registrar.want(Role::Subscriber, "/b");
            assert_eq!((registrar.next_request(NOW), registrar.end()), (None, Some(Vec::new())));
        }
    }

    #[test]
    fn unknown_node_registers_immediately() {
        let mut registrar = Registrar::new();
        registrar.want(Role::Subscriber, "/a");
        registrar.next_request(NOW);
        assert!(registrar.on_no_answer(NOW));
        assert_eq!(
            registrar.next_request(NOW + RETRY_INTERVAL),
            Some(MasterRequest::Register(Role::Subscriber, "/a".into()))
        );
    }

    #[test]
    fn unwanted_entry_is_unregistered_once_master_answers() {
        let mut registrar = known();
        registrar.connection_lost();
        registrar.forget(Role::Publisher, "/a");
        assert_eq!(registrar.next_request(NOW), None);
        registrar.on_owner(NOW, &NameOwner::Own);
        assert_eq!(
            registrar.next_request(NOW),
            Some(MasterRequest::Unregister(Role::Publisher, "/a".into()))
        );
        registrar.on_no_answer(NOW);
        registrar.next_request(NOW + RETRY_INTERVAL);
        registrar.on_owner(NOW + RETRY_INTERVAL, &NameOwner::Own);
        assert_eq!(
            registrar.next_request(NOW + RETRY_INTERVAL),
            Some(MasterRequest::Unregister(Role::Publisher, "/a".into()))
        );
        registrar.unregistered(Role::Publisher, "/a");
        assert_eq!(registrar.end(), Some(Vec::new()));
    }

    #[test]
    fn entry_unknown_to_master_is_dropped_silently() {
        let mut registrar = Registrar::new();
        registrar.want(Role::Publisher, "/a");
        registrar.forget(Role::Publisher, "/a");
        assert_eq!((registrar.next_request(NOW), registrar.end()), (None, Some(Vec::new())));
    }

    #[test]
    fn entry_wanted_again_is_registered_again() {
        let mut registrar = known();
        registrar.forget(Role::Publisher, "/a");
        assert_eq!(
            registrar.next_request(NOW),
            Some(MasterRequest::Unregister(Role::Publisher, "/a".into()))
        );
        registrar.want(Role::Publisher, "/a");
        assert_eq!(registrar.next_request(NOW), register_a());
        registrar.unregistered(Role::Publisher, "/a");
        assert!(registrar.registered(Role::Publisher, "/a", true));
        assert_eq!(registrar.end(), Some(vec![(Role::Publisher, "/a".into())]));
    }

    #[test]
    fn end_is_reported_once() {
        let mut registrar = known();
        assert_eq!(registrar.end(), Some(vec![(Role::Publisher, "/a".into())]));
        assert_eq!(registrar.end(), None);
    }
}
