//! Sockets of the process, and the reactor that watches them: ROS 1 connections and datagram sockets, and the
//! descriptors of other components.
//!
//! Messages of ROS 1 links go to their subscriptions at once. Everything else is an [`Effect`] for the event loop.

mod control;
mod datagrams;
mod handover;
mod incomplete;
mod joining;
mod last_messages;
mod link_channel;
mod link_delivery;
mod link_returns;
mod link_share;
mod links;
mod listeners;
mod lookups;
mod participant;
mod services;
mod socket;

use std::io;
use std::sync::Arc;

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_io::lookup::Family;
use runnel_io::{Interest, Listener, Reactor, Stream, Token};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::Port;

use super::effect::{Effect, Effects};
use super::limits::SCRATCH;
use super::table::{Key, Table};
use crate::log_output::throttle::Throttle;
use crate::settings::environment::Settings;
use crate::settings::receive_budget::FrameBudget;
pub(super) use handover::StreamProgress;
pub(super) use joining::{DualNode, JoiningSubscribers};
#[cfg(test)]
pub(super) use last_messages::MAX_IN_TRANSIT;
#[cfg(test)]
pub(super) use link_returns::LinkReturns;
pub(super) use link_share::{LinkShare, SubscriptionId, id_of};
use lookups::Lookups;
pub(super) use socket::{CalledService, Control, DatagramInput, DatagramOutput, Input, Output, Socket};

/// See the module's documentation.
pub(super) struct Sockets {
    pub(super) reactor: Arc<Reactor>,
    scratch: Vec<u8>,
    table: Table<Socket>,
    /// Keys of engine connections.
    conns: SortedMap<(Key, ConnId), Key>,
    /// Links that begin once discovery has delivered the readers of their nodes.
    pub(super) joining: JoiningSubscribers,
    lookups: Lookups,
    /// IP family for resolved host names.
    family: Family,
    /// Listeners that wait until file descriptors are free.
    paused: Vec<Key>,
    /// Limits log lines about that.
    accepting: Throttle,
    /// Memory of incomplete ROS 1 messages, and the time of the next check of their progress.
    frame_budget: FrameBudget,
    frame_check: Option<Instant>,
}

/// Received bytes for an engine.
pub(super) struct Received {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    count: usize,
}

impl Sockets {
    pub(super) fn new(reactor: Arc<Reactor>, settings: &Settings) -> Self {
        Self {
            lookups: Lookups::new(reactor.waker().clone(), settings.family),
            family: settings.family,
            reactor,
            scratch: Vec::new(),
            table: Table::default(),
            conns: SortedMap::new(),
            joining: JoiningSubscribers::default(),
            paused: Vec::new(),
            accepting: Throttle::default(),
            frame_budget: FrameBudget::new(settings.receive),
            frame_check: None,
        }
    }

    pub(super) fn get(&self, key: Key) -> Option<&Socket> {
        self.table.get(key)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Socket> {
        self.table.get_mut(key)
    }

    pub(super) fn insert(&mut self, socket: Socket) -> Key {
        self.table.insert_with(|_| socket)
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        self.table.keys()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Socket> {
        self.table.iter()
    }

    /// Key of an engine's connection.
    pub(super) fn key_of(&self, engine: Key, conn: ConnId) -> Option<Key> {
        self.conns.get(&(engine, conn)).copied()
    }

    /// Adds a listener of an engine.
    pub(super) fn listen(&mut self, engine: Key, listener: Listener, port: Port) -> io::Result<()> {
        let key = self.insert(Socket::Listener { listener, engine, port });
        self.watch(key, Interest::Read)
    }

    /// Reads from a ready socket. Returns received bytes for the event loop to pass to their engine.
    pub(super) fn readable(&mut self, key: Key, effects: &mut Effects) -> Option<Received> {
        match self.table.get(key)? {
            Socket::Listener { .. } => self.accept(key, effects),
            Socket::Control(_) => return self.control_readable(key, effects),
            Socket::Input(_) => self.input_readable(key, effects),
            Socket::Output(_) => self.output_readable(key, effects),
            Socket::DatagramInput(_) => self.datagram_input_readable(key, effects),
            Socket::DatagramOutput(_) => self.datagram_output_readable(key, effects),
            Socket::ServedClient(_) => self.served_readable(key, effects),
            Socket::CalledService(_) => self.called_readable(key, effects),
            _ => {}
        }
        None
    }

    /// Writes to a socket that accepts more.
    pub(super) fn writable(&mut self, key: Key, effects: &mut Effects) {
        match self.table.get(key) {
            Some(Socket::Control(_)) => self.control_writable(key, effects),
            Some(Socket::Input(_)) => self.send_statements(key),
            Some(Socket::Output(output)) => output.publication.writable(output.conn),
            Some(Socket::DatagramOutput(_)) => self.datagram_output_refused(key, effects),
            Some(Socket::ServedClient(served)) => served.client.writable(),
            Some(Socket::CalledService(_)) => self.flush_request(key, effects),
            _ => {}
        }
    }

    fn watch(&self, key: Key, interest: Interest) -> io::Result<()> {
        let token = Token(key.to_bits());
        match self.table.get(key) {
            Some(Socket::Listener { listener, .. }) => self.reactor.add(listener, token, interest),
            Some(Socket::Control(control)) => self.reactor.add(&*control.stream, token, interest),
            _ => Ok(()),
        }
    }

    /// Closes and removes a socket.
    pub(super) fn remove(&mut self, key: Key, effects: &mut Effects) {
        let Some(mut socket) = self.table.remove(key) else { return };
        if let Socket::Input(input) = &mut socket {
            input.finish_delivery();
            effects.extend(input.unshared());
        }
        match &socket {
            Socket::Input(Input { topic, from, .. })
            | Socket::DatagramInput(DatagramInput { topic, from, .. }) => topic.leave(from),
            Socket::Output(Output { publication, conn, .. })
            | Socket::DatagramOutput(DatagramOutput { publication, conn, .. }) => publication.leave(*conn),
            Socket::ServedClient(served) => {
                let _ = self.reactor.remove(&*served.stream);
                served.service.forget_client(&served.client);
            }
            _ => {}
        }
        if let Some(of) = socket.conn() {
            self.conns.remove(&of);
        }
        effects.extend(socket.local_peer().map(|_| Effect::LocalLinkClosed { key }));
    }

    /// Closes all sockets of a removed engine.
    pub(super) fn remove_engine(&mut self, engine: Key, effects: &mut Effects) {
        for key in self.keys() {
            if self.get(key).and_then(Socket::engine) == Some(engine) {
                self.remove(key, effects);
            }
        }
        self.lookups.forget_engine(engine);
    }

    /// Handles the end of a connection. The IPC connection of a link may still have records.
    fn ended(&mut self, key: Key, why: Option<String>, effects: &mut Effects) {
        match self.get(key) {
            Some(Socket::Control(_)) => self.finish(key, why, effects),
            Some(_) => effects.push_back(Effect::LinkEnded { key, why }),
            None => {}
        }
    }

    /// Removes an ended connection and informs its engine.
    pub(super) fn finish(&mut self, key: Key, why: Option<String>, effects: &mut Effects) {
        let Some((engine, conn)) = self.get(key).and_then(Socket::conn) else { return };
        // The engine no longer knows a connection that it has closed.
        let is_forgotten = matches!(self.get(key), Some(Socket::Control(Control { closing: true, .. })));
        self.remove(key, effects);
        if !is_forgotten {
            effects.push_back(Effect::Closed { engine, conn, why });
        }
    }

    /// Reads from a stream once. Returns the number of bytes in the buffer.
    fn receive(&mut self, key: Key, stream: &Stream, effects: &mut Effects) -> usize {
        self.prepare_scratch();
        match stream.recv(&mut self.scratch) {
            Ok(Some(0)) => self.ended(key, None, effects),
            Ok(Some(count)) => return count,
            Ok(None) => {}
            Err(error) => self.ended(key, Some(error.to_string()), effects),
        }
        0
    }

    /// The received bytes for an engine.
    pub(super) fn bytes(&self, received: &Received) -> &[u8] {
        self.scratch.get(..received.count).unwrap_or_default()
    }

    /// Allocates the read buffer at first use.
    fn prepare_scratch(&mut self) {
        if self.scratch.is_empty() {
            // Newly zeroed memory takes no pages until it is used; resizing would.
            self.scratch = vec![0; SCRATCH];
        }
    }

    /// Takes the read buffer, for use while this component is borrowed. The caller returns it.
    fn take_scratch(&mut self) -> Vec<u8> {
        if self.scratch.is_empty() {
            self.prepare_scratch();
        }
        std::mem::take(&mut self.scratch)
    }
}
