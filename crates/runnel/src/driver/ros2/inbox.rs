//! Room for the datagrams that come at once.

use std::net::SocketAddr;
use std::ops::Range;

use runnel_io::Datagrams;
use runnel_io::udp::Batch;

/// Datagrams of one socket that are taken at once, before others get their turn: at first, and when many come.
const FEW: usize = 2;
pub(super) const MANY: usize = 16;

/// The same of a socket that brings announcements alone.
pub(in crate::driver) const ANNOUNCEMENTS: usize = 4;

/// More than the longest datagram.
const LONGEST: usize = 1 << 16;

/// See the module's documentation. Its memory takes pages only as far as datagrams have filled them.
pub(in crate::driver) struct Inbox {
    /// From the first datagram on.
    batch: Option<Batch>,
    /// How many are asked for: one more than came last, so that a system call that finds nothing is never needed.
    asked: usize,
    /// Those of the batch that are still to be taken.
    left: Range<usize>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { batch: None, asked: FEW, left: 0..0 }
    }
}

impl Inbox {
    /// Receives what has come, as far as it is taken at once, and at most so many datagrams. Nothing if there are still some to
    /// be taken, or if the socket fails, which no socket does that is open.
    pub(super) fn receive(&mut self, socket: &Datagrams, most: usize) {
        if !self.left.is_empty() {
            return;
        }
        let batch = self.batch.get_or_insert_with(|| Batch::new(MANY, LONGEST));
        let asked = self.asked.min(most);
        let found = socket.recv_batch_of(batch, asked).unwrap_or(0);
        self.left = 0..found;
        // What comes by one socket tells nothing of the others.
        if most == MANY {
            self.asked = if found == asked { (found * 2).min(MANY) } else { (found + 1).clamp(FEW, MANY) };
        }
    }

    /// The next datagram.
    pub(in crate::driver) fn next(&mut self) -> Option<(&[u8], SocketAddr)> {
        let Self { batch, left, .. } = self;
        let batch = batch.as_ref()?;
        let (bytes, received) =
            left.find_map(|index| batch.iter().nth(index).filter(|(_, received)| !received.cut))?;
        Some((bytes, received.from))
    }
}
