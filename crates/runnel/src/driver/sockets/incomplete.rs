//! Limits for incomplete ROS 1 messages: the largest are given up when their memory is used up, and so are those
//! without progress.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{Events, clock};
use runnel_ros1::tcpros::IncompleteFrame;

use super::Sockets;
use super::socket::{DatagramInput, Socket};
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::table::Key;
use crate::settings::receive_budget::{FrameClaim, ReceiveBudget, loser};

/// Why an incomplete message was given up.
#[derive(Debug)]
enum GivenUp {
    /// Incomplete messages exceed their memory, and this address has most of it.
    BudgetShort { address: IpAddr, frame: IncompleteFrame, limit: usize },
    /// No byte arrived for too long.
    NoProgress { frame: IncompleteFrame, timeout: Duration },
}

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BudgetShort { address, frame: IncompleteFrame { arrived, length, .. }, limit } => write!(
                f,
                "message body: given up after {arrived} of {length} bytes, since incomplete messages take more than \
                 {limit} bytes and most of them are from {} (RUNNEL_RECEIVE_BUDGET)",
                source(*address)
            ),
            Self::NoProgress { frame: IncompleteFrame { arrived, length, .. }, timeout } => write!(
                f,
                "message body: given up after {arrived} of {length} bytes, since no more came for {} s \
                 (RUNNEL_RECEIVE_TIMEOUT)",
                timeout.as_secs_f64()
            ),
        }
    }
}

/// Source of a message. The source address of datagrams is not verified.
fn source(address: IpAddr) -> String {
    if address.is_unspecified() { "datagrams".to_owned() } else { address.to_string() }
}

impl Sockets {
    /// Memory used by incomplete messages.
    pub(in crate::driver) fn receive_budget(&self) -> ReceiveBudget {
        self.frame_budget.state()
    }

    /// Gives up messages until the memory suffices, and schedules the check of their progress.
    pub(in crate::driver) fn bound_incomplete_frames(&mut self, effects: &mut Effects) {
        if !self.frame_budget.is_used() {
            return;
        }
        while self.frame_budget.is_short() {
            let now = clock::monotonic();
            let keys = self.keys();
            let claims = keys.iter().filter_map(|key| Some((*key, self.get(*key)?.claim()?)));
            let Some(key) = loser(claims, now) else { break };
            let limit = self.frame_budget.limits().bytes;
            let short = |address, frame| GivenUp::BudgetShort { address, frame, limit };
            self.give_up_frame(key, short, effects);
        }
        if self.frame_check.is_none() && self.frame_budget.is_used() {
            self.check_frames_at(Some(clock::monotonic() + self.frame_budget.limits().timeout), effects);
        }
    }

    /// The time up to which this iteration reads everything that has arrived, if it reads every socket and a check is
    /// due. If more sockets are ready each time than one wait lists, the check comes late.
    pub(in crate::driver) fn all_ready_at(&self, events: &Events) -> Option<Instant> {
        let latest = self.frame_check? + self.frame_budget.limits().timeout;
        let now = clock::monotonic();
        (events.is_complete() || latest <= now).then_some(now)
    }

    /// Gives up messages without progress, after everything was read that had arrived by then. So messages that arrived
    /// while this process was suspended count as progress.
    pub(in crate::driver) fn check_incomplete_frames(
        &mut self,
        all_ready_at: Option<Instant>,
        effects: &mut Effects,
    ) {
        let Some(now) = all_ready_at.filter(|now| self.frame_check.is_some_and(|due| due <= *now)) else {
            return self.check_frames_at(self.frame_check, effects);
        };
        let timeout = self.frame_budget.limits().timeout;
        let mut next: Option<Instant> = None;
        for key in self.keys() {
            let claim = self.get(key).and_then(Socket::claim);
            let Some(deadline) = claim.and_then(FrameClaim::last_progress).map(|at| at + timeout) else {
                continue;
            };
            if deadline <= now {
                self.give_up_frame(key, |_, frame| GivenUp::NoProgress { frame, timeout }, effects);
            } else {
                next = Some(next.map_or(deadline, |next| next.min(deadline)));
            }
        }
        self.check_frames_at(next, effects);
    }

    fn check_frames_at(&mut self, at: Option<Instant>, effects: &mut Effects) {
        self.frame_check = at;
        match at {
            Some(at) => effects.schedule(Deadline::IncompleteFrames, at),
            None => effects.cancel(Deadline::IncompleteFrames),
        }
    }

    /// Gives up an incomplete message. Its link ends, unless it can continue behind the message.
    fn give_up_frame(
        &mut self,
        key: Key,
        why: impl FnOnce(IpAddr, IncompleteFrame) -> GivenUp,
        effects: &mut Effects,
    ) {
        let Some(socket) = self.table.get_mut(key) else { return };
        let (Some(address), Some(frame)) =
            (socket.claim().map(FrameClaim::address), socket.incomplete_frame())
        else {
            return;
        };
        let why = why(address, frame).to_string();
        self.frame_budget.count_given_up();
        // Anyone can send datagrams in a publisher's name, so the link continues.
        if let Socket::DatagramInput(input) = socket {
            input.topic.lose(input.reassembler.abandon(), &input.from);
            input.update_claim();
            let trouble = |(engine, peer)| Effect::PeerFault { engine, peer, why };
            return effects.extend(socket.peer().map(trouble));
        }
        self.misbehaved(key, why, effects);
    }
}

impl Socket {
    /// The link's share of the memory budget.
    fn claim(&self) -> Option<&FrameClaim> {
        match self {
            Self::Input(input) => Some(&input.claim),
            Self::DatagramInput(input) => Some(&input.claim),
            Self::ServedClient(served) => Some(&served.claim),
            Self::CalledService(called) => Some(&called.claim),
            _ => None,
        }
    }

    fn incomplete_frame(&self) -> Option<IncompleteFrame> {
        match self {
            Self::Input(input) => input.reader.incomplete(),
            Self::DatagramInput(input) => input.reassembler.incomplete(),
            Self::ServedClient(served) => served.reader.incomplete(),
            Self::CalledService(called) => called.reader.incomplete(),
            _ => None,
        }
    }
}

impl DatagramInput {
    /// Updates the budget after datagrams arrived or a message was given up.
    pub(super) fn update_claim(&mut self) {
        self.claim.update(self.reassembler.incomplete(), clock::monotonic);
    }
}
