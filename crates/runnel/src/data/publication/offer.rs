//! Writer group: the publishers of one node to a topic with one QoS. In the ROS 2 graph it has one RTPS writer.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use runnel_core::qos::{History, Liveliness, Policy, QoS};
use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::wire::EntityId;

use super::matched_readers::MatchedReaders;
use super::{Publication, RtpsWriter, State};
use crate::data::qos_events::QosEvents;
use crate::data::subscription::LinkInfo;
use crate::data::watch::{Pulse, Watched};
use crate::ros2_graph::Gid;
use crate::sync::{Class, Mutex, lock};

/// See the module's documentation.
pub(crate) struct Offer {
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
    deadline: Pulse,
    /// Liveliness, if its publishers must assert it.
    life: Pulse,
    lapsed: AtomicBool,
}

impl Offer {
    fn new(qos: QoS, publication: Weak<Publication>) -> Self {
        let lease = qos.liveliness_lease.filter(|_| qos.liveliness == Liveliness::ManualByTopic);
        let (deadline, life) = (Pulse::new(qos.deadline), Pulse::new(lease));
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
            life,
            lapsed: AtomicBool::default(),
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
    pub(super) fn is_heard(&self) -> bool {
        // Deadline and liveliness apply even without subscribers.
        self.matched() > 0 || self.qos.is_latching() || self.is_watched()
    }

    /// Notifies each of its publishers.
    pub(crate) fn tell(&self, tell: impl Fn(&QosEvents)) {
        lock(&self.publishers).iter().for_each(|events| tell(events));
    }

    /// A subscription does not match because of these policies. False if a publisher has no callback for that.
    pub(crate) fn incompatible(&self, policies: &[Policy]) -> bool {
        lock(&self.publishers).iter().fold(true, |told, events| events.incompatible(policies) & told)
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
    pub(crate) fn is_watched(&self) -> bool {
        self.deadline.is_asked() || self.life.is_asked()
    }

    /// The user asserts its liveliness.
    pub(crate) fn assert_liveliness(&self) {
        if !self.life.is_asked() {
            return;
        }
        if let Some(writer) = self.writer() {
            writer.assert_liveliness();
        }
        self.life.beat(clock::monotonic());
        if self.lapsed.swap(false, Ordering::Relaxed)
            && let Some(publication) = self.publication.upgrade()
        {
            lock(&publication.state).tell_life();
        }
    }

    /// Its liveliness lease has expired.
    fn lapse(&self) {
        if self.lapsed.swap(true, Ordering::Relaxed) {
            return;
        }
        self.tell(QosEvents::liveliness_lost);
        if let Some(publication) = self.publication.upgrade() {
            lock(&publication.state).tell_life();
        }
    }
}

#[cfg(test)]
impl Default for Offer {
    fn default() -> Self {
        Self::new(QoS::default(), Weak::new())
    }
}

impl Watched for Offer {
    fn look(&self, now: Instant) -> Option<Instant> {
        let deadline = self.deadline.look(now);
        if let Some((missed, _)) = deadline.filter(|(missed, _)| *missed > 0) {
            self.tell(|events| events.deadline_missed(missed));
        }
        let life = self.life.look(now);
        if life.is_some_and(|(missed, _)| missed > 0) {
            self.lapse();
        }
        [deadline, life].into_iter().flatten().map(|(_, next)| next).min()
    }
}

impl Publication {
    /// The writer group of a publisher with this QoS, which gets these events.
    pub(crate) fn offer(self: &Arc<Self>, qos: QoS, events: &Arc<QosEvents>) -> Arc<Offer> {
        let mut state = lock(&self.state);
        let offer = state.offers.iter().find(|offer| offer.qos == qos).cloned().unwrap_or_else(|| {
            let offer = Arc::new(Offer::new(qos, Arc::downgrade(self)));
            state.offers.push(Arc::clone(&offer));
            offer
        });
        events.matched(state.subscriber_count(&offer) as i64);
        let mut publishers = lock(&offer.publishers);
        publishers.iter().take(1).for_each(|former| events.incompatible_as(former));
        publishers.push(Arc::clone(events));
        drop(publishers);
        offer
    }

    /// Subscribers that get every message of a writer group from now on: ROS 2 subscriptions have confirmed the match.
    pub(crate) fn ready_count(&self, offer: &Offer) -> usize {
        let state = lock(&self.state);
        state.linked_count() + offer.known_of_others(&state.linked_origins())
    }

    /// True if this is the only writer group, or if it has other publishers.
    pub(crate) fn is_offered_alone(&self, offer: &Offer) -> bool {
        lock(&self.state).offers.len() < 2 || !lock(&offer.publishers).is_empty()
    }

    /// Removes a writer group without publishers, unless it is the last one.
    pub(crate) fn withdraw(&self, offer: &Arc<Offer>) -> bool {
        let mut state = lock(&self.state);
        let withdrawn = state.offers.len() > 1 && lock(&offer.publishers).is_empty();
        if withdrawn {
            state.offers.retain(|other| !Arc::ptr_eq(other, offer));
            if let Some(writer) = offer.writer_id() {
                self.count_dropped(state.forget_writer(writer));
            }
            state.tell_life();
        }
        withdrawn
    }

    /// All writer groups.
    pub(crate) fn offers(&self) -> Vec<Arc<Offer>> {
        lock(&self.state).offers.clone()
    }
}

impl State {
    /// Subscribers that get the messages of a writer group.
    pub(super) fn subscriber_count(&self, offer: &Offer) -> usize {
        self.linked_count() + offer.matched_of_others(&self.linked_origins())
    }

    /// Subscribers with a ROS 1 link, and subscriptions of this process.
    fn linked_count(&self) -> usize {
        self.links.len() + self.datagram_links.len() + self.locals.len()
    }

    /// Reports a change in the number of subscribers to the publishers of all writer groups.
    pub(super) fn tell_matched(&self, by: i64) {
        self.offers.iter().for_each(|offer| offer.tell(|events| events.matched(by)));
    }

    /// Records a publication, which meets the deadline and asserts liveliness.
    pub(super) fn note_published(&mut self, offer: &Offer) {
        if !offer.is_watched() {
            return;
        }
        let now = clock::monotonic();
        offer.deadline.beat(now);
        offer.life.beat(now);
        if offer.lapsed.swap(false, Ordering::Relaxed) {
            self.tell_life();
        }
    }

    /// Notifies subscriptions of this process if the liveliness of the publication has changed. It is alive while any
    /// of its writer groups is.
    fn tell_life(&mut self) {
        let lapsed = |offer: &Arc<Offer>| offer.lapsed.load(Ordering::Relaxed);
        let lives = self.offers.is_empty() || !self.offers.iter().all(lapsed);
        if std::mem::replace(&mut self.lives, lives) != lives {
            let by = if lives { 1 } else { -1 };
            self.locals.iter().for_each(|local| local.tell_life(by, -by));
        }
    }
}
