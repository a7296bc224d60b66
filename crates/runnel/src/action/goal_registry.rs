//! Registry of the goals that an action server knows.

use std::time::Duration;

use runnel_core::time::{Instant, Time};

use super::goal_requests::{ClientRequest, GoalRequests};
use crate::goal_status::{GoalId, GoalStatus, Step};

/// How long an ended goal stays listed, by the generation of its client.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepTimes {
    pub(super) ros1: Duration,
    pub(super) ros2: Duration,
}

/// Identifies an entry. A client may reuse a goal id after its goal is forgotten, so the id is not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

/// One goal, or a ROS 1 request to cancel a goal that has not arrived.
pub(super) struct Entry<H, R> {
    pub(super) key: Key,
    pub(super) id: GoalId,
    /// When the client created the goal, or the time of reception if the client gives none, as in ROS 2.
    pub(super) stamp: Time,
    pub(super) status: GoalStatus,
    pub(super) text: String,
    /// The owner's handle; `None` for a request that waits for its goal.
    handle: Option<H>,
    /// When it ended.
    pub(super) ended: Option<Instant>,
    decision: CancelDecision,
    /// What ROS 2 clients have requested.
    pub(super) requests: GoalRequests<R>,
}

/// The owner's decision on a cancel request. The status is that before the request until the owner has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CancelDecision {
    /// No request awaits one.
    None,
    /// The owner is being asked. Without a refusal, the goal will be canceled.
    Pending,
    Refused,
}

/// What to do with a received goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The user decides on it.
    New,
    /// It was received before.
    Known,
    /// It was canceled before it arrived.
    Recalled,
    /// Too many goals are active to keep it.
    Full,
}

/// Goals of both generations in the order of reception. `H` is the owner's handle, `R` answers a request of a ROS 2
/// client. [`ros2_goals`](super::ros2_goals) has the rules that only ROS 2 has.
pub(super) struct GoalRegistry<H, R> {
    entries: Vec<Entry<H, R>>,
    /// Key of the last entry.
    key: Key,
    limit: usize,
    keep: KeepTimes,
    /// ROS 1 goals with this stamp or an earlier one are canceled, also those that arrive later.
    last_cancel: Time,
}

impl<H: Clone, R: ClientRequest> GoalRegistry<H, R> {
    pub(super) fn new(limit: usize, keep: KeepTimes) -> Self {
        Self { entries: Vec::new(), key: Key(0), limit, keep, last_cancel: Time::default() }
    }

    pub(super) fn entries(&self) -> &[Entry<H, R>] {
        &self.entries
    }

    /// The goal with this id.
    pub(super) fn by_id(&self, id: &GoalId) -> Option<&Entry<H, R>> {
        self.entries.iter().find(|entry| entry.id == *id)
    }

    pub(super) fn by_id_mut(&mut self, id: &GoalId) -> Option<&mut Entry<H, R>> {
        self.entries.iter_mut().find(|entry| entry.id == *id)
    }

    /// The goal with this key, unless it is forgotten.
    pub(super) fn get(&self, key: Key) -> Option<&Entry<H, R>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Entry<H, R>> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }

    /// Adds a received goal, with its `stamp` by the client's clock (the time of reception `came` if it is zero).
    /// `handle` creates the owner's handle.
    pub(super) fn arrive(
        &mut self,
        id: &GoalId,
        (stamp, came): (Time, Time),
        handle: impl FnOnce(Key) -> H,
        now: Instant,
    ) -> Arrival {
        if let Some(known) = self.by_id_mut(id) {
            return known.on_duplicate(now);
        }
        if !self.evict_if_full() {
            return Arrival::Full;
        }
        let key = self.next_key();
        let recalled = !stamp.is_zero() && stamp <= self.last_cancel;
        let stamp = if stamp.is_zero() { came } else { stamp };
        let mut entry = Entry::new(key, id.clone(), stamp);
        if recalled {
            "all goals of its time and before were canceled".clone_into(&mut entry.text);
            (entry.status, entry.ended) = (GoalStatus::Recalled, Some(now));
        } else {
            entry.handle = Some(handle(key));
        }
        self.entries.push(entry);
        if recalled { Arrival::Recalled } else { Arrival::New }
    }

    /// Handles a ROS 1 request: cancels the goal with this id, those with this stamp or an earlier one, or (with
    /// neither) all. Returns newly canceled goals. A request for an unknown id waits for its goal; false if the
    /// registry is full.
    pub(super) fn cancel(&mut self, id: &str, stamp: Time, now: Instant) -> (Vec<(Key, H)>, bool) {
        let all = id.is_empty() && stamp.is_zero();
        let concerned = self.request_cancel(|entry| {
            let named = !id.is_empty() && entry.id.text() == Some(id);
            all || named || !stamp.is_zero() && entry.stamp <= stamp
        });
        self.last_cancel = self.last_cancel.max(stamp);
        let waits = !id.is_empty() && self.by_id(&GoalId::from(id)).is_none();
        let is_kept = !waits || self.evict_if_full();
        if waits && is_kept {
            let mut entry = Entry::new(self.next_key(), GoalId::from(id), stamp);
            (entry.status, entry.ended) = (GoalStatus::Recalling, Some(now));
            self.entries.push(entry);
        }
        (concerned, is_kept)
    }

    /// Requests to cancel the open goals that are meant. Returns those for which that is new. Their owners decide until
    /// [`GoalRegistry::conclude_cancel`].
    pub(super) fn request_cancel(&mut self, is_meant: impl Fn(&Entry<H, R>) -> bool) -> Vec<(Key, H)> {
        let mut concerned = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| entry.is_cancelable() && is_meant(entry)) {
            if let Some(handle) = entry.handle.clone() {
                entry.decision = CancelDecision::Pending;
                concerned.push((entry.key, handle));
            }
        }
        concerned
    }

    /// The owner of a goal refuses to cancel it. False if no cancel request awaits the decision.
    pub(super) fn refuse_cancel(&mut self, key: Key) -> bool {
        let Some(entry) = self.get_mut(key) else { return false };
        let decides = entry.decision == CancelDecision::Pending && !entry.status.is_terminal();
        if decides {
            entry.decision = CancelDecision::Refused;
        }
        decides
    }

    /// The owner of a goal has failed to decide on a cancel request. The goal continues, and can be canceled again.
    pub(super) fn withdraw_cancel(&mut self, key: Key) {
        if let Some(entry) = self.get_mut(key) {
            entry.decision = CancelDecision::None;
        }
    }

    /// Gives up the requests for results whose clients have been gone for too long.
    pub(super) fn drop_absent_clients(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.requests.drop_absent_clients());
    }

    /// The owner of a goal has decided on a cancel request. False if it has refused.
    pub(super) fn conclude_cancel(&mut self, key: Key) -> bool {
        let Some(entry) = self.get_mut(key) else { return true };
        let decision = std::mem::replace(&mut entry.decision, CancelDecision::None);
        let is_accepted = decision != CancelDecision::Refused;
        if is_accepted && let Some(next) = entry.status.after(Step::RequestCancel) {
            entry.status = next;
        }
        is_accepted
    }

    /// Sets the status of a goal.
    pub(super) fn set(&mut self, key: Key, status: GoalStatus, text: &str, now: Instant) {
        if let Some(entry) = self.get_mut(key) {
            entry.status = status;
            text.clone_into(&mut entry.text);
            entry.ended = status.is_terminal().then_some(now);
        }
    }

    /// Removes goals whose listing time has expired.
    pub(super) fn expire(&mut self, now: Instant) {
        let keep = self.keep;
        self.entries.retain(|entry| entry.expiry(keep).is_none_or(|expiry| now <= expiry));
    }

    /// When the listing time of the next goal expires; `None` if no goal has ended.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.entries.iter().filter_map(|entry| entry.expiry(self.keep)).min()
    }

    fn next_key(&mut self) -> Key {
        self.key = Key(self.key.0 + 1);
        self.key
    }

    /// Evicts a goal if the registry is full: the one that ended first, and one without a result before one whose result
    /// a client may still request. False if none has ended.
    fn evict_if_full(&mut self) -> bool {
        self.entries.len() < self.limit || self.evict(|_| true)
    }

    /// Evicts one ended goal of those that may be evicted. False if there is none.
    pub(super) fn evict(&mut self, may_evict: impl Fn(&Entry<H, R>) -> bool) -> bool {
        let candidates = self.entries.iter().enumerate().filter(|(_, entry)| may_evict(entry));
        let ended = candidates
            .filter_map(|(place, entry)| Some((entry.requests.result_len().is_some(), entry.ended?, place)));
        let Some((.., place)) = ended.min() else { return false };
        self.entries.remove(place);
        true
    }
}

impl<H, R> Entry<H, R> {
    /// A goal that its owner does not know yet.
    fn new(key: Key, id: GoalId, stamp: Time) -> Self {
        Self {
            key,
            id,
            stamp,
            status: GoalStatus::Pending,
            text: String::new(),
            handle: None,
            ended: None,
            decision: CancelDecision::None,
            requests: GoalRequests::default(),
        }
    }

    /// When its listing time expires, if it has ended.
    fn expiry(&self, KeepTimes { ros1, ros2 }: KeepTimes) -> Option<Instant> {
        let keep = if self.id.uuid().is_some() { ros2 } else { ros1 };
        self.ended.map(|ended| ended + keep)
    }

    /// Whether the goal can be canceled: a ROS 2 client can cancel it once it is accepted. Not while its owner is asked.
    pub(super) fn is_cancelable(&self) -> bool {
        let is_known = self.id.uuid().is_none() || self.status.ros2_number().is_some();
        let is_open = self.status.after(Step::RequestCancel).is_some();
        is_known && is_open && self.decision == CancelDecision::None
    }

    /// The status as the cancel callback sees it, while it decides on a request.
    pub(super) fn status_if_canceled(&self) -> GoalStatus {
        let next =
            self.status.after(Step::RequestCancel).filter(|_| self.decision == CancelDecision::Pending);
        next.unwrap_or(self.status)
    }

    /// Handles another ROS 1 goal with this id.
    fn on_duplicate(&mut self, now: Instant) -> Arrival {
        if self.ended.is_some() && self.id.uuid().is_none() {
            self.ended = Some(now);
        }
        if self.handle.is_none() && self.status == GoalStatus::Recalling {
            self.status = GoalStatus::Recalled;
            return Arrival::Recalled;
        }
        Arrival::Known
    }
}

#[cfg(test)]
mod tests;
