//! State of the node's registrations with the master.
//!
//! The node keeps one connection to the master open. The end of that connection is the sign that the master died;
//! only then does a retry timer run. A master that answers again is first asked for the owner of the node's name, so
//! that a newer node of that name keeps it. Then everything is registered again. That also happens when the master
//! names this node as the owner: a new master may have received one registration before the node noticed, and an old
//! one may have sent publisher updates that did not arrive.

use litemap::LiteMap;
use std::time::Duration;

use runnel_core::time::Instant;

use super::event::Role;

/// Calls to the master in progress at once.
const OUTSTANDING: usize = 8;

/// Interval of attempts to reach the master.
const RETRY: Duration = Duration::from_millis(500);

/// How long the master must report no owner of the node's name before the name is taken as free. A newer node of that
/// name that waited for the master retries every [`RETRY`] and must come first.
const DOUBT: Duration = Duration::from_millis(700);

/// How long the publisher lists of a returned master only add publishers.
const ADDITIVE: Duration = Duration::from_secs(10);

/// One registration, and its state at the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// It is to be registered; otherwise it is to be unregistered and removed.
    wanted: bool,
    told: Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// The master has never received it.
    Nothing,
    /// The master may have received it, but not its current state.
    Otherwise,
    /// A call is in progress.
    Asked,
    /// The master has accepted it.
    Known,
    /// The master has refused it.
    Refused,
}

impl Entry {
    fn is_due(self) -> bool {
        matches!(self.told, Told::Nothing | Told::Otherwise)
    }
}

/// State of the connection to the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The master answers, as far as is known.
    Good,
    /// The master did not answer; the next attempt is at `retry`.
    Silent { retry: Instant },
    /// The owner of the node's name has been requested.
    Checking,
    /// The master reported no owner; it is asked once more at `again`.
    Doubting { again: Instant },
    /// The second request for the owner is in progress.
    Confirming,
    /// Another node owns the name, or this node is closing.
    Over,
}

/// A call to make to the master.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// Register this role for this name.
    Register(Role, String),
    /// Unregister it.
    Unregister(Role, String),
    /// Look up the owner of the node's name.
    Owner,
}

/// The owner of the node's name at the master.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// This node.
    Us,
    /// No node: the master is new.
    Nobody,
    /// Another node.
    Another,
}

#[derive(Debug)]
pub(super) struct Registrar {
    entries: LiteMap<(Role, String), Entry>,
    standing: Standing,
    /// The node is closing.
    ended: bool,
    /// The master has known this node. After an outage, the owner of the name must then be looked up.
    was_known: bool,
    /// The outage has been reported.
    silence_told: bool,
    additive_until: Instant,
}

impl Registrar {
    pub(super) fn new() -> Self {
        Self {
            entries: LiteMap::new(),
            standing: Standing::Good,
            ended: false,
            was_known: false,
            silence_told: false,
            additive_until: Instant::default(),
        }
    }

    /// Requests a registration.
    pub(super) fn want(&mut self, role: Role, topic: &str) {
        let entry = self.entries.entry((role, topic.to_owned()));
        let entry = entry.or_insert(Entry { wanted: true, told: Told::Nothing });
        if !entry.wanted {
            *entry = Entry { wanted: true, told: Told::Otherwise };
        }
    }

    /// Requests the end of a registration.
    pub(super) fn forget(&mut self, role: Role, topic: &str) {
        let key = (role, topic.to_owned());
        match self.entries.get_mut(&key) {
            Some(Entry { told: Told::Nothing | Told::Refused, .. }) => {
                self.entries.remove(&key);
            }
            Some(entry) => *entry = Entry { wanted: false, told: Told::Otherwise },
            None => {}
        }
    }

    /// Ends all registrations for good. Returns those that the master knows or may know, and `None` the second time.
    pub(super) fn end(&mut self) -> Option<Vec<(Role, String)>> {
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        let ours = self.standing != Standing::Over;
        self.standing = Standing::Over;
        let entries = std::mem::take(&mut self.entries).into_iter();
        // A parameter stays when the node that set it ends.
        let entries = entries.filter(|((role, _), _)| *role != Role::Parameter);
        let known = entries.filter(|(_, entry)| !matches!(entry.told, Told::Nothing | Told::Refused));
        Some(known.map(|(key, _)| key).filter(|_| ours).collect())
    }

    /// True while the publisher lists of a returned master must not end links.
    pub(super) fn lists_only_add(&self, now: Instant) -> bool {
        now < self.additive_until
    }

    /// When that period ends.
    pub(super) fn additive_until(&self) -> Instant {
        self.additive_until
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self.standing {
            Standing::Silent { retry: at } | Standing::Doubting { again: at } => Some(at),
            _ => None,
        }
    }

    /// The next call to make; `None` if there is none or enough are in progress.
    pub(super) fn next_ask(&mut self, now: Instant) -> Option<Ask> {
        match self.standing {
            Standing::Silent { retry } if retry <= now => self.after_silence(),
            Standing::Doubting { again } if again <= now => {
                self.standing = Standing::Confirming;
                Some(Ask::Owner)
            }
            Standing::Good => self.next_registration(),
            _ => None,
        }
    }

    fn after_silence(&mut self) -> Option<Ask> {
        if self.was_known {
            self.standing = Standing::Checking;
            return Some(Ask::Owner);
        }
        self.standing = Standing::Good;
        self.next_registration()
    }

    fn next_registration(&mut self) -> Option<Ask> {
        let asked = self.entries.values().filter(|entry| entry.told == Told::Asked).count();
        if asked >= OUTSTANDING {
            return None;
        }
        let ((role, topic), entry) = self.entries.iter_mut().find(|(_, entry)| entry.is_due())?;
        entry.told = Told::Asked;
        let ask = if entry.wanted { Ask::Register } else { Ask::Unregister };
        Some(ask(*role, topic.clone()))
    }

    /// The master has accepted or refused a registration. False if it was no longer pending.
    pub(super) fn registered(&mut self, role: Role, topic: &str, accepted: bool) -> bool {
        self.was_known |= accepted;
        self.silence_told = false;
        let entry = self.entries.get_mut(&(role, topic.to_owned())).filter(|entry| entry.wanted);
        match entry {
            Some(entry) => entry.told = if accepted { Told::Known } else { Told::Refused },
            None => return false,
        }
        true
    }

    /// The master has unregistered an entry.
    pub(super) fn unregistered(&mut self, role: Role, topic: &str) {
        let key = (role, topic.to_owned());
        if self.entries.get(&key).is_some_and(|entry| !entry.wanted && entry.told == Told::Asked) {
            self.entries.remove(&key);
        }
    }

    /// A call got no answer: all pending calls must be repeated. True if the outage is new.
    pub(super) fn unanswered(&mut self, now: Instant) -> bool {
        for entry in self.entries.iter_mut().map(|(_, entry)| entry).filter(|entry| entry.told == Told::Asked)
        {
            entry.told = Told::Otherwise;
        }
        if self.standing == Standing::Over {
            return false;
        }
        self.standing = Standing::Silent { retry: now + RETRY };
        !std::mem::replace(&mut self.silence_told, true)
    }

    /// The open connection has ended. True if the owner of the node's name must be looked up.
    pub(super) fn connection_lost(&mut self) -> bool {
        let ask = self.standing == Standing::Good && self.was_known;
        if ask {
            self.standing = Standing::Checking;
        }
        ask
    }

    /// The master has named the owner of the node's name. True if everything is registered again.
    pub(super) fn owner_is(&mut self, now: Instant, owner: &Owner) -> bool {
        if self.standing == Standing::Over {
            return false;
        }
        self.silence_told = false;
        match owner {
            Owner::Another => self.standing = Standing::Over,
            Owner::Nobody if self.standing != Standing::Confirming => {
                self.standing = Standing::Doubting { again: now + DOUBT };
            }
            Owner::Nobody | Owner::Us => {
                self.standing = Standing::Good;
                self.tell_anew(now, *owner == Owner::Us);
                return true;
            }
        }
        false
    }

    /// Marks everything as unregistered. Entries that are no longer wanted are dropped if the master does not know
    /// the node.
    fn tell_anew(&mut self, now: Instant, knows_us: bool) {
        self.additive_until = now + ADDITIVE;
        self.entries.retain(|_, entry| entry.wanted || knows_us);
        // A master that knows the node has kept its parameters, and later changes by other nodes.
        let anew = self.entries.iter_mut().filter(|((role, _), _)| !knows_us || *role != Role::Parameter);
        anew.for_each(|(_, entry)| entry.told = Told::Otherwise);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(1_000_000_000);

    fn register_a() -> Option<Ask> {
        Some(Ask::Register(Role::Publisher, "/a".into()))
    }

    fn known() -> Registrar {
        let mut registrar = Registrar::new();
        registrar.want(Role::Publisher, "/a");
        assert_eq!(registrar.next_ask(NOW), register_a());
        assert!(registrar.registered(Role::Publisher, "/a", true));
        assert_eq!(registrar.next_ask(NOW), None);
        registrar
    }

    #[test]
    fn no_timer_runs_while_master_answers() {
        assert_eq!(known().poll_timeout(), None);
    }

    #[test]
    fn new_master_is_asked_twice_then_gets_everything() {
        let mut registrar = known();
        assert!(registrar.connection_lost());
        assert!(!registrar.owner_is(NOW, &Owner::Nobody), "a newer node may be about to register");
        assert_eq!((registrar.next_ask(NOW), registrar.poll_timeout()), (None, Some(NOW + DOUBT)));
        let later = NOW + DOUBT;
        assert_eq!(registrar.next_ask(later), Some(Ask::Owner));
        assert!(registrar.owner_is(later, &Owner::Nobody));
        assert_eq!(registrar.next_ask(later), register_a());
        assert!(registrar.lists_only_add(later));
        assert!(!registrar.lists_only_add(later + ADDITIVE));
    }

    #[test]
    fn master_that_knows_node_gets_everything_again() {
        let mut registrar = known();
        assert!(registrar.connection_lost());
        assert!(registrar.owner_is(NOW, &Owner::Us));
        assert_eq!(registrar.next_ask(NOW), register_a());
    }

    #[test]
    fn silent_master_is_retried_until_it_answers() {
        let mut registrar = known();
        registrar.connection_lost();
        assert!(registrar.unanswered(NOW));
        assert_eq!(registrar.poll_timeout(), Some(NOW + RETRY));
        assert_eq!(registrar.next_ask(NOW), None);
        assert_eq!(registrar.next_ask(NOW + RETRY), Some(Ask::Owner));
        assert!(!registrar.unanswered(NOW + RETRY), "no news the second time");
        assert_eq!(registrar.next_ask(NOW + RETRY + RETRY), Some(Ask::Owner));
    }

    #[test]
    fn name_taken_by_another_is_not_registered() {
        for doubts in [false, true] {
            let mut registrar = known();
            registrar.connection_lost();
            if doubts {
                registrar.owner_is(NOW, &Owner::Nobody);
                registrar.next_ask(NOW + DOUBT);
            }
            assert!(!registrar.owner_is(NOW, &Owner::Another));
            registrar.want(Role::Subscriber, "/b");
            assert_eq!((registrar.next_ask(NOW), registrar.end()), (None, Some(Vec::new())));
        }
    }

    #[test]
    fn unknown_node_registers_at_once() {
        let mut registrar = Registrar::new();
        registrar.want(Role::Subscriber, "/a");
        registrar.next_ask(NOW);
        assert!(registrar.unanswered(NOW));
        assert_eq!(registrar.next_ask(NOW + RETRY), Some(Ask::Register(Role::Subscriber, "/a".into())));
    }

    #[test]
    fn unwanted_entry_is_unregistered_once_master_answers() {
        let mut registrar = known();
        registrar.connection_lost();
        registrar.forget(Role::Publisher, "/a");
        assert_eq!(registrar.next_ask(NOW), None);
        registrar.owner_is(NOW, &Owner::Us);
        assert_eq!(registrar.next_ask(NOW), Some(Ask::Unregister(Role::Publisher, "/a".into())));
        registrar.unanswered(NOW);
        registrar.next_ask(NOW + RETRY);
        registrar.owner_is(NOW + RETRY, &Owner::Us);
        assert_eq!(registrar.next_ask(NOW + RETRY), Some(Ask::Unregister(Role::Publisher, "/a".into())));
        registrar.unregistered(Role::Publisher, "/a");
        assert_eq!(registrar.end(), Some(Vec::new()));
    }

    #[test]
    fn entry_unknown_to_master_is_dropped_silently() {
        let mut registrar = Registrar::new();
        registrar.want(Role::Publisher, "/a");
        registrar.forget(Role::Publisher, "/a");
        assert_eq!((registrar.next_ask(NOW), registrar.end()), (None, Some(Vec::new())));
    }

    #[test]
    fn entry_wanted_again_is_registered_again() {
        let mut registrar = known();
        registrar.forget(Role::Publisher, "/a");
        assert_eq!(registrar.next_ask(NOW), Some(Ask::Unregister(Role::Publisher, "/a".into())));
        registrar.want(Role::Publisher, "/a");
        assert_eq!(registrar.next_ask(NOW), register_a());
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
