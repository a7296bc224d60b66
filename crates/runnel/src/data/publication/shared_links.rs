//! ROS 1 links to dual nodes, and which of their subscriptions RTPS serves instead.
//!
//! A reader of a node that has a link is held when it is matched, so that the link serves it. It leaves the link when
//! the subscriber requests that, see [`SharedLinkSender`]. A link without statements, such as UDPROS or a link to
//! release 0.1.0, serves its readers permanently: they stay held.

use std::net::IpAddr;
use std::sync::Arc;

use runnel_delivery::{PairId, PairMatch, SharedLinkSender, Statement};
use runnel_io::Reactor;
use runnel_ros1::net::ConnId;
use runnel_rtps::wire::{EntityId, Guid};

use super::leaving::LeavingReader;
use super::link::Link;
use super::{Publication, RtpsWriter, State, WriterGroup};
use crate::ipc;
use crate::rtps::{LostReader, NodeReader, pair_id};
use crate::sync::lock;

impl RtpsWriter {
    /// The number of the next message.
    pub(super) fn next_number(&self) -> u64 {
        self.last_number().unwrap_or(0) + 1
    }

    /// Whether a link's entity id refers to this reader. Another participant may claim the id of the link's dual node.
    pub(super) fn is_meant(&self, reader: Guid, dual_node_id: u64, link: &Link) -> bool {
        let by_link = || self.reader_of(dual_node_id, reader.entity, link.address);
        link.dual_node_id == Some(dual_node_id) && by_link().is_none_or(|by_link| by_link.guid == reader)
    }
}

impl Publication {
    /// Handles a statement of a link's subscriber about the subscriptions that share the link.
    ///
    /// # Errors
    /// If the statement is invalid.
    pub(crate) fn handle_statement(&self, conn: ConnId, statement: &Statement) -> Result<(), String> {
        let state = &mut *lock(&self.state);
        let Some(index) = state.links.iter().position(|link| link.conn == conn) else { return Ok(()) };
        let unknown = || format!("a statement of a kind that is the publisher's: {statement:?}");
        let pair = PairId::from_statement(statement).ok_or_else(unknown)?;
        let Some(writer) = state.writer_of(EntityId::from_number(pair.writer)) else {
            return state.links[index].handle_unknown_writer(&self.reactor, statement, pair);
        };
        // No statement refers to a match that has ended, so lost readers are handled first.
        self.on_readers_lost(state, &writer, (writer.next_number(), writer.take_lost()));
        match *statement {
            Statement::Ask { .. } => self.handle_ask(state, index, (&writer, pair))?,
            Statement::Return { .. } => {
                let lost = state.return_to_link(&self.reactor, index, (&writer, pair));
                self.count_dropped(lost);
                self.count_memory_links(state);
            }
            Statement::Reached { epoch, next, .. } => {
                let Some(shared) = &mut state.links[index].shared else { return Ok(()) };
                if let Some(from) = shared.reached(pair, epoch, next).map_err(|error| error.to_string())? {
                    state.finish_leaving(&self.reactor, &writer, (conn, pair), from);
                }
            }
            Statement::Standby { epoch, .. } => {
                if let Some(shared) = &mut state.links[index].shared {
                    shared.standby(pair.writer, epoch);
                }
            }
            Statement::Needed { .. } => {
                let from = writer.next_number();
                state.links[index].share(&self.reactor, |shared| shared.needed(pair.writer, from));
            }
            _ => return Err(unknown()),
        }
        self.count_channels(state);
        Ok(())
    }

    fn handle_ask(
        &self,
        state: &mut State,
        index: usize,
        (writer, pair): (&RtpsWriter, PairId),
    ) -> Result<(), String> {
        let Link { conn, address, dual_node_id, .. } = state.links[index];
        let Some(dual_node_id) = dual_node_id else { return Ok(()) };
        let reader = writer.reader_of(dual_node_id, EntityId::from_number(pair.reader), address);
        // A reader that leaves an older link of its node leaves this one instead.
        let is_on_link = |reader: NodeReader| {
            reader.is_held
                && writer.is_at(reader.guid, address)
                && !state.is_leaving((writer.id(), reader.guid), conn)
        };
        let is = match reader {
            None => PairMatch::Unmatched,
            Some(reader) if is_on_link(reader) => PairMatch::OnLink,
            Some(_) => PairMatch::OnRtps,
        };
        let Some(shared) = &mut state.links[index].shared else { return Ok(()) };
        let leaves = shared.ask(pair, is).map_err(|error| error.to_string())?;
        if let Some(reader) = reader.filter(|_| leaves) {
            state.leave_link(&self.reactor, index, (writer, reader));
        }
        Ok(())
    }

    /// A reader of a dual node has been matched.
    pub(super) fn serve_matched_reader(&self, group: &WriterGroup, reader: Guid, dual_node_id: u64) {
        let state = &mut *lock(&self.state);
        let Some(writer) = group.writer().cloned() else { return };
        self.on_readers_lost(state, &writer, (writer.next_number(), writer.take_lost()));
        let Some(reader) = writer.reader(dual_node_id, reader) else { return };
        let pair = pair_id(writer.id(), reader.guid.entity);
        if !reader.is_held {
            return state.served_by_rtps(&self.reactor, dual_node_id, (&writer, reader.guid));
        }
        let mut leaving_link = None;
        for (index, link) in state.links.iter_mut().enumerate() {
            let is_enabled = |shared: &mut SharedLinkSender| shared.matched(pair);
            if link.dual_node_id == Some(dual_node_id)
                && link.shared.as_deref_mut().is_some_and(is_enabled)
                && writer.is_at(reader.guid, link.address)
            {
                leaving_link = Some(index);
            }
        }
        if let Some(index) = leaving_link {
            state.leave_link(&self.reactor, index, (&writer, reader));
        }
    }

    /// Adds a writer that has written nothing yet. Readers of nodes with links that it has already matched are held:
    /// the subscriber may not know the writer, and gets messages over the link until it asks.
    pub(super) fn share_links(&self, writer: &RtpsWriter) {
        let State { links, datagram_links, .. } = &mut *lock(&self.state);
        for link in links {
            let Some(dual_node_id) = link.dual_node_id else { continue };
            for reader in writer.link(dual_node_id, link.address) {
                match writer.is_at(reader, link.address) {
                    true => drop(writer.hold(reader)),
                    false => link.declare_on_rtps(&self.reactor, pair_id(writer.id(), reader.entity)),
                }
            }
        }
        for link in datagram_links {
            if link
                .dual_node_id
                .is_some_and(|dual_node_id| !writer.link(dual_node_id, link.address).is_empty())
            {
                link.standby.push(writer.id());
            }
        }
    }

    /// Handles readers that were lost or have ended: their links carry all messages from here on.
    pub(super) fn on_group_readers_lost(&self, group: &WriterGroup) {
        let state = &mut *lock(&self.state);
        if let Some(writer) = group.writer() {
            self.on_readers_lost(state, writer, (writer.next_number(), writer.take_lost()));
        }
    }

    /// Handles readers that have left. The first message that the links carry for them has the number `from`.
    pub(super) fn on_readers_lost(
        &self,
        state: &mut State,
        writer: &RtpsWriter,
        (from, left): (u64, Vec<LostReader>),
    ) {
        let is_any = !left.is_empty();
        for LostReader { guid, dual_node_id, matching, unacknowledged } in left {
            let of_reader = |leaving: &LeavingReader| leaving.is_of(writer.id(), guid);
            let is_leaving = state.leaving.iter().any(|of| of_reader(of) && !of.is_of_match(matching));
            let rematched = writer.reader(dual_node_id, guid);
            if rematched.is_some_and(|reader| !reader.is_held || is_leaving) {
                let lost = state.remove_leaving(|of| of_reader(of) && of.is_of_match(matching));
                self.count_dropped(lost);
                continue;
            }
            state.memory_requests.retain(|(reader, _)| *reader != guid);
            let returned = state.take_returned((writer.id(), guid), unacknowledged);
            let lost = state.serve_by_links(&self.reactor, dual_node_id, (writer, guid), (from, returned));
            self.count_dropped(lost);
            let links =
                state.datagram_links.iter_mut().filter(|link| link.dual_node_id == Some(dual_node_id));
            links.for_each(|link| link.standby.retain(|standby| *standby != writer.id()));
        }
        if is_any {
            self.count_memory_links(state);
            self.count_channels(state);
        }
    }
}

impl State {
    /// Adds a link. RTPS continues to serve those readers of its node that it serves already, and begins to serve those
    /// that leave an older link.
    pub(super) fn share_link(&mut self, reactor: &Reactor, link: &mut Link) {
        let Some(dual_node_id) = link.dual_node_id else { return };
        for writer in self.groups.iter().filter_map(|group| group.writer()) {
            for reader in writer.link(dual_node_id, link.address) {
                link.declare_on_rtps(reactor, pair_id(writer.id(), reader.entity));
            }
        }
        self.leave_new_link(reactor, link);
    }

    /// Adds a UDPROS link. Returns the writers for which it is on standby, since RTPS already serves its node. Where
    /// RTPS serves only some of the node's readers, the link carries all messages for all readers.
    pub(super) fn share_datagrams(
        &mut self,
        topic: &str,
        dual_node_id: Option<u64>,
        address: Option<IpAddr>,
    ) -> Vec<EntityId> {
        let Some(dual_node_id) = dual_node_id else { return Vec::new() };
        let writers: Vec<RtpsWriter> =
            self.groups.iter().filter_map(|group| group.writer().cloned()).collect();
        let mut standby = Vec::new();
        for writer in writers {
            let served = writer.link(dual_node_id, address);
            let is_held_back = |reader: &Guid| !served.contains(reader) && writer.is_at(*reader, address);
            if served.is_empty() {
                continue;
            }
            if writer.readers_on(topic, dual_node_id).iter().any(is_held_back) {
                let of_node = served.iter().filter(|reader| writer.is_at(**reader, address));
                of_node.for_each(|reader| self.hold(&writer, *reader));
            } else {
                standby.push(writer.id());
            }
        }
        standby
    }

    /// A link has ended: RTPS serves the readers of its node from now on, unless another link does. Returns the number
    /// of messages lost with it.
    pub(super) fn unshare_link(
        &mut self,
        reactor: &Reactor,
        conn: ConnId,
        (dual_node_id, address): (Option<u64>, Option<IpAddr>),
    ) -> u64 {
        let lost = self.end_link(reactor, conn, dual_node_id);
        if let Some(dual_node_id) = dual_node_id {
            let writers: Vec<RtpsWriter> =
                self.groups.iter().filter_map(|group| group.writer()).cloned().collect();
            for writer in writers {
                for reader in writer.unlink(dual_node_id, address) {
                    self.served_by_rtps(reactor, dual_node_id, (&writer, reader));
                }
            }
            self.wake_memory_requests(None);
        }
        lost
    }

    /// RTPS serves a reader, for which the links of its node carry nothing any more.
    fn served_by_rtps(
        &mut self,
        reactor: &Reactor,
        dual_node_id: u64,
        (writer, reader): (&RtpsWriter, Guid),
    ) {
        let pair = pair_id(writer.id(), reader.entity);
        let links = self.links.iter_mut().filter(|link| writer.is_meant(reader, dual_node_id, link));
        links.for_each(|link| link.declare_on_rtps(reactor, pair));
        let id = writer.id();
        let others = self.datagram_links.iter_mut().filter(|link| link.dual_node_id == Some(dual_node_id));
        others.filter(|link| !link.standby.contains(&id)).for_each(|link| link.standby.push(id));
    }

    /// Holds a reader: RTPS and shared memory deliver nothing more, and its link carries all messages from the next
    /// one on.
    fn hold(&mut self, writer: &RtpsWriter, reader: Guid) {
        self.end_memory_link((writer.id(), reader));
        drop(writer.hold(reader));
    }

    /// Forgets a writer. Returns the number of lost messages that waited for its readers.
    pub(super) fn forget_writer(&mut self, writer: EntityId) -> u64 {
        for link in &mut self.links {
            if let Some(shared) = &mut link.shared {
                shared.forget_writer(writer.number());
            }
        }
        self.datagram_links.iter_mut().for_each(|link| link.standby.retain(|of| *of != writer));
        self.remove_leaving(|leaving| leaving.is_of_writer(writer))
    }

    /// The subscriber has lost the writer of a reader, which the link serves from here on. Returns the number of lost
    /// messages.
    fn return_to_link(
        &mut self,
        reactor: &Reactor,
        index: usize,
        (writer, pair): (&RtpsWriter, PairId),
    ) -> u64 {
        let (link, from) = (&mut self.links[index], writer.next_number());
        let Link { address, dual_node_id: Some(dual_node_id), .. } = *link else { return 0 };
        let reader = writer.reader_of(dual_node_id, EntityId::from_number(pair.reader), address);
        let Some(reader) = reader.filter(|reader| writer.is_at(reader.guid, address)) else {
            // No reader at the link's address has this id: the link carries all messages, and a reader of another
            // participant stays on RTPS.
            link.share(reactor, |shared| shared.return_to_link(pair, from));
            return 0;
        };
        let unacknowledged = if reader.is_held { Vec::new() } else { writer.hold(reader.guid) };
        let returned = self.take_returned((writer.id(), reader.guid), unacknowledged);
        self.serve_by_links(reactor, dual_node_id, (writer, reader.guid), (from, returned))
    }

    /// An IPC connection requests a held reader: its driver is woken when RTPS serves the reader.
    pub(super) fn add_memory_request(&mut self, reader: Guid, sender: &Arc<ipc::Sender>) {
        self.memory_requests.retain(|(of, _)| *of != reader);
        self.memory_requests.push((reader, Arc::clone(sender)));
    }

    /// Forgets the request of an IPC connection that has ended.
    pub(super) fn remove_memory_requests(&mut self, reader: Guid, sender: Option<&Arc<ipc::Sender>>) {
        let is_meant = |of: &Arc<ipc::Sender>| sender.is_none_or(|sender| Arc::ptr_eq(of, sender));
        self.memory_requests.retain(|(of, by)| *of != reader || !is_meant(by));
    }

    pub(super) fn wake_memory_requests(&mut self, reader: Option<Guid>) {
        let is_meant = |(of, _): &mut (Guid, Arc<ipc::Sender>)| reader.is_none_or(|reader| *of == reader);
        self.memory_requests.extract_if(.., is_meant).for_each(|(_, sender)| sender.wake_driver());
    }

    /// Whether any link carries the messages of a writer group.
    pub(super) fn has_carrying_link(&self, group: &WriterGroup) -> bool {
        let writer = group.writer_id();
        self.links.iter().any(|link| link.carries(writer))
            || self.datagram_links.iter().any(|link| link.carries(writer))
    }

    /// Whether there is any ROS 1 link, including those on standby.
    pub(super) fn has_links(&self) -> bool {
        !(self.links.is_empty() && self.datagram_links.is_empty())
    }

    /// Whether a link carries the messages of any writer group.
    pub(super) fn carries_any(&self, link: &Link) -> bool {
        self.groups.is_empty() && !link.is_excluded
            || self.groups.iter().any(|group| link.carries(group.writer_id()))
    }
}

#[cfg(test)]
mod tests;
