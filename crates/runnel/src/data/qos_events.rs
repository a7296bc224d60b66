//! QoS events of a publisher or a subscription: counts, and the callbacks that report them.
//!
//! Events are counted, not queued: a slow callback gets all that happened meanwhile in one call.

use std::sync::Arc;

use runnel_core::qos::Policy;

use super::events::{Event, EventLimit, Events};
use super::matched_publishers::MatchedPublishers;
use super::subscription::LinkInfo;
use crate::callback_group::ExclusiveGroup;
use crate::qos_events::{
    DeadlineMissed, IncompatibleQoS, LivelinessChanged, LivelinessLost, Matched, MessageLost, QosEvent,
    QosEventKind as Kind,
};
use crate::ready::{Dispatch, Waitable};
use crate::sync::{Class, Mutex, lock};

/// Each kind waits once at most.
const LIMIT: EventLimit = EventLimit { count: Kind::Matched as usize + 1, bytes: 0 };

impl Event for Kind {
    fn bytes(&self) -> usize {
        0
    }
}

/// The counts of all kinds of events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Statuses {
    pub(crate) deadline: DeadlineMissed,
    pub(crate) liveliness_lost: LivelinessLost,
    pub(crate) liveliness_changed: LivelinessChanged,
    pub(crate) incompatible_qos: IncompatibleQoS,
    pub(crate) message_lost: MessageLost,
    pub(crate) matched: Matched,
    /// Kinds whose callback is scheduled, as bits.
    pending: u8,
}

type Callback<S> = Option<Box<dyn FnMut(S) + Send>>;

/// The user's callbacks.
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
    /// Kinds that have a callback or are taken, as bits.
    enabled: u8,
    /// Kinds with events since they were last taken.
    events: Option<Arc<Events<Kind>>>,
    publishers: Mutex<MatchedPublishers>,
}

impl Default for QosEvents {
    /// Counts events, without callbacks.
    fn default() -> Self {
        Self::with(0, |_| None)
    }
}

impl QosEvents {
    /// Counts events, and reports them to callbacks of a callback group.
    pub(crate) fn new(mut callbacks: Callbacks, scheduling: (Dispatch, &Arc<ExclusiveGroup>)) -> Self {
        let enabled = callbacks.enabled();
        Self::with(enabled, |statuses| {
            let call = move |kind| {
                // The lock is free while the callback runs, since the callback may ask for a status.
                let event = lock(&statuses).take(kind);
                callbacks.call(event);
            };
            (enabled != 0).then(|| Events::in_group(LIMIT, scheduling, call))
        })
    }

    /// Events of these kinds are taken.
    pub(crate) fn taken(kinds: &[Kind]) -> Self {
        let enabled = kinds.iter().fold(0, |enabled, kind| enabled | kind.bit());
        Self::with(enabled, |_| Some(Events::new(LIMIT, Dispatch::Taken, drop)))
    }

    fn with(enabled: u8, events: impl FnOnce(Arc<Mutex<Statuses>>) -> Option<Arc<Events<Kind>>>) -> Self {
        let statuses = Arc::new(Mutex::new(Class::QosStatuses, Statuses::default()));
        let events = events(Arc::clone(&statuses));
        Self {
            statuses,
            enabled,
            events,
            publishers: Mutex::new(Class::PublisherCounts, MatchedPublishers::default()),
        }
    }

    /// The events that wait for their callbacks or to be taken; `None` if there are none of either.
    pub(crate) fn waitable(&self) -> Option<Arc<impl Waitable + use<>>> {
        self.events.clone()
    }

    /// Takes the oldest waiting kind of events, in place of its callback.
    pub(crate) fn take(&self) -> Option<QosEvent> {
        let kind = self.events.as_ref()?.take()?;
        Some(lock(&self.statuses).take(kind))
    }

    /// The counts since creation.
    pub(crate) fn statuses(&self) -> Statuses {
        *lock(&self.statuses)
    }

    /// Counts missed deadlines.
    pub(crate) fn deadline_missed(&self, count: u64) {
        self.note(Kind::Deadline, |statuses| statuses.deadline.add(count));
    }

    /// Counts an expired liveliness lease of the publisher.
    pub(crate) fn liveliness_lost(&self) {
        self.note(Kind::LivelinessLost, |statuses| statuses.liveliness_lost.add(1));
    }

    /// Records changes in the number of publishers that are alive and not alive.
    pub(crate) fn liveliness_changed(&self, alive: i64, not_alive: i64) {
        self.note(Kind::LivelinessChanged, |statuses| statuses.liveliness_changed.change(alive, not_alive));
    }

    /// Counts an endpoint that does not match because of these policies. False if there is no callback for that.
    pub(crate) fn incompatible(&self, policies: &[Policy]) -> bool {
        self.note(Kind::Incompatible, |statuses| statuses.incompatible_qos.add(1, policies.last().copied()));
        self.is_enabled(Kind::Incompatible)
    }

    /// Counts lost messages.
    pub(crate) fn messages_lost(&self, count: u64) {
        self.note(Kind::MessageLost, |statuses| statuses.message_lost.add(count));
    }

    /// Records a change in the number of matched endpoints.
    pub(crate) fn matched(&self, by: i64) {
        if by != 0 {
            self.note(Kind::Matched, |statuses| statuses.matched.change(by));
        }
    }

    /// Records a change in the number of links to a publisher in another process.
    pub(crate) fn linked(&self, from: &LinkInfo, by: i64) {
        let publishers = lock(&self.publishers).change(from, by);
        self.matched(publishers);
    }

    /// Copies the incompatible endpoints of an earlier publisher in the same writer group.
    pub(crate) fn incompatible_as(&self, former: &Self) {
        let IncompatibleQoS { total_count, last_policy_kind, .. } = former.statuses().incompatible_qos;
        if total_count > 0 {
            let add = |statuses: &mut Statuses| statuses.incompatible_qos.add(total_count, last_policy_kind);
            self.note(Kind::Incompatible, add);
        }
    }

    fn is_enabled(&self, kind: Kind) -> bool {
        self.enabled & kind.bit() != 0
    }

    fn note(&self, kind: Kind, change: impl FnOnce(&mut Statuses)) {
        let mut statuses = lock(&self.statuses);
        change(&mut statuses);
        let news = self.is_enabled(kind) && statuses.pending & kind.bit() == 0;
        if news {
            statuses.pending |= kind.bit();
        }
        drop(statuses);
        if let Some(events) = self.events.as_ref().filter(|_| news) {
            events.push(kind);
        }
    }

    /// Drops all waiting events.
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
    /// The events of a kind since it was last taken.
    fn take(&mut self, kind: Kind) -> QosEvent {
        self.pending &= !kind.bit();
        match kind {
            Kind::Deadline => QosEvent::DeadlineMissed(self.deadline.take_changes()),
            Kind::LivelinessLost => QosEvent::LivelinessLost(self.liveliness_lost.take_changes()),
            Kind::LivelinessChanged => QosEvent::LivelinessChanged(self.liveliness_changed.take_changes()),
            Kind::Incompatible => QosEvent::IncompatibleQoS(self.incompatible_qos.take_changes()),
            Kind::MessageLost => QosEvent::MessageLost(self.message_lost.take_changes()),
            Kind::Matched => QosEvent::Matched(self.matched.take_changes()),
        }
    }
}

impl Callbacks {
    fn enabled(&self) -> u8 {
        let bits = [
            (Kind::Deadline, self.deadline.is_some()),
            (Kind::LivelinessLost, self.liveliness_lost.is_some()),
            (Kind::LivelinessChanged, self.liveliness_changed.is_some()),
            (Kind::Incompatible, self.incompatible_qos.is_some()),
            (Kind::MessageLost, self.message_lost.is_some()),
            (Kind::Matched, self.matched.is_some()),
        ];
        bits.iter().filter(|(_, is_enabled)| *is_enabled).fold(0, |enabled, (kind, _)| enabled | kind.bit())
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
    fn callback_reports_all_events_in_one_call() {
        let reactor = runnel_io::Reactor::new().unwrap();
        let ready = Arc::new(ReadyQueue::new(reactor.waker().clone()));
        let (sender, received) = channel();
        let matched: Callback<Matched> = Some(Box::new(move |matched| sender.send(matched).unwrap()));
        let callbacks = Callbacks { matched, ..Callbacks::default() };
        let events = QosEvents::new(
            callbacks,
            (Dispatch::Executor(NodeQueue::new(Arc::clone(&ready))), &Arc::new(ExclusiveGroup::new())),
        );
        [1, 2, -1].into_iter().for_each(|by| events.matched(by));
        events.messages_lost(5);
        ready.pop().unwrap().run();
        let first =
            Matched { total_count: 3, total_count_change: 3, current_count: 2, current_count_change: 2 };
        assert_eq!((received.try_iter().collect::<Vec<_>>(), ready.is_due()), (vec![first], false));
        events.matched(-2);
        ready.pop().unwrap().run();
        let second = Matched { total_count: 3, current_count_change: -2, ..Matched::default() };
        assert_eq!(received.try_iter().collect::<Vec<_>>(), [second]);
        assert_eq!(events.statuses().message_lost.total_count, 5, "also without a callback");
        assert!(!events.incompatible(&[Policy::Deadline]), "no callback: the caller warns");
        events.matched(1);
        events.forget();
        assert!(!ready.is_due() && received.try_recv().is_err());
    }
}
