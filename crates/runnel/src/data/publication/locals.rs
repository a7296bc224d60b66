//! Subscriptions of this process, which get messages without a connection, and the messages kept for late joiners.

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::{Publication, State};
use crate::data::subscription::{Deferred, SubscriptionCore};
use crate::frame::{Frame, QueueBound};
use crate::log_output::console;
use crate::sync::lock;

/// A graph in which a publication and a subscription of this process have matched.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum MatchedIn {
    Ros1 = 1,
    Ros2 = 2,
}

/// A subscription of this process. It gets each message once, even if both graphs have matched it.
pub(super) struct LocalSubscription {
    pub(super) core: Arc<SubscriptionCore>,
    matched_in: u8,
}

impl LocalSubscription {
    /// Reports the liveliness of a publisher that it has just matched in ROS 2.
    fn report_initial_liveliness(&self, is_alive: bool) {
        self.notify_liveliness(i64::from(is_alive), i64::from(!is_alive));
    }

    /// When a message expires for it. Lifespans exist only in ROS 2.
    pub(super) fn until(&self, until: Option<Instant>) -> Option<Instant> {
        until.filter(|_| self.matched_in & MatchedIn::Ros2 as u8 != 0)
    }

    /// Reports a change in the number of publishers, matched in ROS 2, that are alive and not alive.
    pub(super) fn notify_liveliness(&self, alive: i64, not_alive: i64) {
        if self.matched_in & MatchedIn::Ros2 as u8 != 0 {
            self.core.events().liveliness_changed(alive, not_alive);
        }
    }
}

/// A message for late joiners. For ROS 2 subscriptions it expires at `until`.
pub(super) struct KeptFrame {
    pub(super) frame: Frame,
    until: Option<Instant>,
}

impl KeptFrame {
    fn is_for(&self, local: &LocalSubscription, now: Instant) -> bool {
        local.until(self.until).is_none_or(|until| now < until)
    }
}

impl Publication {
    /// The master has named this publication to a subscription of this process: it gets the last kept message.
    pub(crate) fn join_local(&self, subscription: Arc<SubscriptionCore>) {
        self.add_local(subscription, MatchedIn::Ros1, 1);
    }

    /// ROS 2 has matched a subscription of this process with this publication. With `late` it gets the kept messages,
    /// as many as its queue holds. A subscription that ROS 1 has matched before has already got them.
    pub(crate) fn match_local(&self, subscription: Arc<SubscriptionCore>, late: bool) {
        let limit = if late { subscription.bound().messages } else { 0 };
        self.add_local(subscription, MatchedIn::Ros2, limit);
    }

    fn add_local(&self, subscription: Arc<SubscriptionCore>, matched_in: MatchedIn, limit: usize) {
        let mut deferred = Deferred::default();
        let mut state = lock(&self.state);
        let is_alive = state.is_alive;
        if let Some(local) = state.local_mut(&subscription) {
            let is_news = local.matched_in & matched_in as u8 == 0;
            local.matched_in |= matched_in as u8;
            if is_news && matched_in == MatchedIn::Ros2 {
                local.report_initial_liveliness(is_alive);
            }
            return;
        }
        if let Some(mismatch) = subscription.mismatch(&self.info) {
            drop(state);
            return console::error!("{mismatch}");
        }
        let (local, now) =
            (LocalSubscription { core: subscription, matched_in: matched_in as u8 }, clock::monotonic());
        for KeptFrame { frame, until } in state.kept(limit, |kept| kept.is_for(&local, now)) {
            local.core.push_kept_frame(frame, local.until(*until), &self.info, &mut deferred);
        }
        local.core.events().matched(1);
        local.report_initial_liveliness(state.is_alive);
        state.locals.push(local);
        state.notify_matched(1);
        drop(state);
        deferred.run();
    }

    /// Whether a subscription of this process gets messages.
    pub(crate) fn has_local(&self, subscription: &Arc<SubscriptionCore>) -> bool {
        lock(&self.state).local_mut(subscription).is_some()
    }

    /// The master does not name this publication any more to a subscription of this process.
    pub(crate) fn leave_local(&self, subscription: &Arc<SubscriptionCore>) {
        let mut state = lock(&self.state);
        if let Some(local) = state.local_mut(subscription) {
            local.matched_in &= !(MatchedIn::Ros1 as u8);
        }
        state.unmatch(|local| local.matched_in == 0);
    }

    /// The remaining writer groups are incompatible with a subscription of this process. Returns whether ROS 2 had
    /// matched it.
    pub(crate) fn unmatch_local(&self, subscription: &Arc<SubscriptionCore>) -> bool {
        let mut state = lock(&self.state);
        let is_alive = state.is_alive;
        let Some(local) = state.local_mut(subscription) else { return false };
        let was_matched = local.matched_in & MatchedIn::Ros2 as u8 != 0;
        local.notify_liveliness(-i64::from(is_alive), -i64::from(!is_alive));
        local.matched_in &= !(MatchedIn::Ros2 as u8);
        state.unmatch(|local| local.matched_in == 0);
        was_matched
    }

    /// A subscription of this process has ended.
    pub(crate) fn forget_local(&self, subscription: &Arc<SubscriptionCore>) {
        lock(&self.state).unmatch(|local| Arc::ptr_eq(&local.core, subscription));
    }

    /// Removes all subscriptions of this process.
    pub(crate) fn end(&self) {
        let unmatched = lock(&self.state).unmatch(|_| true);
        drop(unmatched);
    }

    /// Keeps as many messages for late joiners as the queue limit allows. ROS 1 latches only the last one.
    pub(crate) fn keep_earlier(&self) {
        lock(&self.state).earlier.get_or_insert_default();
    }
}

impl State {
    fn local_mut(&mut self, subscription: &Arc<SubscriptionCore>) -> Option<&mut LocalSubscription> {
        self.locals.iter_mut().find(|local| Arc::ptr_eq(&local.core, subscription))
    }

    /// Removes subscriptions of this process. The caller drops them without the lock: they can own anything of the
    /// user's.
    fn unmatch(&mut self, from: impl Fn(&LocalSubscription) -> bool) -> Vec<LocalSubscription> {
        let (unmatched, stay): (Vec<LocalSubscription>, Vec<LocalSubscription>) =
            std::mem::take(&mut self.locals).into_iter().partition(|local| from(local));
        self.locals = stay;
        for local in &unmatched {
            local.core.events().matched(-1);
            local.notify_liveliness(-i64::from(self.is_alive), -i64::from(!self.is_alive));
        }
        self.notify_matched(-(unmatched.len() as i64));
        unmatched
    }

    /// A keep-all subscription of this process whose queue is full.
    pub(super) fn full_local(&self) -> Option<String> {
        let full = self.locals.iter().find(|local| local.core.is_full());
        full.map(|local| format!("a subscription of this process to {}", local.core.topic()))
    }

    /// The last `limit` kept messages that satisfy a condition, oldest first.
    pub(super) fn kept(
        &self,
        limit: usize,
        filter: impl Fn(&KeptFrame) -> bool,
    ) -> impl Iterator<Item = &KeptFrame> {
        let frames = || self.earlier.iter().flat_map(|earlier| &earlier.frames).chain(&self.latched);
        let count = frames().filter(|kept| filter(kept)).count();
        frames().filter(move |kept| filter(kept)).skip(count.saturating_sub(limit))
    }

    /// Keeps a message for late joiners.
    pub(super) fn keep(&mut self, frame: Frame, until: Option<Instant>) {
        let Some(before) = self.latched.replace(KeptFrame { frame, until }) else { return };
        let Some(earlier) = &mut self.earlier else { return self.recycle(before.frame) };
        earlier.push(before);
        while let Some(oldest) = self.earlier.as_mut().and_then(|earlier| earlier.beyond(self.options.bound))
        {
            self.recycle(oldest.frame);
        }
    }
}

/// Kept messages before the last one.
#[derive(Default)]
pub(super) struct EarlierFrames {
    frames: VecDeque<KeptFrame>,
    bytes: usize,
}

impl EarlierFrames {
    fn push(&mut self, KeptFrame { frame, until }: KeptFrame) {
        self.bytes += frame.as_ref().len();
        // Messages that are kept for long must not occupy slots of shared memory.
        self.frames.push_back(KeptFrame { frame: frame.to_own(), until });
    }

    /// The oldest message, if together with the last one there are more than `bound`.
    fn beyond(&mut self, bound: QueueBound) -> Option<KeptFrame> {
        if self.frames.len() < bound.messages && self.bytes <= bound.bytes {
            return None;
        }
        let oldest = self.frames.pop_front()?;
        self.bytes -= oldest.frame.as_ref().len();
        Some(oldest)
    }
}
