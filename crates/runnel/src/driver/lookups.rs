//! Name look-ups under way, each on a thread of its own so that the driver never waits for one.

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
    sender: Sender<Found>,
    receiver: Receiver<Found>,
    waker: Waker,
}

impl Lookups {
    pub(super) fn new(waker: Waker) -> Self {
        let (sender, receiver) = channel();
        Self { under_way: 0, sender, receiver, waker }
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
        Ok(())
    }

    /// A look-up that has ended since.
    pub(super) fn next(&mut self) -> Option<Found> {
        if self.under_way == 0 {
            return None;
        }
        let found = self.receiver.try_recv().ok()?;
        self.under_way -= 1;
        Some(found)
    }
}
