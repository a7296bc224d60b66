//! Receive buffer for batches of datagrams.

use std::net::SocketAddr;
use std::ops::Range;

use runnel_io::Datagrams;
use runnel_io::udp::Batch;

/// Maximum number of datagrams taken from one socket before the others are read: initially, and under load.
const FEW: usize = 2;
pub(super) const MANY: usize = 16;

/// The same for a socket that receives announcements only.
pub(in crate::driver) const ANNOUNCEMENTS: usize = 4;

/// More than the length of any datagram.
const LONGEST: usize = 1 << 16;

/// See the module's documentation. Its memory takes pages only as far as datagrams have filled it.
pub(in crate::driver) struct Inbox {
    /// Allocated for the first datagram.
    batch: Option<Batch>,
    /// Datagrams to ask for: one more than the last time, so that no system call finds nothing.
    asked: usize,
    /// Datagrams of the batch that have not been taken.
    left: Range<usize>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { batch: None, asked: FEW, left: 0..0 }
    }
}

impl Inbox {
    /// Receives up to `most` datagrams. Does nothing if earlier ones have not been taken. An error of the socket counts
    /// as no datagram: open sockets do not fail.
    pub(super) fn receive(&mut self, socket: &Datagrams, most: usize) {
        if !self.left.is_empty() {
            return;
        }
        let batch = self.batch.get_or_insert_with(|| Batch::new(MANY, LONGEST));
        let asked = self.asked.min(most);
        let found = socket.recv_batch_of(batch, asked).unwrap_or(0);
        self.left = 0..found;
        // The load of one socket says nothing about the others.
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
