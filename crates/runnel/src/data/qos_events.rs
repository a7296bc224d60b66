//! Which events of its quality of service a publisher or a subscription has had, and the callbacks that are told of them.
//!
//! Events are counted, not queued: a callback that is slow is told once of all that has happened meanwhile.

use std::sync::Arc;

use runnel_core::qos::Policy;

use super::events::{Event, Events, Most};
use super::met::Met;
use super::subscription::LinkInfo;
use crate::qos_events::{
    DeadlineMissed, IncompatibleQoS, LivelinessChanged, LivelinessLost, Matched, MessageLost, QosEvent,
    QosEventKind as Kind,
};
use crate::ready::{Waitable, When};
use crate::sync::{Class, Mutex, lock};

/// Each kind waits once at most.
const MOST: Most = Most { count: Kind::Matched as usize + 1, bytes: 0 };

impl Event for Kind {
    fn bytes(&self) -> usize {
        0
    }
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Statuses {
    pub(crate) deadline: DeadlineMissed,
    pub(crate) liveliness_lost: LivelinessLost,
    pub(crate) liveliness_changed: LivelinessChanged,
    pub(crate) incompatible_qos: IncompatibleQoS,
    pub(crate) message_lost: MessageLost,
    pub(crate) matched: Matched,
    /// Kinds of which a callback is about to be told, each a bit.
    pending: u8,
}

type Callback<S> = Option<Box<dyn FnMut(S) + Send>>;

/// Those of the user's.
#[derive(Default)]
pub(crate) struct Callbacks {
    pub(crate) deadline: Callback<DeadlineMissed>,
    pub(crate) liveliness_lost: Callback<LivelinessLost>,
    pub(crate) liveliness_changed: Callback<LivelinessChanged>,
    pub(crate) incompatible_qos: Callback<IncompatibleQoS>,
    pub(crate) message_lost: Callback<MessageLost>,
    pub(crate) matched: Callback<Matched>,
}

/// See the module's documentation.
pub(crate) struct QosEvents {
    statuses: Arc<Mutex<Statuses>>,
    /// Kinds that have a callback or are taken, each a bit.
    heard: u8,
    /// Kinds of which something has happened since they were last taken.
    events: Option<Arc<Events<Kind>>>,
    met: Mutex<Met>,
}

impl Default for QosEvents {
    /// Counts events, of which no callback is told.
    fn default() -> Self {
        Self::new(Callbacks::default(), When::AtOnce)
    }
}

impl QosEvents {
    pub(crate) fn new(mut callbacks: Callbacks, when: When) -> Self {
        let heard = callbacks.heard();
        Self::with(heard, |statuses| {
            let call = move |kind| {
                // The lock is free while the callback runs: it may ask for a status.
                let event = lock(&statuses).take(kind);
                callbacks.call(event);
            };
            (heard != 0).then(|| Events::new(MOST, when, call))
        })
    }

    /// Events of these kinds are taken.
    pub(crate) fn taken(kinds: &[Kind]) -> Self {
        let heard = kinds.iter().fold(0, |heard, kind| heard | kind.bit());
        Self::with(heard, |_| Some(Events::new(MOST, When::Taken, drop)))
    }

    fn with(heard: u8, events: impl FnOnce(Arc<Mutex<Statuses>>) -> Option<Arc<Events<Kind>>>) -> Self {
        let statuses = Arc::new(Mutex::new(Class::QosStatuses, Statuses::default()));
        let events = events(Arc::clone(&statuses));
        Self { statuses, heard, events, met: Mutex::new(Class::PublisherCounts, Met::default()) }
    }

    /// Those that wait for their callbacks, or to be taken; `None` if there are no callbacks.
    pub(crate) fn waitable(&self) -> Option<Arc<impl Waitable + use<>>> {
        self.events.clone()
    }

    /// Takes what has happened of the kind that has waited longest, in place of its callback.
    pub(crate) fn take(&self) -> Option<QosEvent> {
        let kind = self.events.as_ref()?.take()?;
        Some(lock(&self.statuses).take(kind))
    }

    /// What has happened so far.
    pub(crate) fn statuses(&self) -> Statuses {
        *lock(&self.statuses)
    }

    /// So many deadlines have passed without a message.
    pub(crate) fn deadline_missed(&self, count: u64) {
        self.note(Kind::Deadline, |statuses| statuses.deadline.add(count));
    }

    /// The publisher did not show that it lives.
    pub(crate) fn liveliness_lost(&self) {
        self.note(Kind::LivelinessLost, |statuses| statuses.liveliness_lost.add(1));
    }

    /// So many more publishers live, and so many more do not.
    pub(crate) fn liveliness_changed(&self, alive: i64, not_alive: i64) {
        self.note(Kind::LivelinessChanged, |statuses| statuses.liveliness_changed.change(alive, not_alive));
    }

    /// Another end is not met because of these. False if no callback is told.
    pub(crate) fn incompatible(&self, policies: &[Policy]) -> bool {
        self.note(Kind::Incompatible, |statuses| statuses.incompatible_qos.add(1, policies.last().copied()));
        self.hears(Kind::Incompatible)
    }

    /// So many messages did not come.
    pub(crate) fn messages_lost(&self, count: u64) {
        self.note(Kind::MessageLost, |statuses| statuses.message_lost.add(count));
    }

    /// So many other ends more are met.
    pub(crate) fn matched(&self, by: i64) {
        if by != 0 {
            self.note(Kind::Matched, |statuses| statuses.matched.change(by));
        }
    }

    /// So many links more to a publisher of another process.
    pub(crate) fn linked(&self, from: &LinkInfo, by: i64) {
        let publishers = lock(&self.met).change(from, by);
        self.matched(publishers);
    }

    /// Whom one before it did not meet, this one does not meet either.
    pub(crate) fn incompatible_as(&self, former: &Self) {
        let IncompatibleQoS { total_count, last_policy_kind, .. } = former.statuses().incompatible_qos;
        if total_count > 0 {
            let add = |statuses: &mut Statuses| statuses.incompatible_qos.add(total_count, last_policy_kind);
            self.note(Kind::Incompatible, add);
        }
    }

    fn hears(&self, kind: Kind) -> bool {
        self.heard & kind.bit() != 0
    }

    fn note(&self, kind: Kind, change: impl FnOnce(&mut Statuses)) {
        let mut statuses = lock(&self.statuses);
        change(&mut statuses);
        let news = self.hears(kind) && statuses.pending & kind.bit() == 0;
        if news {
            statuses.pending |= kind.bit();
        }
        drop(statuses);
        if let Some(events) = self.events.as_ref().filter(|_| news) {
            events.push(kind);
        }
    }

    /// Nobody is to be told any more.
    pub(crate) fn forget(&self) {
        self.events.iter().for_each(|events| events.forget());
    }
}

impl Kind {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Statuses {
    /// What has happened of a kind since it was last taken.
    fn take(&mut self, kind: Kind) -> QosEvent {
        self.pending &= !kind.bit();
        match kind {
            Kind::Deadline => QosEvent::DeadlineMissed(self.deadline.told()),
            Kind::LivelinessLost => QosEvent::LivelinessLost(self.liveliness_lost.told()),
            Kind::LivelinessChanged => QosEvent::LivelinessChanged(self.liveliness_changed.told()),
            Kind::Incompatible => QosEvent::IncompatibleQoS(self.incompatible_qos.told()),
            Kind::MessageLost => QosEvent::MessageLost(self.message_lost.told()),
            Kind::Matched => QosEvent::Matched(self.matched.told()),
        }
    }
}

impl Callbacks {
    fn heard(&self) -> u8 {
        let bits = [
            (Kind::Deadline, self.deadline.is_some()),
            (Kind::LivelinessLost, self.liveliness_lost.is_some()),
            (Kind::LivelinessChanged, self.liveliness_changed.is_some()),
            (Kind::Incompatible, self.incompatible_qos.is_some()),
            (Kind::MessageLost, self.message_lost.is_some()),
            (Kind::Matched, self.matched.is_some()),
        ];
        bits.iter().filter(|(_, is_heard)| *is_heard).fold(0, |heard, (kind, _)| heard | kind.bit())
    }

    fn call(&mut self, event: QosEvent) {
        fn call<S>(callback: &mut Callback<S>, status: S) {
            if let Some(callback) = callback {
                callback(status);
            }
        }
        match event {
            QosEvent::DeadlineMissed(status) => call(&mut self.deadline, status),
            QosEvent::LivelinessLost(status) => call(&mut self.liveliness_lost, status),
            QosEvent::LivelinessChanged(status) => call(&mut self.liveliness_changed, status),
            QosEvent::IncompatibleQoS(status) => call(&mut self.incompatible_qos, status),
            QosEvent::MessageLost(status) => call(&mut self.message_lost, status),
            QosEvent::Matched(status) => call(&mut self.matched, status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ready::{NodeQueue, ReadyQueue};
    use std::sync::mpsc::channel;

    #[test]
    fn a_callback_is_told_once_of_all_that_has_happened_meanwhile() {
        let reactor = runnel_io::Reactor::new().unwrap();
        let ready = Arc::new(ReadyQueue::new(reactor.waker().clone()));
        let (tell, told) = channel();
        let matched: Callback<Matched> = Some(Box::new(move |matched| tell.send(matched).unwrap()));
        let callbacks = Callbacks { matched, ..Callbacks::default() };
        let events = QosEvents::new(callbacks, When::Spun(NodeQueue::new(Arc::clone(&ready))));
        [1, 2, -1].into_iter().for_each(|by| events.matched(by));
        events.messages_lost(5);
        ready.pop().unwrap().run();
        let first =
            Matched { total_count: 3, total_count_change: 3, current_count: 2, current_count_change: 2 };
        assert_eq!((told.try_iter().collect::<Vec<_>>(), ready.is_due()), (vec![first], false));
        events.matched(-2);
        ready.pop().unwrap().run();
        let second = Matched { total_count: 3, current_count_change: -2, ..Matched::default() };
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [second]);
        assert_eq!(events.statuses().message_lost.total_count, 5, "also what no callback hears of");
        assert!(!events.incompatible(&[Policy::Deadline]), "somebody else is to say so");
        events.matched(1);
        events.forget();
        assert!(!ready.is_due() && told.try_recv().is_err());
    }
}
