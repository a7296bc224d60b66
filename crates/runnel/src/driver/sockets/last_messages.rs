//! Reading of the messages that a publisher sent before it left its topic.

use super::{Input, Socket, Sockets};
use crate::driver::effect::Effects;
use crate::driver::table::Key;

/// Maximum number of reads of a link. A peer that sends without end must not delay others.
const READS: usize = 16 * 1024;

/// Maximum number of bytes in a connection's send buffer, by the default of the kernel.
pub(in crate::driver) const MAX_IN_TRANSIT: u64 = 4 << 20;

impl Sockets {
    /// Reads everything that a publisher has sent until now, as far as the kernel's buffers can hold it. Later
    /// iterations read what it sends meanwhile.
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

    /// Reads the rest of a link whose connection the peer has closed.
    pub(in crate::driver) fn read_if_ended(&mut self, link: Key, effects: &mut Effects) {
        if let Some(Socket::Input(Input { stream, .. })) = self.get(link)
            && stream.is_ended_by_peer()
        {
            self.read_all(link, effects);
        }
    }

    /// Upper bound of the bytes that a publisher has sent and the driver has not read.
    fn sent_to(&self, link: Key) -> u64 {
        match self.get(link) {
            Some(Socket::Input(Input { stream, .. })) => {
                stream.waiting().unwrap_or_default() + MAX_IN_TRANSIT
            }
            _ => 0,
        }
    }

    /// Bytes received from a publisher.
    fn received_by(&self, link: Key) -> Option<u64> {
        match self.get(link)? {
            Socket::Input(input) => Some(input.received),
            _ => None,
        }
    }
}
