//! Writer group: the publishers of one node to a topic with one QoS. In the ROS 2 graph it has one RTPS writer.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use runnel_core::qos::{History, Liveliness, Policy, QoS};
use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::wire::EntityId;

use super::matched_readers::MatchedReaders;
use super::{Publication, RtpsWriter, State};
use crate::data::deadline_monitor::{DeadlineMonitor, Monitored};
use crate::data::qos_events::QosEvents;
use crate::data::subscription::LinkInfo;
use crate::ros2_graph::Gid;
use crate::sync::{Class, Mutex, lock};

/// See the module's documentation.
pub(crate) struct WriterGroup {
    pub(crate) qos: QoS,
    publication: Weak<Publication>,
    /// Whether subscriptions of this process have been matched with it.
    announced: AtomicBool,
    /// The RTPS writer for ROS 2 subscribers.
    writer: OnceLock<RtpsWriter>,
    /// What subscriptions of this process know of the writer.
    info: OnceLock<Arc<LinkInfo>>,
    /// Subscriptions that the writer has matched.
    matched: AtomicUsize,
    pub(super) readers: Mutex<MatchedReaders>,
    /// The QoS events of its publishers.
    publishers: Mutex<Vec<Arc<QosEvents>>>,
    deadline: DeadlineMonitor,
    /// Liveliness, if its publishers must assert it.
    liveliness: DeadlineMonitor,
    liveliness_lost: AtomicBool,
}

impl WriterGroup {
    fn new(qos: QoS, publication: Weak<Publication>) -> Self {
        let lease = qos.liveliness_lease.filter(|_| qos.liveliness == Liveliness::ManualByTopic);
        let (deadline, liveliness) = (DeadlineMonitor::new(qos.deadline), DeadlineMonitor::new(lease));
        Self {
            qos,
            publication,
            announced: AtomicBool::default(),
            writer: OnceLock::new(),
            info: OnceLock::new(),
            matched: AtomicUsize::default(),
            readers: Mutex::new(Class::MatchedReaders, MatchedReaders::default()),
            publishers: Mutex::new(Class::WriterPublishers, Vec::new()),
            deadline,
            liveliness,
            liveliness_lost: AtomicBool::default(),
        }
    }

    /// Marks it as announced to the subscriptions of this process. True for the first call only.
    pub(crate) fn announce(&self) -> bool {
        !self.announced.swap(true, Ordering::Relaxed)
    }

    /// When a message published now expires.
    pub(super) fn lifespan_end(&self) -> Option<Instant> {
        self.qos.lifespan.map(|lifespan| clock::monotonic() + lifespan)
    }

    /// The publication to which it belongs.
    pub(crate) fn publication(&self) -> Option<Arc<Publication>> {
        self.publication.upgrade()
    }

    pub(crate) fn keeps_all(&self) -> bool {
        self.qos.history == History::KeepAll
    }

    /// Sets its RTPS writer.
    pub(crate) fn set_writer(&self, writer: RtpsWriter) {
        drop(self.writer.set(writer));
        if let (Some(publication), Some(writer)) = (self.publication(), self.writer()) {
            publication.share_links(writer);
        }
    }

    /// Sets the identity of its writer.
    pub(crate) fn set_gid(&self, gid: Gid) {
        if let Some(publication) = self.publication() {
            drop(self.info.set(Arc::new(publication.info.of_endpoint(gid))));
        }
    }

    /// What subscriptions of this process know of its writer, or of the publication if it has no writer.
    pub(super) fn info<'a>(&'a self, publication: &'a Arc<LinkInfo>) -> &'a Arc<LinkInfo> {
        self.info.get().unwrap_or(publication)
    }

    /// Its writer, which may have ended.
    pub(super) fn writer(&self) -> Option<&RtpsWriter> {
        self.writer.get()
    }

    /// The entity id of its writer.
    pub(crate) fn writer_id(&self) -> Option<EntityId> {
        self.writer.get().map(RtpsWriter::id)
    }

    /// Subscriptions that its writer has matched.
    pub(super) fn matched(&self) -> usize {
        self.matched.load(Ordering::Relaxed)
    }

    pub(super) fn set_matched(&self, count: usize) {
        self.matched.store(count, Ordering::Relaxed);
    }

    /// True if messages must go to its writer.
    pub(super) fn needs_writer(&self) -> bool {
        // Deadline and liveliness apply even without subscribers.
        self.matched() > 0 || self.qos.is_latching() || self.is_monitored()
    }

    /// Notifies each of its publishers.
    pub(crate) fn notify_publishers(&self, notify: impl Fn(&QosEvents)) {
        lock(&self.publishers).iter().for_each(|events| notify(events));
    }

    /// A subscription does not match because of these policies. False if a publisher has no callback for that.
    pub(crate) fn incompatible(&self, policies: &[Policy]) -> bool {
        lock(&self.publishers)
            .iter()
            .fold(true, |is_handled, events| events.incompatible(policies) & is_handled)
    }

    /// Removes one of its publishers.
    pub(crate) fn leave(&self, events: &Arc<QosEvents>) {
        let mut publishers = lock(&self.publishers);
        let place = publishers.iter().position(|other| Arc::ptr_eq(other, events));
        let gone = place.map(|place| publishers.swap_remove(place));
        drop(publishers);
        // Its callbacks may hold anything of the user's.
        drop(gone);
    }

    /// True if its QoS offers a deadline, or manual liveliness with a lease.
    pub(crate) fn is_monitored(&self) -> bool {
        self.deadline.is_enabled() || self.liveliness.is_enabled()
    }

    /// The user asserts its liveliness.
    pub(crate) fn assert_liveliness(&self) {
        if !self.liveliness.is_enabled() {
            return;
        }
        if let Some(writer) = self.writer() {
            writer.assert_liveliness();
        }
        self.liveliness.record(clock::monotonic());
        if self.liveliness_lost.swap(false, Ordering::Relaxed)
            && let Some(publication) = self.publication.upgrade()
        {
            lock(&publication.state).notify_liveliness();
        }
    }

    /// Its liveliness lease has expired.
    fn mark_liveliness_lost(&self) {
        if self.liveliness_lost.swap(true, Ordering::Relaxed) {
            return;
        }
        self.notify_publishers(QosEvents::liveliness_lost);
        if let Some(publication) = self.publication.upgrade() {
            lock(&publication.state).notify_liveliness();
        }
    }
}

#[cfg(test)]
impl Default for WriterGroup {
    fn default() -> Self {
        Self::new(QoS::default(), Weak::new())
    }
}

impl Monitored for WriterGroup {
    fn check(&self, now: Instant) -> Option<Instant> {
        let deadline = self.deadline.check(now);
        if let Some((missed, _)) = deadline.filter(|(missed, _)| *missed > 0) {
            self.notify_publishers(|events| events.deadline_missed(missed));
        }
        let liveliness = self.liveliness.check(now);
        if liveliness.is_some_and(|(missed, _)| missed > 0) {
            self.mark_liveliness_lost();
        }
        [deadline, liveliness].into_iter().flatten().map(|(_, next)| next).min()
    }
}

impl Publication {
    /// The writer group of a publisher with this QoS, which gets these events.
    pub(crate) fn writer_group(self: &Arc<Self>, qos: QoS, events: &Arc<QosEvents>) -> Arc<WriterGroup> {
        let mut state = lock(&self.state);
        let group = state.groups.iter().find(|group| group.qos == qos).cloned().unwrap_or_else(|| {
            let group = Arc::new(WriterGroup::new(qos, Arc::downgrade(self)));
            state.groups.push(Arc::clone(&group));
            group
        });
        events.matched(state.subscriber_count(&group) as i64);
        let mut publishers = lock(&group.publishers);
        publishers.iter().take(1).for_each(|earlier| events.incompatible_as(earlier));
        publishers.push(Arc::clone(events));
        drop(publishers);
        group
    }

    /// Subscribers that get every message of a writer group from now on: ROS 2 subscriptions have confirmed the match.
    pub(crate) fn ready_count(&self, group: &WriterGroup) -> usize {
        let state = lock(&self.state);
        state.linked_count() + group.known_of_others(&state.linked_dual_nodes())
    }

    /// True if this is the only writer group, or if it has other publishers.
    pub(crate) fn is_only_group(&self, group: &WriterGroup) -> bool {
        lock(&self.state).groups.len() < 2 || !lock(&group.publishers).is_empty()
    }

    /// Removes a writer group without publishers, unless it is the last one.
    pub(crate) fn withdraw(&self, group: &Arc<WriterGroup>) -> bool {
        let mut state = lock(&self.state);
        let withdrawn = state.groups.len() > 1 && lock(&group.publishers).is_empty();
        if withdrawn {
            state.groups.retain(|other| !Arc::ptr_eq(other, group));
            if let Some(writer) = group.writer_id() {
                self.count_dropped(state.forget_writer(writer));
            }
            state.notify_liveliness();
        }
        withdrawn
    }

    /// All writer groups.
    pub(crate) fn groups(&self) -> Vec<Arc<WriterGroup>> {
        lock(&self.state).groups.clone()
    }
}

impl State {
    /// Subscribers that get the messages of a writer group.
    pub(super) fn subscriber_count(&self, group: &WriterGroup) -> usize {
        self.linked_count() + group.matched_of_others(&self.linked_dual_nodes())
    }

    /// Subscribers with a ROS 1 link, and subscriptions of this process.
    fn linked_count(&self) -> usize {
        self.links.iter().filter(|link| !link.is_excluded).count()
            + self.datagram_links.iter().filter(|link| !link.is_excluded).count()
            + self.locals.len()
    }

    /// Reports a change in the number of subscribers to the publishers of all writer groups.
    pub(super) fn notify_matched(&self, by: i64) {
        self.groups.iter().for_each(|group| group.notify_publishers(|events| events.matched(by)));
    }

    /// Records a publication, which meets the deadline and asserts liveliness.
    pub(super) fn note_published(&mut self, group: &WriterGroup) {
        if !group.is_monitored() {
            return;
        }
        let now = clock::monotonic();
        group.deadline.record(now);
        group.liveliness.record(now);
        if group.liveliness_lost.swap(false, Ordering::Relaxed) {
            self.notify_liveliness();
        }
    }

    /// Notifies subscriptions of this process if the liveliness of the publication has changed. It is alive while any
    /// of its writer groups is.
    fn notify_liveliness(&mut self) {
        let liveliness_lost = |group: &Arc<WriterGroup>| group.liveliness_lost.load(Ordering::Relaxed);
        let is_alive = self.groups.is_empty() || !self.groups.iter().all(liveliness_lost);
        if std::mem::replace(&mut self.is_alive, is_alive) != is_alive {
            let by = if is_alive { 1 } else { -1 };
            self.locals.iter().for_each(|local| local.notify_liveliness(by, -by));
        }
    }
}
