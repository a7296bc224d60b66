//! What sessions bring of the ROS 2 graph while datagrams of that graph are being handed out. Those were sent before it, and
//! so it waits until they are with their subscriptions.
//!
//! Sessions are looked at in the middle of that where what came by ROS 1 is to be heard first.

use super::Key;
use crate::driver::Driver;
use crate::driver::socket::Socket;
use crate::ipc::Heard;

/// The records of one turn that wait, in the order in which they came: no more than rings hold.
#[derive(Default)]
pub(super) struct PutOff(Vec<Waiting>);

struct Waiting {
    session: Key,
    channel: u32,
    heard: Heard,
}

impl PutOff {
    fn has(&self, session: Key, channel: u32) -> bool {
        self.0.iter().any(|waiting| (waiting.session, waiting.channel) == (session, channel))
    }
}

impl Driver {
    /// Has a record wait if it must; gives back one that need not.
    pub(super) fn put_off(&mut self, session: Key, channel: u32, heard: Heard) -> Option<Heard> {
        if !self.ros2.is_receiving() || !self.is_of_samples(session, channel, &heard) {
            return Some(heard);
        }
        self.sessions.put_off.0.push(Waiting { session, channel, heard });
        None
    }

    fn is_of_samples(&self, session: Key, channel: u32, heard: &Heard) -> bool {
        if matches!(heard, Heard::OpenSamples { .. } | Heard::Sample { .. }) {
            return true;
        }
        let link = self.sessions.open.get(session).and_then(|open| open.link_of(channel));
        let is_pair = link.is_some_and(|link| matches!(self.sockets.get(link), Some(Socket::SampleInput(_))));
        let is_carried = matches!(heard, Heard::Stream(_) | Heard::Close);
        is_carried && (is_pair || self.sessions.put_off.has(session, channel))
    }

    /// Does what was put off: all datagrams before it have been handed out, or its session ends.
    pub(in crate::driver) fn catch_up_on_samples(&mut self) {
        for Waiting { session, channel, heard } in std::mem::take(&mut self.sessions.put_off.0) {
            if let Err(why) = self.take_record(session, channel, heard) {
                self.end_session(session, Some(why));
            }
        }
    }
}
