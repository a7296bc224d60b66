//! What the node has told the master and must still tell it.
//!
//! The node holds one connection to the master open; its end is the sign that the master died, and only then does a
//! timer run. A master that answers again is asked who owns our name first, so that a newer node of the same name
//! keeps it, and is then told everything anew. That is so too when it says that the name is ours: a new master may
//! have been reached by one registration before we noticed, and an old one may have told us in vain of publishers.

use litemap::LiteMap;
use std::time::Duration;

use runnel_core::time::Instant;

use super::event::Role;

/// Calls to the master that may be under way at once.
const OUTSTANDING: usize = 8;

/// How long until the master is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// How long a name that nobody owns must stay so before it is ours again: a newer node of our name that waited for
/// the master tries every [`RETRY`] and is to be first.
const DOUBT: Duration = Duration::from_millis(700);

/// How long the publisher lists of a master that came back count as additions only.
const ADDITIVE: Duration = Duration::from_secs(10);

/// What stands between the node and the master about one role in one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// It is to be registered; otherwise it is to be unregistered and forgotten.
    wanted: bool,
    told: Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// The master has never heard of it.
    Nothing,
    /// It has, perhaps, but not what is so now.
    Otherwise,
    /// It is being told.
    Asked,
    /// It knows.
    Known,
    /// It will not have it.
    Refused,
}

impl Entry {
    fn is_due(self) -> bool {
        matches!(self.told, Told::Nothing | Told::Otherwise)
    }
}

/// How the node stands with the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It answers, as far as is known.
    Good,
    /// It did not answer; it is tried again then.
    Silent { retry: Instant },
    /// It is being asked who owns our name.
    Checking,
    /// It says that nobody does, and is asked once more then.
    Doubting { again: Instant },
    /// It is being asked once more.
    Confirming,
    /// Our name belongs to another, or the node is closing.
    Over,
}

/// What to ask of the master next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// Register this role in this topic.
    Register(Role, String),
    /// Unregister it.
    Unregister(Role, String),
    /// Who owns our name.
    Owner,
}

/// What the master says of our name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// It is ours.
    Us,
    /// Nobody's: the master is new.
    Nobody,
    /// Another node's.
    Another,
}

#[derive(Debug)]
pub(super) struct Registrar {
    entries: LiteMap<(Role, String), Entry>,
    standing: Standing,
    /// The node is closing.
    ended: bool,
    /// The master has known us once, so that after a silence our name must be asked for.
    was_known: bool,
    /// Its silence has been told.
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

    /// An entry is to be registered.
    pub(super) fn want(&mut self, role: Role, topic: &str) {
        let entry = self.entries.entry((role, topic.to_owned()));
        let entry = entry.or_insert(Entry { wanted: true, told: Told::Nothing });
        if !entry.wanted {
            *entry = Entry { wanted: true, told: Told::Otherwise };
        }
    }

    /// An entry is to be registered no longer.
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

    /// Forgets everything for good and gives what the master knows of or may. `None` the second time.
    pub(super) fn end(&mut self) -> Option<Vec<(Role, String)>> {
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        let ours = self.standing != Standing::Over;
        self.standing = Standing::Over;
        let entries = std::mem::take(&mut self.entries).into_iter();
        // A parameter stays when the node that had it set ends.
        let entries = entries.filter(|((role, _), _)| *role != Role::Parameter);
        let known = entries.filter(|(_, entry)| !matches!(entry.told, Told::Nothing | Told::Refused));
        Some(known.map(|(key, _)| key).filter(|_| ours).collect())
    }

    /// True while the lists of a master that came back must not end links.
    pub(super) fn lists_only_add(&self, now: Instant) -> bool {
        now < self.additive_until
    }

    /// Until when that is so.
    pub(super) fn additive_until(&self) -> Instant {
        self.additive_until
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self.standing {
            Standing::Silent { retry: at } | Standing::Doubting { again: at } => Some(at),
            _ => None,
        }
    }

    /// What to ask next; `None` when there is nothing or enough is under way.
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

    /// The master has registered the entry, or refused to. False if it was not being registered any more.
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

    /// The master has unregistered the entry.
    pub(super) fn unregistered(&mut self, role: Role, topic: &str) {
        let key = (role, topic.to_owned());
        if self.entries.get(&key).is_some_and(|entry| !entry.wanted && entry.told == Told::Asked) {
            self.entries.remove(&key);
        }
    }

    /// A call got no answer: everything that was asked is asked again. True if this is news.
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

    /// The open connection has ended: true if the master is to be asked who owns our name.
    pub(super) fn connection_lost(&mut self) -> bool {
        let ask = self.standing == Standing::Good && self.was_known;
        if ask {
            self.standing = Standing::Checking;
        }
        ask
    }

    /// The master has said who owns our name. True if it is told everything anew.
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

    /// Everything is to be told anew; what is not wanted is not worth telling to a master that does not know us.
    fn tell_anew(&mut self, now: Instant, knows_us: bool) {
        self.additive_until = now + ADDITIVE;
        self.entries.retain(|_, entry| entry.wanted || knows_us);
        // A master that knows us has kept parameters, and what others have made of them since.
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
    fn nothing_runs_while_the_master_is_well() {
        assert_eq!(known().poll_timeout(), None);
    }

    #[test]
    fn a_new_master_is_asked_twice_and_then_told_everything_anew() {
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
    fn a_master_that_knows_us_is_told_everything_anew_too() {
        let mut registrar = known();
        assert!(registrar.connection_lost());
        assert!(registrar.owner_is(NOW, &Owner::Us));
        assert_eq!(registrar.next_ask(NOW), register_a());
    }

    #[test]
    fn a_silent_master_is_tried_until_it_answers() {
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
    fn a_name_that_another_took_is_not_registered_again() {
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
    fn a_node_that_was_never_known_registers_as_soon_as_it_can() {
        let mut registrar = Registrar::new();
        registrar.want(Role::Subscriber, "/a");
        registrar.next_ask(NOW);
        assert!(registrar.unanswered(NOW));
        assert_eq!(registrar.next_ask(NOW + RETRY), Some(Ask::Register(Role::Subscriber, "/a".into())));
    }

    #[test]
    fn what_is_no_longer_wanted_is_unregistered_when_the_master_answers() {
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
    fn what_was_never_told_is_forgotten_without_a_word() {
        let mut registrar = Registrar::new();
        registrar.want(Role::Publisher, "/a");
        registrar.forget(Role::Publisher, "/a");
        assert_eq!((registrar.next_ask(NOW), registrar.end()), (None, Some(Vec::new())));
    }

    #[test]
    fn what_is_wanted_again_while_it_is_unregistered_is_registered() {
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
    fn the_end_comes_once() {
        let mut registrar = known();
        assert_eq!(registrar.end(), Some(vec![(Role::Publisher, "/a".into())]));
        assert_eq!(registrar.end(), None);
    }
}
