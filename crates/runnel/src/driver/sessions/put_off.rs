//! What sessions bring of the ROS 2 graph while samples of that graph are being handed out. Those were sent before it, and
//! so it waits until they are with their subscriptions.
//!
//! Sessions are looked at in the middle of that where what came by ROS 1 is to be heard first.

use std::collections::VecDeque;

use super::{Entry, Key};
use crate::driver::Driver;
use crate::ipc::Heard;

/// The records of one turn that wait, in the order in which they came: no more than rings hold.
#[derive(Default)]
pub(super) struct PutOff {
    waiting: VecDeque<Waiting>,
    /// They are being handed on: what comes meanwhile waits behind them.
    handing_on: bool,
}

struct Waiting {
    session: Key,
    channel: u32,
    heard: Heard,
}

impl PutOff {
    fn has(&self, session: Key, channel: u32) -> bool {
        self.waiting.iter().any(|waiting| (waiting.session, waiting.channel) == (session, channel))
    }
}

impl Driver {
    /// True while samples have to wait for others that are being handed out.
    pub(super) fn puts_off_samples(&self) -> bool {
        self.ros2.is_handing_out() || self.sessions.put_off.handing_on
    }

    /// Has a record wait if it must; gives back one that need not.
    pub(super) fn put_off(&mut self, session: Key, channel: u32, heard: Heard) -> Option<Heard> {
        if !self.puts_off_samples() || !self.is_of_samples(session, channel, &heard) {
            return Some(heard);
        }
        self.sessions.put_off.waiting.push_back(Waiting { session, channel, heard });
        None
    }

    fn is_of_samples(&self, session: Key, channel: u32, heard: &Heard) -> bool {
        let is_pair = |key: Key| matches!(self.sessions.entries.get(key), Some(Entry::SampleInput(_)));
        if let Heard::OpenSamples { token, .. } = heard {
            return self.sessions.links.get(token).is_some_and(|key| is_pair(*key));
        }
        let is_carried = matches!(
            heard,
            Heard::Stream(_)
                | Heard::Sample { .. }
                | Heard::SampleBegin { .. }
                | Heard::Skip(_)
                | Heard::Close
        );
        let link = self.sessions.open.get(session).and_then(|open| open.link_of(channel));
        is_carried && (link.is_some_and(is_pair) || self.sessions.put_off.has(session, channel))
    }

    /// Does what was put off, once all that came before it has been handed out.
    pub(in crate::driver) fn catch_up_on_samples(&mut self) {
        if self.puts_off_samples() {
            return;
        }
        self.sessions.put_off.handing_on = true;
        while let Some(waiting) = self.sessions.put_off.waiting.pop_front() {
            self.take_put_off(waiting);
        }
        self.sessions.put_off.handing_on = false;
    }

    /// Does what was put off of a session that ends, or from which a pair parts: it was read, as the peer sees it.
    pub(in crate::driver) fn catch_up_on_samples_of(&mut self, session: Key) {
        let waiting = std::mem::take(&mut self.sessions.put_off.waiting);
        let (its, others) = waiting.into_iter().partition(|waiting| waiting.session == session);
        self.sessions.put_off.waiting = others;
        let its: VecDeque<Waiting> = its;
        its.into_iter().for_each(|waiting| self.take_put_off(waiting));
    }

    fn take_put_off(&mut self, Waiting { session, channel, heard }: Waiting) {
        if self.sessions.is_behind_network(session, &heard) {
            self.hear_rtps();
        }
        if let Err(why) = self.take_record(session, channel, heard) {
            self.end_session(session, Some(why));
        }
    }
}
