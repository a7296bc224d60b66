//! What a publisher that has left its topic sent before.

use super::{Input, Socket, Sockets};
use crate::driver::effect::Effects;
use crate::driver::table::Key;

/// How often a link is read at most: what a peer sends without end is not to keep others waiting.
const READS: usize = 16 * 1024;

/// Bytes that the kernel of a publisher holds for a connection at most, as systems are set up.
pub(in crate::driver) const MOST_UNDER_WAY: u64 = 4 << 20;

impl Sockets {
    /// Reads what has come from a publisher so far, and what may have been under way. The rest of what comes meanwhile is left
    /// to the turns that follow.
    pub(in crate::driver) fn read_all(&mut self, link: Key, effects: &mut Effects) {
        let (begun, bytes) = (self.received_by(link), self.sent_to(link));
        for _ in 0..READS {
            let before = self.received_by(link);
            self.input_readable(link, effects);
            let now = self.received_by(link);
            if now <= before || now.zip(begun).is_some_and(|(now, begun)| now - begun >= bytes) {
                break;
            }
        }
    }

    /// Reads the rest of a link whose connection has ended.
    pub(in crate::driver) fn read_if_ended(&mut self, link: Key, effects: &mut Effects) {
        if let Some(Socket::Input(Input { stream, .. })) = self.get(link)
            && stream.is_ended_by_peer()
        {
            self.read_all(link, effects);
        }
    }

    /// The most bytes that a publisher may have sent and the driver has not read.
    fn sent_to(&self, link: Key) -> u64 {
        match self.get(link) {
            Some(Socket::Input(Input { stream, .. })) => {
                stream.waiting().unwrap_or_default() + MOST_UNDER_WAY
            }
            _ => 0,
        }
    }

    /// Bytes that have come from a publisher.
    fn received_by(&self, link: Key) -> Option<u64> {
        match self.get(link)? {
            Socket::Input(input) => Some(input.received),
            _ => None,
        }
    }
}
