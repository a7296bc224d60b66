//! Connections that carry messages, once both headers are good.

use std::io;
use std::sync::Arc;

use runnel_io::{Interest, Token, clock};
use runnel_ros1::node::{PublisherLink, SubscriberLink};
use runnel_ros1::tcpros::FrameReader;
use runnel_ros1::told::told;

use super::Driver;
use super::sessions::{LinkFault, LinkPair};
use super::socket::{Input, Output, Socket};
use super::table::Key;
use crate::data::{LinkInfo, TopicInput};
use crate::log_output::console;

/// Of a message under way at least this much is received into its own memory instead of through the common buffer.
const DIRECT: usize = 16 * 1024;

impl Driver {
    /// A link to a publisher stands: from now on its bytes are messages.
    pub(super) fn join_publisher(&mut self, engine: Key, link: PublisherLink) {
        let Some(key) = self.key_of(engine, link.conn) else { return };
        let Some(topic) = self.node_of(engine).and_then(|node| node.inputs.get(&link.topic).cloned()) else {
            return;
        };
        let from = LinkInfo {
            publisher: link.publisher,
            type_name: link.type_name,
            md5: link.md5,
            definition: link.definition,
            latching: link.latching,
            stats: link.stats,
            origin: link.origin,
            ..LinkInfo::default()
        };
        let from = Arc::new(from);
        let (meeting, has_statements) = (link.same_host, link.has_statements);
        let pair = meeting.filter(|_| has_statements).map(|peer| Box::new(LinkPair::new(peer.token)));
        if let Some(number) = link.datagrams {
            return self.join_datagrams(key, number, topic, from);
        }
        let Some(place) = self.sockets.get_mut(key) else { return };
        let Socket::Control(control) = place else { return };
        topic.join(&from);
        let accepted = self.frame_budget.accepted(topic.fixed_len(&from));
        let joined = Arc::clone(&from);
        console::debug!("topic {}: publisher [{}] joined", link.topic, from.publisher);
        let input = Input {
            engine,
            conn: link.conn,
            stream: Arc::clone(&control.stream),
            pair,
            reader: FrameReader::accepting(accepted).with_statements(has_statements),
            claim: self.frame_budget.claim(control.peer.ip()),
            topic,
            from,
            received: 0,
            meeting,
        };
        *place = Socket::Input(input);
        self.ros1_joined(&joined);
        self.messages(key, &link.rest);
        self.meet(key, meeting);
    }

    /// A link to a subscriber stands: the publication sends on it.
    pub(super) fn join_subscriber(&mut self, engine: Key, mut link: SubscriberLink) {
        if link.datagrams.is_some() {
            return self.join_datagram_subscriber(engine, link);
        }
        let Some(key) = self.key_of(engine, link.conn) else { return };
        let publication = self.node_of(engine).and_then(|node| node.outputs.get(&link.topic).cloned());
        let Some(publication) = publication else { return };
        let Some(place) = self.sockets.get_mut(key) else { return };
        let Socket::Control(control) = place else { return };
        let (stream, meeting) = (Arc::clone(&control.stream), link.same_host);
        let mut unsent = std::mem::take(&mut control.unsent).into_bytes();
        unsent.append(&mut link.answer);
        let output = Output {
            engine,
            conn: link.conn,
            stream: Arc::clone(&stream),
            publication: Arc::clone(&publication),
            meeting,
        };
        console::debug!("topic {}: subscriber [{}] joined", link.topic, link.subscriber);
        *place = Socket::Output(output);
        let token = Token(key.to_bits());
        let _ = self.reactor.modify(&*stream, token, Interest::Read);
        publication.join(link, token, stream, unsent);
        self.meet(key, meeting);
    }

    /// Reads once from a publisher: long messages into their own memory, all else through the common buffer.
    pub(super) fn input_readable(&mut self, key: Key) {
        let mut scratch = self.take_scratch();
        let Some(Socket::Input(input)) = self.sockets.get_mut(key) else { return };
        let direct = input.reader.room().is_some_and(|room| room.len() >= DIRECT);
        let ended = if direct { read_direct(input) } else { read_through(input, &mut scratch) };
        self.scratch = scratch;
        self.settle_link(key);
        if let Err(why) = ended {
            self.input_ended(key, &why);
        }
    }

    /// Messages that came behind the header.
    fn messages(&mut self, key: Key, bytes: &[u8]) {
        let Some(Socket::Input(input)) = self.sockets.get_mut(key) else { return };
        input.received += bytes.len() as u64;
        if let Err(fault) = cut(input, bytes) {
            self.misbehaved(key, &fault.to_string());
        }
    }

    fn input_ended(&mut self, key: Key, end: &End) {
        match end {
            End::Closed => self.ended(key, None),
            End::Failed(error) => self.ended(key, Some(&error.to_string())),
            End::Misbehaved(fault) => self.misbehaved(key, &fault.to_string()),
        }
    }

    /// What comes by a link makes no sense: it ends, and the log says whose it was.
    pub(super) fn misbehaved(&mut self, key: Key, why: &str) {
        if let Some(Socket::Input(input)) = self.sockets.get_mut(key) {
            input.lose_held();
        }
        let (engine, who) = match self.sockets.get(key) {
            Some(Socket::Input(input)) => {
                let (topic, address) = (self.topic_of(input.engine, &input.topic), input.claim.address());
                let publisher = told(&input.from.publisher);
                (input.engine, format!("topic {topic}: publisher [{publisher}] at {address}"))
            }
            Some(Socket::Served(served)) => {
                let (service, address) = (&served.service.service, served.claim.address());
                (served.engine, format!("service {service}: client [{}] at {address}", told(&served.name)))
            }
            _ => return self.ended(key, Some(why)),
        };
        self.warn_of_peer(engine, format_args!("{who}: {why}"));
        self.ended(key, Some(why));
    }

    /// The name of a topic that a node subscribes to.
    pub(super) fn topic_of(&self, engine: Key, input: &Arc<TopicInput>) -> &str {
        let node = self.engines.get(engine).and_then(|slot| self.nodes.get(slot.node?.0));
        let mut topics = node.into_iter().flat_map(|node| &node.inputs);
        topics.find(|(_, other)| Arc::ptr_eq(other, input)).map_or("", |(topic, _)| topic)
    }

    /// A subscriber has nothing to say; this is how its end shows.
    pub(super) fn output_readable(&mut self, key: Key) {
        if let Some(Socket::Output(output)) = self.sockets.get(key) {
            self.receive(key, &Arc::clone(&output.stream), |_, _, _| {});
        }
    }
}

/// Why a link to a publisher is over.
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
    let Some(room) = input.reader.room() else { return Ok(()) };
    let count = received(input.stream.recv(room))?;
    input.received += count as u64;
    if let Some(message) = input.reader.arrived(count) {
        input.hear_message(message)?;
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

/// How many bytes came; none is no end.
fn received(result: io::Result<Option<usize>>) -> Result<usize, End> {
    match result {
        Ok(Some(0)) => Err(End::Closed),
        Ok(Some(count)) => Ok(count),
        Ok(None) => Ok(0),
        Err(error) => Err(End::Failed(error)),
    }
}

/// Cuts bytes into messages and hands those on that are complete.
fn cut(input: &mut Input, mut bytes: &[u8]) -> Result<(), LinkFault> {
    while !bytes.is_empty() {
        if let Some(part) = input.reader.take_part(&mut bytes, || input.topic.spare())? {
            input.hear_part(part)?;
        }
    }
    input.update_claim();
    Ok(())
}

impl Input {
    /// After bytes have come.
    fn update_claim(&mut self) {
        self.claim.update(self.reader.incomplete(), clock::monotonic);
    }
}
