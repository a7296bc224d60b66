//! Name look-ups under way, each on a thread of its own so that the driver never waits for one.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};

use runnel_io::{Waker, lookup};
use runnel_ros1::net::{ConnId, Endpoint};

use super::table::Key;

/// Most look-ups at once; a further one fails and is tried again by its engine.
const MOST: usize = 32;

/// A look-up that has ended.
pub(super) struct Found {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) address: io::Result<SocketAddr>,
}

pub(super) struct Lookups {
    under_way: usize,
    /// The connections that still wait for an address.
    wanted: HashSet<(Key, ConnId)>,
    sender: Sender<Found>,
    receiver: Receiver<Found>,
    waker: Waker,
}

impl Lookups {
    pub(super) fn new(waker: Waker) -> Self {
        let (sender, receiver) = channel();
        Self { under_way: 0, wanted: HashSet::new(), sender, receiver, waker }
    }

    /// Begins a look-up.
    pub(super) fn begin(&mut self, engine: Key, conn: ConnId, to: &Endpoint) -> io::Result<()> {
        if self.under_way >= MOST {
            return Err(io::Error::other(format!("{MOST} name look-ups are under way")));
        }
        let (sender, waker) = (self.sender.clone(), self.waker.clone());
        lookup::in_background(to.host.clone(), to.port, move |address| {
            // Nobody waits for the answer any more once the driver is gone.
            let _ = sender.send(Found { engine, conn, address });
            waker.wake();
        })?;
        self.under_way += 1;
        self.wanted.insert((engine, conn));
        Ok(())
    }

    /// The connection is not wanted any more: what its look-up finds is passed over.
    pub(super) fn forget(&mut self, engine: Key, conn: ConnId) {
        self.wanted.remove(&(engine, conn));
    }

    /// The engine is gone with all its connections.
    pub(super) fn forget_engine(&mut self, engine: Key) {
        self.wanted.retain(|(of, _)| *of != engine);
    }

    /// A look-up that has ended since and whose connection is still wanted.
    pub(super) fn next(&mut self) -> Option<Found> {
        while self.under_way > 0 {
            let found = self.receiver.try_recv().ok()?;
            self.under_way -= 1;
            if self.wanted.remove(&(found.engine, found.conn)) {
                return Some(found);
            }
        }
        None
    }
}
