//! Room for the datagrams that come at once.

use std::net::SocketAddr;

use runnel_io::Datagrams;
use runnel_io::udp::Batch;

/// Datagrams of one socket that are taken at once, before others get their turn: at first, and when many come.
const FEW: usize = 2;
pub(super) const MANY: usize = 16;

/// The same of a socket that brings announcements alone.
pub(super) const ANNOUNCEMENTS: usize = 4;

/// More than the longest datagram.
const LONGEST: usize = 1 << 16;

/// See the module's documentation. Its memory takes pages only as far as datagrams have filled them.
pub(super) struct Inbox {
    batch: Batch,
    /// How many are asked for: one more than came last, so that a system call that finds nothing is never needed.
    asked: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { batch: Batch::new(MANY, LONGEST), asked: FEW }
    }
}

impl Inbox {
    /// What has come, as far as it is taken at once, and at most so many; nothing if the socket fails, which no socket does
    /// that is open.
    pub(super) fn receive(
        &mut self,
        socket: &Datagrams,
        most: usize,
    ) -> impl Iterator<Item = (&[u8], SocketAddr)> {
        let asked = self.asked.min(most);
        let found = socket.recv_batch_of(&mut self.batch, asked).unwrap_or(0);
        // What comes by one socket tells nothing of the others.
        if most == MANY {
            self.asked = if found == asked { (found * 2).min(MANY) } else { (found + 1).clamp(FEW, MANY) };
        }
        let whole = self.batch.iter().take(found).filter(|(_, received)| !received.cut);
        whole.map(|(bytes, received)| (bytes, received.from))
    }
}
