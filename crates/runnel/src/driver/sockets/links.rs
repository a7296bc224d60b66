//! Connections of topic links, once both headers are accepted.

use std::io;
use std::sync::Arc;

use runnel_delivery::{FRAME_BYTES, Statement};
use runnel_io::{Interest, Token, clock};
#[cfg(test)]
use runnel_ros1::net::ConnId;
use runnel_ros1::node::{PublisherLink, SubscriberLink};
use runnel_ros1::tcpros::FrameReader;

use super::Sockets;
use super::link_delivery::{LinkFault, LinkPair};
use super::socket::{Input, Output, ServedClient, Socket, Stated};
use crate::data::{LinkInfo, Publication, TopicInput};
use crate::driver::effect::{Effect, Effects, Peer, Source};
use crate::driver::table::Key;

/// From this many missing bytes on, a message is received directly into its own memory.
const DIRECT: usize = 16 * 1024;

impl Sockets {
    /// Begins a link from a publisher: the bytes of its connection are messages. False if there is no such connection.
    pub(in crate::driver) fn join_publisher(
        &mut self,
        key: Key,
        topic: Arc<TopicInput>,
        from: &Arc<LinkInfo>,
        link: &PublisherLink,
    ) -> bool {
        let Some(place) = self.table.get_mut(key) else { return false };
        let Socket::Control(control) = place else { return false };
        topic.join(from);
        let accepted = self.frame_budget.accepted(topic.fixed_len(from));
        let input = Input {
            engine: control.engine,
            conn: link.conn,
            stream: Arc::clone(&control.stream),
            pair: link.delivery.map(|stream| Box::new(LinkPair::new(stream, link.dual_node_id.is_some()))),
            reader: FrameReader::with_accepted_length(accepted).with_statements(link.delivery.is_some()),
            claim: self.frame_budget.claim(control.peer.ip()),
            topic,
            from: Arc::clone(from),
            received: 0,
            local_peer: link.same_host,
        };
        *place = Socket::Input(input);
        true
    }

    /// Adds another link to the publisher of a link, as if it had this connection.
    #[cfg(test)]
    pub(in crate::driver) fn add_second_link(&mut self, key: Key, conn: ConnId) -> Key {
        let Some(Socket::Input(first)) = self.table.get(key) else { panic!("it is no link to a publisher") };
        first.topic.join(&first.from);
        let second = Input {
            engine: first.engine,
            conn,
            stream: Arc::clone(&first.stream),
            pair: Some(Box::new(LinkPair::new(0, true))),
            reader: FrameReader::with_accepted_length(self.frame_budget.accepted(None)).with_statements(true),
            claim: self.frame_budget.claim(first.claim.address()),
            topic: Arc::clone(&first.topic),
            from: Arc::clone(&first.from),
            received: 0,
            local_peer: None,
        };
        self.insert(Socket::Input(second))
    }

    /// Begins a link to a subscriber: the publication sends on its connection. False if there is no such connection.
    pub(in crate::driver) fn join_subscriber(
        &mut self,
        key: Key,
        publication: &Arc<Publication>,
        mut link: SubscriberLink,
    ) -> bool {
        let Some(place) = self.table.get_mut(key) else { return false };
        let Socket::Control(control) = place else { return false };
        let (stream, address) = (Arc::clone(&control.stream), control.peer.ip());
        let mut unsent = std::mem::take(&mut control.unsent).into_bytes();
        unsent.append(&mut link.answer);
        let stated = link.delivery.map(|_| {
            let (topic, subscriber) = (link.topic.clone(), link.subscriber.clone());
            Box::new(Stated { part: Vec::new(), topic, subscriber })
        });
        let output = Output {
            stated,
            engine: control.engine,
            conn: link.conn,
            stream: Arc::clone(&stream),
            publication: Arc::clone(publication),
            local_peer: link.same_host,
        };
        *place = Socket::Output(output);
        let token = Token(key.to_bits());
        let _ = self.reactor.modify(&*stream, token, Interest::Read);
        publication.join(link, (token, stream, address), unsent);
        true
    }

    /// The links of a publication to a node, as far as both ends understand statements.
    pub(in crate::driver) fn links_to_subscriber(
        &self,
        publication: &Arc<Publication>,
        subscriber: &str,
    ) -> Vec<Key> {
        let is_it = |key: &Key| match self.get(*key) {
            Some(Socket::Output(Output { publication: of, stated: Some(stated), .. })) => {
                Arc::ptr_eq(of, publication) && stated.subscriber == subscriber
            }
            _ => false,
        };
        self.keys().into_iter().filter(is_it).collect()
    }

    /// Reads from a publisher once: long messages into their own memory, others through the common buffer.
    pub(super) fn input_readable(&mut self, key: Key, effects: &mut Effects) {
        let mut scratch = self.take_scratch();
        let Some(Socket::Input(input)) = self.table.get_mut(key) else { return };
        let direct = input.reader.receive_buffer().is_some_and(|room| room.len() >= DIRECT);
        let ended = if direct { read_direct(input) } else { read_through(input, &mut scratch) };
        let (has_unsent_report, is_shared) = (input.has_unsent_report(), input.has_share_changed());
        self.scratch = scratch;
        if has_unsent_report {
            effects.push_back(Effect::PublisherReportDue { key });
        }
        if is_shared {
            effects.push_back(Effect::LinkShareChanged { key });
        }
        match ended {
            Ok(()) => {}
            Err(End::Closed) => self.ended(key, None, effects),
            Err(End::Failed(error)) => self.ended(key, Some(error.to_string()), effects),
            Err(End::Misbehaved(fault)) => self.misbehaved(key, fault.to_string(), effects),
        }
    }

    /// Takes messages that arrived behind the header.
    pub(in crate::driver) fn messages(&mut self, key: Key, bytes: &[u8], effects: &mut Effects) {
        let Some(Socket::Input(input)) = self.table.get_mut(key) else { return };
        input.received += bytes.len() as u64;
        if let Err(fault) = cut(input, bytes) {
            self.misbehaved(key, fault.to_string(), effects);
        }
    }

    /// Ends a link after a fault of its peer, and logs it.
    pub(in crate::driver) fn misbehaved(&mut self, key: Key, why: String, effects: &mut Effects) {
        if let Some(Socket::Input(input)) = self.get_mut(key) {
            input.drop_held();
        }
        if let Some((engine, peer)) = self.get(key).and_then(Socket::peer) {
            effects.push_back(Effect::PeerFault { engine, peer, why: why.clone() });
        }
        self.finish(key, Some(why), effects);
    }

    /// Reads statements of a subscriber about the subscriptions that share its link. Subscribers without statements
    /// send no data, so only the end of the connection is read.
    pub(super) fn output_readable(&mut self, key: Key, effects: &mut Effects) {
        let Some(Socket::Output(output)) = self.get(key) else { return };
        let stream = Arc::clone(&output.stream);
        let count = self.receive(key, &stream, effects);
        let Self { table, scratch, .. } = self;
        let Some(Socket::Output(output)) = table.get_mut(key).filter(|_| count > 0) else { return };
        if let Err(why) = output.receive_statements(scratch.get(..count).unwrap_or_default()) {
            self.misbehaved(key, why, effects);
        }
    }

    /// Sends statements to a publisher as far as the connection accepts them.
    pub(in crate::driver) fn send_statements(&mut self, key: Key) {
        let Some(Socket::Input(input)) = self.table.get_mut(key) else { return };
        let Some(is_sent) = input.send_statements() else { return };
        let interest = if is_sent { Interest::Read } else { Interest::Both };
        let _ = self.reactor.modify(&*input.stream, Token(key.to_bits()), interest);
    }
}

impl Output {
    /// Takes statements of the subscriber.
    fn receive_statements(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let Some(stated) = &mut self.stated else { return Ok(()) };
        while !bytes.is_empty() {
            let (part, rest) = bytes.split_at(bytes.len().min(FRAME_BYTES - stated.part.len()));
            stated.part.extend_from_slice(part);
            bytes = rest;
            if stated.part.len() < FRAME_BYTES {
                break;
            }
            let statement = Statement::parse_frame(&stated.part).map_err(|error| error.to_string())?;
            stated.part.clear();
            self.publication.handle_statement(self.conn, &statement)?;
        }
        Ok(())
    }
}

impl Socket {
    /// The engine and the peer of a link that receives.
    pub(super) fn peer(&self) -> Option<(Key, Peer)> {
        match self {
            Self::Input(Input { engine, topic, from, claim, .. }) => {
                let (topic, name) = (Arc::clone(topic), from.publisher.clone());
                let address = Source::Address(claim.address());
                Some((*engine, Peer::Publisher { topic, name, address }))
            }
            Self::DatagramInput(input) => {
                let (topic, name) = (Arc::clone(&input.topic), input.from.publisher.clone());
                Some((input.engine, Peer::Publisher { topic, name, address: Source::Datagrams }))
            }
            Self::Output(Output { engine, stated: Some(stated), .. }) => {
                let Stated { topic, subscriber, .. } = &**stated;
                Some((*engine, Peer::Subscriber { topic: topic.clone(), name: subscriber.clone() }))
            }
            Self::ServedClient(ServedClient { engine, service, name, claim, .. }) => {
                let (service, name) = (service.service.clone(), name.clone());
                Some((*engine, Peer::Client { service, name, address: claim.address() }))
            }
            _ => None,
        }
    }
}

/// Why a link to a publisher ends.
enum End {
    Closed,
    Failed(io::Error),
    Misbehaved(LinkFault),
}

impl From<LinkFault> for End {
    fn from(fault: LinkFault) -> Self {
        Self::Misbehaved(fault)
    }
}

fn read_direct(input: &mut Input) -> Result<(), End> {
    let Some(room) = input.reader.receive_buffer() else { return Ok(()) };
    let count = received(input.stream.recv(room))?;
    input.received += count as u64;
    if let Some(message) = input.reader.advance(count) {
        input.receive_message(message)?;
    }
    input.update_claim();
    Ok(())
}

fn read_through(input: &mut Input, scratch: &mut [u8]) -> Result<(), End> {
    let count = received(input.stream.recv(scratch))?;
    input.received += count as u64;
    cut(input, scratch.get(..count).unwrap_or(&[]))?;
    Ok(())
}

/// Number of received bytes. `Ok(0)` is not the end.
fn received(result: io::Result<Option<usize>>) -> Result<usize, End> {
    match result {
        Ok(Some(0)) => Err(End::Closed),
        Ok(Some(count)) => Ok(count),
        Ok(None) => Ok(0),
        Err(error) => Err(End::Failed(error)),
    }
}

/// Splits bytes into messages and statements, and takes the complete ones.
fn cut(input: &mut Input, mut bytes: &[u8]) -> Result<(), LinkFault> {
    while !bytes.is_empty() {
        if let Some(part) = input.reader.take_item(&mut bytes, || input.topic.spare())? {
            input.receive_item(part)?;
        }
    }
    input.update_claim();
    Ok(())
}

impl Input {
    /// Updates the memory budget after bytes arrived.
    fn update_claim(&mut self) {
        self.claim.update(self.reader.incomplete(), clock::monotonic);
    }
}
