//! Subscriptions of this process, which get messages without a connection, and the messages that are kept for those who
//! come later.

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::{Publication, State};
use crate::data::subscription::{Deferred, SubscriptionCore};
use crate::frame::{Frame, QueueBound};
use crate::log_output::console;
use crate::sync::lock;

/// A graph in which a publication and a subscription of this process have met.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Met {
    Ros1 = 1,
    Ros2 = 2,
}

/// A subscription of this process. It gets each message once, in however many graphs it has met the publication.
pub(super) struct Local {
    pub(super) core: Arc<SubscriptionCore>,
    met: u8,
}

impl Local {
    /// It has met a publisher in ROS 2, if it has, which lives or does not.
    fn begin_life(&self, lives: bool) {
        self.tell_life(i64::from(lives), i64::from(!lives));
    }

    /// When a message is for it no longer, which ROS 2 alone knows.
    pub(super) fn until(&self, until: Option<Instant>) -> Option<Instant> {
        until.filter(|_| self.met & Met::Ros2 as u8 != 0)
    }

    /// So many publishers more live or do not, of those that it has met in ROS 2.
    pub(super) fn tell_life(&self, alive: i64, not_alive: i64) {
        if self.met & Met::Ros2 as u8 != 0 {
            self.core.events().liveliness_changed(alive, not_alive);
        }
    }
}

/// A message for those who come later, which is for those of ROS 2 no longer after `until`.
pub(super) struct KeptFrame {
    pub(super) frame: Frame,
    until: Option<Instant>,
}

impl KeptFrame {
    fn is_for(&self, local: &Local, now: Instant) -> bool {
        local.until(self.until).is_none_or(|until| now < until)
    }
}

impl Publication {
    /// A subscription of this process joins, since the master named this publication to it: it gets the message that was
    /// kept last.
    pub(crate) fn join_local(&self, subscription: Arc<SubscriptionCore>) {
        self.add_local(subscription, Met::Ros1, 1);
    }

    /// A subscription of this process is matched with this publication, as ROS 2 says: with `late` it gets the messages
    /// that were kept, as many as it may have waiting. One that has joined by ROS 1 has had what it gets.
    pub(crate) fn match_local(&self, subscription: Arc<SubscriptionCore>, late: bool) {
        let most = if late { subscription.bound().messages } else { 0 };
        self.add_local(subscription, Met::Ros2, most);
    }

    fn add_local(&self, subscription: Arc<SubscriptionCore>, met: Met, most: usize) {
        let mut deferred = Deferred::default();
        let mut state = lock(&self.state);
        let lives = state.lives;
        if let Some(local) = state.local_mut(&subscription) {
            let is_news = local.met & met as u8 == 0;
            local.met |= met as u8;
            if is_news && met == Met::Ros2 {
                local.begin_life(lives);
            }
            return;
        }
        if let Some(mismatch) = subscription.mismatch(&self.info) {
            drop(state);
            return console::error!("{mismatch}");
        }
        let (local, now) = (Local { core: subscription, met: met as u8 }, clock::monotonic());
        for KeptFrame { frame, until } in state.kept(most, |kept| kept.is_for(&local, now)) {
            local.core.push_kept_frame(frame, local.until(*until), &self.info, &mut deferred);
        }
        local.core.events().matched(1);
        local.begin_life(state.lives);
        state.locals.push(local);
        state.tell_matched(1);
        drop(state);
        deferred.run();
    }

    /// Whether a subscription of this process gets messages.
    pub(crate) fn has_local(&self, subscription: &Arc<SubscriptionCore>) -> bool {
        lock(&self.state).local_mut(subscription).is_some()
    }

    /// A subscription of this process leaves, since the master does not name this publication any more.
    pub(crate) fn leave_local(&self, subscription: &Arc<SubscriptionCore>) {
        let mut state = lock(&self.state);
        if let Some(local) = state.local_mut(subscription) {
            local.met &= !(Met::Ros1 as u8);
        }
        state.part(|local| local.met == 0);
    }

    /// A subscription of this process asks for more than what is left of what was offered in ROS 2. Whether it had met that.
    pub(crate) fn unmatch_local(&self, subscription: &Arc<SubscriptionCore>) -> bool {
        let mut state = lock(&self.state);
        let lives = state.lives;
        let Some(local) = state.local_mut(subscription) else { return false };
        let had_met = local.met & Met::Ros2 as u8 != 0;
        local.tell_life(-i64::from(lives), -i64::from(!lives));
        local.met &= !(Met::Ros2 as u8);
        state.part(|local| local.met == 0);
        had_met
    }

    /// A subscription of this process is gone.
    pub(crate) fn forget_local(&self, subscription: &Arc<SubscriptionCore>) {
        lock(&self.state).part(|local| Arc::ptr_eq(&local.core, subscription));
    }

    /// Nobody of this process is to be told anything any more.
    pub(crate) fn end(&self) {
        let unheard = lock(&self.state).part(|_| true);
        drop(unheard);
    }

    /// From now on as many messages are kept for those who come later as may wait, if any are: in ROS 1 it is the last.
    pub(crate) fn keep_earlier(&self) {
        lock(&self.state).earlier.get_or_insert_default();
    }
}

impl State {
    fn local_mut(&mut self, subscription: &Arc<SubscriptionCore>) -> Option<&mut Local> {
        self.locals.iter_mut().find(|local| Arc::ptr_eq(&local.core, subscription))
    }

    /// Parts from subscriptions of this process, which are given back: they may hold anything of the user's.
    fn part(&mut self, from: impl Fn(&Local) -> bool) -> Vec<Local> {
        let (parted, stay): (Vec<Local>, Vec<Local>) =
            std::mem::take(&mut self.locals).into_iter().partition(|local| from(local));
        self.locals = stay;
        for local in &parted {
            local.core.events().matched(-1);
            local.tell_life(-i64::from(self.lives), -i64::from(!self.lives));
        }
        self.tell_matched(-(parted.len() as i64));
        parted
    }

    /// A subscription of this process that keeps all and has no room.
    pub(super) fn full_local(&self) -> Option<String> {
        let full = self.locals.iter().find(|local| local.core.is_full());
        full.map(|local| format!("a subscription of this process to {}", local.core.topic()))
    }

    /// The last of the messages that were kept, and are such, the oldest of them first.
    pub(super) fn kept(
        &self,
        most: usize,
        are_such: impl Fn(&KeptFrame) -> bool,
    ) -> impl Iterator<Item = &KeptFrame> {
        let frames = || self.earlier.iter().flat_map(|earlier| &earlier.frames).chain(&self.latched);
        let such = frames().filter(|kept| are_such(kept)).count();
        frames().filter(move |kept| are_such(kept)).skip(such.saturating_sub(most))
    }

    /// Keeps a message for those who come later.
    pub(super) fn keep(&mut self, frame: Frame, until: Option<Instant>) {
        let Some(before) = self.latched.replace(KeptFrame { frame, until }) else { return };
        let Some(earlier) = &mut self.earlier else { return self.give_back(before.frame) };
        earlier.push(before);
        while let Some(oldest) = self.earlier.as_mut().and_then(|earlier| earlier.beyond(self.options.bound))
        {
            self.give_back(oldest.frame);
        }
    }
}

/// Messages before the last one.
#[derive(Default)]
pub(super) struct Earlier {
    frames: VecDeque<KeptFrame>,
    bytes: usize,
}

impl Earlier {
    fn push(&mut self, KeptFrame { frame, until }: KeptFrame) {
        self.bytes += frame.as_ref().len();
        // What is kept for long is not to take the memory that is lent to other processes.
        self.frames.push_back(KeptFrame { frame: frame.to_own(), until });
    }

    /// The oldest, if with the last one there are more than `bound`.
    fn beyond(&mut self, bound: QueueBound) -> Option<KeptFrame> {
        if self.frames.len() < bound.messages && self.bytes <= bound.bytes {
            return None;
        }
        let oldest = self.frames.pop_front()?;
        self.bytes -= oldest.frame.as_ref().len();
        Some(oldest)
    }
}
