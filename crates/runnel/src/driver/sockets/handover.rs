//! Handover of links between their connections and IPC connections.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Sockets;
use super::socket::Socket;
use crate::data::SwitchOutcome;
use crate::driver::effect::Effects;
use crate::driver::table::Key;
use crate::ipc::Sender;

/// Maximum number of reads of one connection before the others are read.
const READS: usize = 64;

/// Progress of a service's connection towards the byte at which the channel continues.
pub(in crate::driver) enum StreamProgress {
    All,
    /// The connection has ended.
    Never,
    NotYet,
    TooMuch,
}

impl StreamProgress {
    /// Why the link is given up.
    pub(in crate::driver) fn why(&self) -> &'static str {
        match self {
            Self::TooMuch => "its connection delivered more than its peer stated",
            Self::Never => "its connection ended",
            Self::NotYet | Self::All => "its connection did not deliver what its peer stated",
        }
    }
}

impl Sockets {
    /// Switches a link to an IPC connection.
    pub(in crate::driver) fn switch_path(
        &mut self,
        key: Key,
        to: &Arc<Sender>,
        token: u128,
        effects: &mut Effects,
    ) -> SwitchOutcome {
        let reactor = Arc::clone(&self.reactor);
        match self.table.get_mut(key) {
            Some(Socket::Output(output)) => output.publication.switch_link_to_memory(output.conn, to, token),
            Some(Socket::ServedClient(served)) => served.client.switch_to_memory(to, token),
            Some(Socket::CalledService(called)) => {
                let outcome = called.path.switch_to_memory(&reactor, to, token);
                self.flush_request(key, effects);
                outcome
            }
            _ => SwitchOutcome::NotNeeded,
        }
    }

    /// Moves the links of a closed IPC connection back to their own connections, with what the peer has not read.
    pub(in crate::driver) fn fall_back(&mut self, from: &Arc<Sender>, effects: &mut Effects) {
        for key in self.keys() {
            match self.table.get_mut(key) {
                Some(Socket::Output(output)) => {
                    output.publication.fall_back_to_connection(output.conn, from);
                }
                Some(Socket::ServedClient(served)) => served.client.fall_back(from),
                Some(Socket::CalledService(called)) => {
                    called.fall_back(from);
                    self.flush_request(key, effects);
                }
                _ => {}
            }
        }
    }

    /// Bytes of a service link's stream received by its connection; `None` for a link that receives nothing.
    pub(in crate::driver) fn received(&self, link: Key) -> Option<u64> {
        match self.get(link)? {
            Socket::ServedClient(served) => Some(served.received),
            Socket::CalledService(called) => Some(called.received),
            _ => None,
        }
    }

    /// Reads the connection of a service link up to a byte of its stream.
    pub(in crate::driver) fn read_up_to(
        &mut self,
        link: Key,
        before: u64,
        effects: &mut Effects,
    ) -> StreamProgress {
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
            None => StreamProgress::Never,
            Some(Ordering::Less) => StreamProgress::NotYet,
            Some(Ordering::Equal) => StreamProgress::All,
            Some(Ordering::Greater) => StreamProgress::TooMuch,
        }
    }

    /// Reads the connection of a link to a publisher while it delivers messages of before the handover; true if some
    /// are still missing.
    pub(in crate::driver) fn read_owed(&mut self, link: Key, effects: &mut Effects) -> bool {
        for _ in 0..READS {
            let Some(Socket::Input(input)) = self.get(link) else { return false };
            let before = input.received;
            if !input.awaits_connection() {
                return false;
            }
            self.readable(link, effects);
            if matches!(self.get(link), Some(Socket::Input(input)) if input.received == before) {
                return true;
            }
        }
        matches!(self.get(link), Some(Socket::Input(input)) if input.awaits_connection())
    }
}
