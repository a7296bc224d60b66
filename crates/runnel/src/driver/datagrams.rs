//! Datagram sockets: opened when an engine asks, they carry messages once a link of UDPROS stands.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use runnel_io::{Datagrams, Interest, Token, clock};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::{Port, SubscriberLink};
use runnel_ros1::udpros::Reassembler;

use super::Driver;
use super::socket::{DatagramInput, DatagramOutput, Opened, Socket};
use super::table::Key;
use crate::data::{LinkInfo, TopicInput};

/// Bytes of datagrams that the kernel is asked to hold for a link: a burst that comes while nobody reads.
const RECEIVE_ROOM: usize = 4 << 20;

/// Datagrams received from one socket before others get their turn.
const BATCH: usize = 64;

impl Driver {
    /// Opens a datagram socket: to one peer, or for the datagrams of any.
    pub(super) fn open_datagram(&mut self, engine: Key, conn: ConnId, to: Option<SocketAddr>) {
        let opened = match to {
            Some(peer) => Datagrams::connect(peer),
            None => self.bind_datagrams(engine),
        };
        let socket = match opened {
            Ok(socket) => Arc::new(socket),
            Err(error) => return self.not_connected(engine, conn, &error),
        };
        let port = socket.address().port();
        let key = self.sockets.insert_with(|_| Socket::Opened(Opened { engine, conn, socket }));
        if let Some(slot) = self.engines.get_mut(engine) {
            slot.conns.insert(conn, key);
        }
        self.with_engine(engine, |engine, now| {
            engine.as_node().map(|node| node.handle_bound(now, conn, port))
        });
    }

    /// Where the node accepts connections, publishers send it datagrams.
    fn bind_datagrams(&self, engine: Key) -> io::Result<Datagrams> {
        let of_node = |socket: &Socket| match socket {
            Socket::Listener { listener, engine: of, port: Port::Tcpros } if *of == engine => {
                Some(listener.address().ip())
            }
            _ => None,
        };
        let ip: Option<IpAddr> = self.sockets.iter().find_map(of_node);
        let socket = Datagrams::bind(ip.ok_or(io::ErrorKind::AddrNotAvailable)?)?;
        socket.set_receive_room(RECEIVE_ROOM)?;
        Ok(socket)
    }

    /// A link to a publisher stands: from now on the socket's datagrams with this number are messages.
    pub(super) fn join_datagrams(
        &mut self,
        key: Key,
        number: u32,
        topic: Arc<TopicInput>,
        from: Arc<LinkInfo>,
    ) {
        let Some(place) = self.sockets.get_mut(key) else { return };
        let Socket::Opened(Opened { engine, conn, socket }) = place else { return };
        let (engine, conn, socket) = (*engine, *conn, Arc::clone(socket));
        let added = self.reactor.add(&*socket, Token(key.to_bits()), Interest::Read);
        topic.join(&from);
        let accepted = self.frame_budget.accepted(topic.fixed_len(&from));
        let (reassembler, joined) = (Reassembler::new(number).accepting(accepted), Arc::clone(&from));
        // Datagrams do not prove where they are from.
        let claim = self.frame_budget.claim(Ipv4Addr::UNSPECIFIED.into());
        *place =
            Socket::DatagramInput(DatagramInput { engine, conn, socket, reassembler, claim, topic, from });
        self.ros1_joined(&joined);
        if let Err(error) = added {
            self.ended(key, Some(&error.to_string()));
        }
    }

    /// A link to a subscriber stands: the publication sends its datagrams.
    pub(super) fn join_datagram_subscriber(&mut self, engine: Key, mut link: SubscriberLink) {
        let (Some(key), Some(fragmenter)) = (self.key_of(engine, link.conn), link.datagrams.take()) else {
            return;
        };
        let publication = self.node_of(engine).and_then(|node| node.outputs.get(&link.topic).cloned());
        let Some(publication) = publication else { return };
        let Some(place) = self.sockets.get_mut(key) else { return };
        let Socket::Opened(Opened { conn, socket, .. }) = place else { return };
        let (conn, socket, token) = (*conn, Arc::clone(socket), Token(key.to_bits()));
        let added = self.reactor.add(&*socket, token, Interest::Read);
        let (to, of) = (Arc::clone(&socket), Arc::clone(&publication));
        *place = Socket::DatagramOutput(DatagramOutput { engine, conn, socket, publication: of });
        match added {
            Ok(()) => publication.join_datagrams(link, fragmenter, token, to),
            Err(error) => self.ended(key, Some(&error.to_string())),
        }
    }

    /// Receives until a message is whole: a socket that has more is told again.
    pub(super) fn datagram_input_readable(&mut self, key: Key) {
        let mut scratch = self.take_scratch();
        let Some(Socket::DatagramInput(input)) = self.sockets.get_mut(key) else { return };
        let received = receive_message(input, &mut scratch);
        input.update_claim();
        self.scratch = scratch;
        if let Err(error) = received {
            self.ended(key, Some(&error.to_string()));
        }
    }

    /// A subscriber has nothing to say, but its host does when it is gone, and the network when it lost something.
    pub(super) fn datagram_output_readable(&mut self, key: Key) {
        let Some(Socket::DatagramOutput(output)) = self.sockets.get(key) else { return };
        let Err(error) = output.socket.recv(&mut [0; 16]) else { return };
        let refused = error.kind() == io::ErrorKind::ConnectionRefused;
        if output.publication.undelivered(output.conn, refused, clock::monotonic()) {
            self.ended(key, Some(&error.to_string()));
        }
    }

    /// The publication has met the end of a link, and asked for this call.
    pub(super) fn datagram_output_refused(&mut self, key: Key) {
        let Some(Socket::DatagramOutput(output)) = self.sockets.get(key) else { return };
        if output.publication.is_refused(output.conn) {
            self.ended(key, Some("the subscriber takes no more datagrams"));
        }
    }
}

fn receive_message(input: &mut DatagramInput, scratch: &mut [u8]) -> io::Result<()> {
    let DatagramInput { socket, reassembler, topic, from, .. } = input;
    for _ in 0..BATCH {
        let Some(count) = socket.recv(scratch)? else { return Ok(()) };
        let taken = reassembler.take(scratch.get(..count).unwrap_or(&[]), || topic.spare());
        if taken.lost > 0 {
            topic.lose(taken.lost, from);
        }
        if let Some(message) = taken.message {
            topic.push(message, from);
            return Ok(());
        }
    }
    Ok(())
}
