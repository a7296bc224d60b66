//! Name look-ups, on threads of their own so that the driver never waits for one. A host is looked up once for all
//! connections that wait for its address.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};

use runnel_io::Waker;
use runnel_io::lookup::{self, Family};
use runnel_ros1::net::{ConnId, Endpoint};

use crate::driver::table::Key;
use runnel_core::sorted::SortedMap;

/// Most look-ups at once; further hosts wait in line.
const MOST: usize = 32;

/// Most hosts in line; a connection to a further one fails and is tried again by its engine.
const LINE: usize = 4096;

/// A look-up that has ended, for one connection.
pub(super) struct Found {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) address: io::Result<SocketAddr>,
}

/// A connection that waits for the address of a host.
struct Waiting {
    engine: Key,
    conn: ConnId,
    port: u16,
}

/// The address of a host, as the resolver knows it.
struct Answer {
    host: String,
    address: io::Result<IpAddr>,
}

pub(super) struct Lookups {
    under_way: usize,
    /// By host: those being looked up and those in line.
    waiting: SortedMap<String, Vec<Waiting>>,
    line: VecDeque<String>,
    found: VecDeque<Found>,
    sender: Sender<Answer>,
    receiver: Receiver<Answer>,
    waker: Waker,
    family: Family,
}

impl Lookups {
    pub(super) fn new(waker: Waker, family: Family) -> Self {
        let (sender, receiver) = channel();
        let (waiting, line, found) = (SortedMap::new(), VecDeque::new(), VecDeque::new());
        Self { under_way: 0, waiting, line, found, sender, receiver, waker, family }
    }

    /// Begins a look-up, or has it wait in line.
    pub(super) fn begin(&mut self, engine: Key, conn: ConnId, to: &Endpoint) -> io::Result<()> {
        if !self.waiting.contains_key(&to.host) {
            if self.under_way < MOST {
                self.start(to.host.clone())?;
            } else if self.line.len() < LINE {
                self.line.push_back(to.host.clone());
            } else {
                return Err(io::Error::other(format!("{LINE} host names wait to be looked up")));
            }
        }
        self.waiting.entry(to.host.clone()).or_default().push(Waiting { engine, conn, port: to.port });
        Ok(())
    }

    fn start(&mut self, host: String) -> io::Result<()> {
        let (sender, waker, name) = (self.sender.clone(), self.waker.clone(), host.clone());
        lookup::resolve_in_background(host, self.family, move |address| {
            // Nobody waits for the answer any more once the driver is gone.
            let _ = sender.send(Answer { host: name, address });
            waker.wake();
        })?;
        self.under_way += 1;
        Ok(())
    }

    /// The connection is not wanted any more.
    pub(super) fn forget(&mut self, engine: Key, conn: ConnId) {
        self.keep(|of, other| (of, other) != (engine, conn));
    }

    /// The engine is gone with all its connections.
    pub(super) fn forget_engine(&mut self, engine: Key) {
        self.keep(|of, _| of != engine);
    }

    fn keep(&mut self, wanted: impl Fn(Key, ConnId) -> bool) {
        let waiting = self.waiting.values_mut();
        waiting.for_each(|of_host| of_host.retain(|one| wanted(one.engine, one.conn)));
        self.found.retain(|one| wanted(one.engine, one.conn));
    }

    /// A look-up that has ended since, for a connection that is still wanted.
    pub(super) fn next(&mut self) -> Option<Found> {
        while self.found.is_empty() && self.under_way > 0 {
            let answer = self.receiver.try_recv().ok()?;
            self.under_way -= 1;
            self.answered(&answer);
            self.start_next();
        }
        self.found.pop_front()
    }

    fn answered(&mut self, answer: &Answer) {
        for Waiting { engine, conn, port } in self.waiting.remove(&answer.host).unwrap_or_default() {
            let address = match &answer.address {
                Ok(address) => Ok(SocketAddr::new(*address, port)),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            };
            self.found.push_back(Found { engine, conn, address });
        }
    }

    /// Looks up the next host in line for which somebody still waits.
    fn start_next(&mut self) {
        while let Some(host) = self.line.pop_front() {
            if self.waiting.get(&host).is_none_or(Vec::is_empty) {
                self.waiting.remove(&host);
                continue;
            }
            match self.start(host.clone()) {
                Ok(()) => return,
                Err(error) => self.answered(&Answer { host, address: Err(error) }),
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
        // A resolver refuses these at once: a label has at most 63 bytes.
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
    fn more_hosts_than_are_looked_up_at_once_wait_in_line_and_none_fails_for_it() {
        let mut lookups = Lookups::new(Reactor::new().unwrap().waker().clone(), Family::V4);
        let count = 5 * MOST as u64;
        // Two connections to each host.
        for number in 0..count {
            lookups.begin(key(), ConnId(number), &endpoint(number / 2)).unwrap();
            assert!(lookups.under_way <= MOST);
        }
        assert_eq!(all_found(&mut lookups, count as usize), (0..count).collect::<Vec<_>>());
        assert!(lookups.waiting.is_empty() && lookups.line.is_empty() && lookups.under_way == 0);
    }

    #[test]
    fn a_connection_that_is_not_wanted_any_more_is_passed_over() {
        let mut lookups = Lookups::new(Reactor::new().unwrap().waker().clone(), Family::V4);
        for number in 0..2 * MOST as u64 {
            lookups.begin(key(), ConnId(number), &endpoint(number)).unwrap();
        }
        lookups.forget(key(), ConnId(0));
        lookups.forget(key(), ConnId(MOST as u64 + 3));
        let found = all_found(&mut lookups, 2 * MOST - 2);
        assert!(!found.contains(&0) && !found.contains(&(MOST as u64 + 3)));
        assert!(lookups.next().is_none());
        assert!(lookups.waiting.is_empty() && lookups.line.is_empty());
    }

    #[test]
    fn the_line_has_an_end() {
        let mut lookups = Lookups::new(Reactor::new().unwrap().waker().clone(), Family::V4);
        let refused = (0..).find_map(|number| lookups.begin(key(), ConnId(number), &endpoint(number)).err());
        assert!(refused.unwrap().to_string().contains("host names wait"));
    }
}
