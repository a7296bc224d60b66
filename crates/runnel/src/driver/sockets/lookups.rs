//! Host name resolution on threads of its own, so that the driver never waits for it. A name is resolved once for all
//! connections that wait for it.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};

use runnel_io::Waker;
use runnel_io::lookup::{self, Family};
use runnel_ros1::net::{ConnId, Endpoint};

use crate::driver::table::Key;
use runnel_core::sorted::SortedMap;

/// Maximum number of concurrent look-ups. Further host names are queued.
const MAX_RUNNING: usize = 32;

/// Maximum number of queued host names. A connection to a further one fails, and its engine tries again.
const MAX_QUEUED: usize = 4096;

/// Result of a look-up, for one connection.
pub(super) struct Found {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) address: io::Result<SocketAddr>,
}

/// A connection that waits for a look-up.
struct Waiting {
    engine: Key,
    conn: ConnId,
    port: u16,
}

/// Result of a look-up, from its thread.
struct Answer {
    host: String,
    address: io::Result<IpAddr>,
}

pub(super) struct Lookups {
    running: usize,
    /// Waiting connections by host name, whether its look-up runs or is queued.
    waiting: SortedMap<String, Vec<Waiting>>,
    queue: VecDeque<String>,
    found: VecDeque<Found>,
    sender: Sender<Answer>,
    receiver: Receiver<Answer>,
    waker: Waker,
    family: Family,
}

impl Lookups {
    pub(super) fn new(waker: Waker, family: Family) -> Self {
        let (sender, receiver) = channel();
        let (waiting, queue, found) = (SortedMap::new(), VecDeque::new(), VecDeque::new());
        Self { running: 0, waiting, queue, found, sender, receiver, waker, family }
    }

    /// Begins or queues a look-up.
    pub(super) fn begin(&mut self, engine: Key, conn: ConnId, to: &Endpoint) -> io::Result<()> {
        if !self.waiting.contains_key(&to.host) {
            if self.running < MAX_RUNNING {
                self.start(to.host.clone())?;
            } else if self.queue.len() < MAX_QUEUED {
                self.queue.push_back(to.host.clone());
            } else {
                return Err(io::Error::other(format!("{MAX_QUEUED} host names wait to be looked up")));
            }
        }
        self.waiting.entry(to.host.clone()).or_default().push(Waiting { engine, conn, port: to.port });
        Ok(())
    }

    fn start(&mut self, host: String) -> io::Result<()> {
        let (sender, waker, name) = (self.sender.clone(), self.waker.clone(), host.clone());
        lookup::resolve_in_background(host, self.family, move |address| {
            // The receiver is gone if the driver is.
            let _ = sender.send(Answer { host: name, address });
            waker.wake();
        })?;
        self.running += 1;
        Ok(())
    }

    /// Forgets a connection that was closed.
    pub(super) fn forget(&mut self, engine: Key, conn: ConnId) {
        self.keep(|of, other| (of, other) != (engine, conn));
    }

    /// Forgets all connections of a removed engine.
    pub(super) fn forget_engine(&mut self, engine: Key) {
        self.keep(|of, _| of != engine);
    }

    fn keep(&mut self, wanted: impl Fn(Key, ConnId) -> bool) {
        let waiting = self.waiting.values_mut();
        waiting.for_each(|of_host| of_host.retain(|one| wanted(one.engine, one.conn)));
        self.found.retain(|one| wanted(one.engine, one.conn));
    }

    /// Next result for a connection that still waits.
    pub(super) fn next(&mut self) -> Option<Found> {
        while self.found.is_empty() && self.running > 0 {
            let answer = self.receiver.try_recv().ok()?;
            self.running -= 1;
            self.finish(&answer);
            self.start_next();
        }
        self.found.pop_front()
    }

    fn finish(&mut self, answer: &Answer) {
        for Waiting { engine, conn, port } in self.waiting.remove(&answer.host).unwrap_or_default() {
            let address = match &answer.address {
                Ok(address) => Ok(SocketAddr::new(*address, port)),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            };
            self.found.push_back(Found { engine, conn, address });
        }
    }

    /// Begins the next queued look-up that has waiting connections.
    fn start_next(&mut self) {
        while let Some(host) = self.queue.pop_front() {
            if self.waiting.get(&host).is_none_or(Vec::is_empty) {
                self.waiting.remove(&host);
                continue;
            }
            match self.start(host.clone()) {
                Ok(()) => return,
                Err(error) => self.finish(&Answer { host, address: Err(error) }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::table::Table;
    use runnel_core::time::Instant;
    use runnel_io::{Reactor, clock};
    use std::time::Duration;

    fn endpoint(number: u64) -> Endpoint {
        // The resolver refuses these at once: a label has at most 63 bytes.
        Endpoint { host: format!("{}{number}", "x".repeat(64)), port: 1 }
    }

    fn key() -> Key {
        Table::default().insert_with(|_| ())
    }

    fn all_found(lookups: &mut Lookups, count: usize) -> Vec<u64> {
        let deadline: Instant = clock::monotonic() + Duration::from_secs(60);
        let mut conns = Vec::new();
        while conns.len() < count {
            assert!(clock::monotonic() < deadline, "{} of {count}", conns.len());
            conns.extend(lookups.next().map(|found| {
                assert!(found.address.is_err());
                found.conn.0
            }));
        }
        conns.sort_unstable();
        conns
    }

    #[test]
    fn excess_host_names_are_queued_without_failure() {
        let mut lookups = Lookups::new(Reactor::new().unwrap().waker().clone(), Family::V4);
        let count = 5 * MAX_RUNNING as u64;
        // Two connections to each host.
        for number in 0..count {
            lookups.begin(key(), ConnId(number), &endpoint(number / 2)).unwrap();
            assert!(lookups.running <= MAX_RUNNING);
        }
        assert_eq!(all_found(&mut lookups, count as usize), (0..count).collect::<Vec<_>>());
        assert!(lookups.waiting.is_empty() && lookups.queue.is_empty() && lookups.running == 0);
    }

    #[test]
    fn closed_connection_gets_no_address() {
        let mut lookups = Lookups::new(Reactor::new().unwrap().waker().clone(), Family::V4);
        for number in 0..2 * MAX_RUNNING as u64 {
            lookups.begin(key(), ConnId(number), &endpoint(number)).unwrap();
        }
        lookups.forget(key(), ConnId(0));
        lookups.forget(key(), ConnId(MAX_RUNNING as u64 + 3));
        let found = all_found(&mut lookups, 2 * MAX_RUNNING - 2);
        assert!(!found.contains(&0) && !found.contains(&(MAX_RUNNING as u64 + 3)));
        assert!(lookups.next().is_none());
        assert!(lookups.waiting.is_empty() && lookups.queue.is_empty());
    }

    #[test]
    fn queue_of_host_names_is_bounded() {
        let mut lookups = Lookups::new(Reactor::new().unwrap().waker().clone(), Family::V4);
        let refused = (0..).find_map(|number| lookups.begin(key(), ConnId(number), &endpoint(number)).err());
        assert!(refused.unwrap().to_string().contains("host names wait"));
    }
}
