//! Requests for shared memory: the receiving end of a link or pair asks its peer to send by their IPC connection.

use runnel_core::local_peer::{LocalIdentity, LocalPeerId};
use runnel_delivery::Statement;
use runnel_io::Token;

use super::{Entry, IpcConnections, LocalLink};
use crate::data::SwitchOutcome;
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::table::{Key, Owner};

/// Role of a link's peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum OtherEnd {
    Publisher,
    Service,
    /// A subscriber or client, which sends the request itself.
    Receiver,
    /// A ROS 2 endpoint.
    Endpoint,
}

impl IpcConnections {
    /// Identity of this process for one more node on this host. Each node gets a secret of its own, since each counts
    /// its links.
    pub(crate) fn same_host(&mut self) -> Option<LocalIdentity> {
        self.listen_for_processes();
        let identity = &mut self.settings.as_mut()?.identity;
        identity.secret = identity.secret.wrapping_add(1);
        Some(identity.clone())
    }

    /// Id by which other processes of this host find this one.
    pub(in crate::driver) fn own_process(&mut self) -> Option<u128> {
        self.listen_for_processes();
        self.settings.as_ref().map(|settings| settings.identity.process)
    }

    /// Adds a link or pair whose peer may be on this host.
    pub(in crate::driver) fn add_local_link(
        &mut self,
        key: Key,
        other_end: OtherEnd,
        peer: LocalPeerId,
        effects: &mut Effects,
    ) {
        let LocalPeerId { process, token } = peer;
        self.links.insert(token, key);
        self.local_links.insert(key, LocalLink { peer, other_end });
        match self.ipc_connection_with(process) {
            Some(ipc_connection) => self.request_memory(ipc_connection, key, effects),
            None if self.peers.contains_key(&process) => {}
            None => self.connect_process(process, effects),
        }
    }

    /// Removes a pair.
    pub(in crate::driver) fn remove_pair(&mut self, key: Key, effects: &mut Effects) {
        if let Some(Entry::SampleOutput(output)) = self.entries.remove(key) {
            output.publication.leave_memory(output.pair());
        }
        self.remove_local_link(key, effects);
    }

    /// Removes a link.
    pub(in crate::driver) fn remove_local_link(&mut self, key: Key, effects: &mut Effects) {
        let Some(LocalLink { peer: LocalPeerId { process, token }, .. }) = self.local_links.remove(&key)
        else {
            return;
        };
        // Another link may have the token by now.
        if self.links.get(&token) == Some(&key) {
            self.links.remove(&token);
        }
        self.shorten_teardown(process, effects);
    }

    /// Requests shared memory for all links and pairs with the process of a new IPC connection.
    pub(super) fn on_established(&mut self, ipc_connection: Key, process: u128, effects: &mut Effects) {
        effects.cancel(Deadline::Process(process));
        let is_of_process = |key: &Key| self.peer_of(*key).is_some_and(|peer| peer.process == process);
        let links: Vec<Key> = self.links.values().copied().filter(is_of_process).collect();
        links.into_iter().for_each(|key| self.request_memory(ipc_connection, key, effects));
    }

    /// Requests shared memory for a link or pair, if this end receives.
    pub(super) fn request_memory(&mut self, ipc_connection: Key, key: Key, effects: &mut Effects) {
        let Some(LocalLink { peer: LocalPeerId { token, .. }, other_end }) = self.local_links.get(&key)
        else {
            return;
        };
        let token = *token;
        let samples = match (self.entries.get_mut(key), other_end) {
            (Some(Entry::SampleOutput(_)), _) => {
                return self.switch_if_requested(ipc_connection, token, effects);
            }
            (Some(Entry::SampleInput(input)), _) if input.memory.delivery.is_some() => {
                return input.requests_later = true;
            }
            (Some(Entry::SampleInput(input)), _) => Some(input.waits_for_user()),
            (_, OtherEnd::Publisher) => {
                return effects.push_back(Effect::RequestFromPublisher { ipc_connection, link: key });
            }
            (_, OtherEnd::Service) => None,
            (_, OtherEnd::Receiver | OtherEnd::Endpoint) => return,
        };
        let Some(ipc_connection) = self.open.get_mut(ipc_connection) else { return };
        let asked = match samples {
            Some(waits_for_user) => ipc_connection.sender.ask_samples(token, waits_for_user),
            None => ipc_connection.sender.ask(token),
        };
        if !asked {
            ipc_connection.unsent_requests.push(token);
        }
    }

    /// Reports the position of a link to its publisher, and requests shared memory.
    pub(in crate::driver) fn request_from_publisher(
        &mut self,
        ipc_connection: Key,
        link: Key,
        reached: &Statement,
    ) {
        let token = self.peer_of(link).map(|peer| peer.token);
        let (Some(ipc_connection), Some(token)) = (self.open.get_mut(ipc_connection), token) else { return };
        if !ipc_connection.sender.report_reached(token, reached) || !ipc_connection.sender.ask(token) {
            ipc_connection.unsent_requests.push(token);
        }
    }

    /// The peer requests shared memory for a link of this process: switches it now, or once that is possible.
    pub(in crate::driver) fn switch_to_memory(
        &mut self,
        ipc_connection: Key,
        token: u128,
        effects: &mut Effects,
    ) {
        let Some(key) = self.links.get(&token).copied() else { return };
        let process = self.peer_of(key).map(|peer| peer.process);
        let Some(open) = self.open.get_mut(ipc_connection).filter(|open| process == Some(open.process))
        else {
            return;
        };
        if key.owner() == Owner::Sockets {
            return effects.push_back(Effect::SwitchPath { ipc_connection, link: key, token });
        }
        if let Some(Entry::SampleOutput(output)) = self.entries.get_mut(key) {
            let how = (Token(key.to_bits()), output.waits_for_user);
            let outcome = output.publication.switch_to_memory(output.pair(), how, &open.sender, token);
            if outcome == SwitchOutcome::Later {
                self.defer_switch(ipc_connection, token);
            }
        }
    }

    /// Defers a switch for want of space in the ring, or until a connection header has arrived.
    pub(in crate::driver) fn defer_switch(&mut self, ipc_connection: Key, token: u128) {
        if let Some(open) = self.open.get_mut(ipc_connection)
            && !open.pending_switches.contains(&token)
        {
            open.pending_switches.push(token);
        }
    }

    /// Handles free space in a ring: sends deferred requests and reports, and does deferred switches. Returns the links
    /// that wait to send.
    pub(in crate::driver) fn on_ring_space(
        &mut self,
        ipc_connection: Key,
        effects: &mut Effects,
    ) -> Vec<Token> {
        let Some(open) = self.open.get_mut(ipc_connection) else { return Vec::new() };
        let (unsent_requests, pending_switches) =
            (std::mem::take(&mut open.unsent_requests), std::mem::take(&mut open.pending_switches));
        let (unsent_reports, waiting) = (std::mem::take(&mut open.unsent_reports), open.sender.ready_links());
        for key in unsent_reports {
            match key.owner() {
                Owner::Sockets => effects.push_back(Effect::PublisherReportDue { key }),
                Owner::IpcConnections => self.send_report(key),
            }
        }
        for token in unsent_requests {
            if let Some(key) = self.links.get(&token).copied() {
                self.request_memory(ipc_connection, key, effects);
            }
        }
        pending_switches.into_iter().for_each(|token| self.switch_to_memory(ipc_connection, token, effects));
        waiting
    }

    /// Shared memory has space for a pair's messages again.
    pub(in crate::driver) fn writable(&mut self, key: Key) {
        if let Some(Entry::SampleOutput(output)) = self.entries.get(key) {
            output.publication.memory_writable(output.pair());
        }
    }

    /// Sends the report of a pair to its writer, now or when the ring has space.
    pub(super) fn send_report(&mut self, key: Key) {
        let Some(Entry::SampleInput(input)) = self.entries.get_mut(key) else { return };
        if let Some(reached) = input.memory.unsent_report.take()
            && !self.send_reached(key, &reached)
            && let Some(Entry::SampleInput(input)) = self.entries.get_mut(key)
        {
            input.memory.unsent_report = Some(reached);
        }
    }

    /// Sends the position of a link to its publisher; false if it must be sent again, which [`IpcConnections::on_ring_space`]
    /// requests.
    pub(in crate::driver) fn send_reached(&mut self, key: Key, reached: &Statement) -> bool {
        let Some(peer) = self.peer_of(key) else { return true };
        let ipc_connection = self.ipc_connection_with(peer.process);
        let Some(open) = ipc_connection.and_then(|ipc_connection| self.open.get_mut(ipc_connection)) else {
            return true;
        };
        let is_sent = open.sender.report_reached(peer.token, reached);
        if !is_sent && !open.unsent_reports.contains(&key) {
            open.unsent_reports.push(key);
        }
        is_sent
    }
}
