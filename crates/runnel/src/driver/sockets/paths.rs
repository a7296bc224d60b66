//! Links that leave their connections for a session of this host, and come back to them.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Sockets;
use super::socket::Socket;
use crate::driver::effect::Effects;
use crate::driver::table::Key;
use crate::ipc::{Sender, Unread};

/// Reads of one connection before others get their turn.
const READS: usize = 64;

/// What the connection of a service has given of what it is to give.
pub(in crate::driver) enum Given {
    All,
    /// It has ended.
    Never,
    NotYet,
    TooMuch,
}

impl Given {
    /// Why its link is given up.
    pub(in crate::driver) fn why(&self) -> &'static str {
        match self {
            Self::TooMuch => "its connection gave more than is said to have gone there",
            Self::Never => "its connection ended",
            Self::NotYet | Self::All => "its connection did not give what is said to have gone there",
        }
    }
}

impl Sockets {
    /// What a link carries is to go by a session; false if that cannot be yet.
    pub(in crate::driver) fn switch_path(
        &mut self,
        key: Key,
        to: &Arc<Sender>,
        token: u128,
        effects: &mut Effects,
    ) -> bool {
        let reactor = Arc::clone(&self.reactor);
        match self.table.get_mut(key) {
            Some(Socket::Output(output)) => output.publication.go_over(output.conn, to, token),
            Some(Socket::Served(served)) => served.client.go_over(to, token),
            Some(Socket::Called(called)) => {
                let is_switched = called.way.go_over(&reactor, to, token);
                self.flush_request(key, effects);
                is_switched
            }
            _ => true,
        }
    }

    /// A session is over: links that went by it go by their connections again, with what the other end has not read.
    pub(in crate::driver) fn fall_back(
        &mut self,
        from: &Arc<Sender>,
        mut unread: Unread,
        effects: &mut Effects,
    ) {
        for key in self.keys() {
            match self.table.get_mut(key) {
                Some(Socket::Output(output)) => {
                    output.publication.fall_back(output.conn, from, &mut unread);
                }
                Some(Socket::Served(served)) => served.client.fall_back(from, &mut unread),
                Some(Socket::Called(called)) => {
                    called.fall_back(from, &mut unread);
                    self.flush_request(key, effects);
                }
                _ => {}
            }
        }
    }

    /// Bytes of the stream of a service's link that have come by its connection; `None` for a link on which nothing comes.
    pub(in crate::driver) fn received(&self, link: Key) -> Option<u64> {
        match self.get(link)? {
            Socket::Served(served) => Some(served.received),
            Socket::Called(called) => Some(called.received),
            _ => None,
        }
    }

    /// Reads from the connection of a service what it still has of the first bytes of its stream.
    pub(in crate::driver) fn read_up_to(&mut self, link: Key, before: u64, effects: &mut Effects) -> Given {
        for _ in 0..READS {
            let received = self.received(link);
            if received.is_none_or(|received| received >= before) {
                break;
            }
            self.readable(link, effects);
            if self.received(link) == received {
                break;
            }
        }
        match self.received(link).map(|received| received.cmp(&before)) {
            None => Given::Never,
            Some(Ordering::Less) => Given::NotYet,
            Some(Ordering::Equal) => Given::All,
            Some(Ordering::Greater) => Given::TooMuch,
        }
    }

    /// Reads the connection of a link to a publisher as long as it brings something that is owed; true if it owes more.
    pub(in crate::driver) fn read_owed(&mut self, link: Key, effects: &mut Effects) -> bool {
        for _ in 0..READS {
            let Some(Socket::Input(input)) = self.get(link) else { return false };
            let before = input.received;
            if !input.owes() {
                return false;
            }
            self.readable(link, effects);
            if matches!(self.get(link), Some(Socket::Input(input)) if input.received == before) {
                return true;
            }
        }
        matches!(self.get(link), Some(Socket::Input(input)) if input.owes())
    }
}
