//! Datagram sockets, which an engine requests and a UDPROS link uses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use runnel_io::{Datagrams, Interest, Token, clock};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::{Port, SubscriberLink};
use runnel_ros1::udpros::Reassembler;

use super::Sockets;
use super::socket::{DatagramInput, DatagramOutput, Opened, Socket};
use crate::data::{LinkInfo, Publication, TopicInput};
use crate::driver::effect::{Effect, Effects};
use crate::driver::table::Key;

/// Kernel receive buffer of a link in bytes, for bursts while no thread reads.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Maximum number of datagrams received from one socket before the others are read.
const BATCH: usize = 64;

impl Sockets {
    /// Opens a datagram socket: connected to one peer, or for datagrams of all publishers.
    pub(in crate::driver) fn open_datagram(
        &mut self,
        engine: Key,
        conn: ConnId,
        to: Option<SocketAddr>,
        effects: &mut Effects,
    ) {
        let opened = match to {
            Some(peer) => Datagrams::connect(peer),
            None => self.bind_datagrams(engine),
        };
        let socket = match opened {
            Ok(socket) => Arc::new(socket),
            Err(error) => {
                let why = Some(error.to_string());
                return effects.push_back(Effect::Closed { engine, conn, why });
            }
        };
        let port = socket.address().port();
        let key = self.insert(Socket::Opened(Opened { engine, conn, socket }));
        self.conns.insert((engine, conn), key);
        effects.push_back(Effect::Bound { engine, conn, port });
    }

    /// Binds to the address on which the node accepts TCPROS connections. Publishers send their datagrams there.
    fn bind_datagrams(&self, engine: Key) -> io::Result<Datagrams> {
        let of_node = |socket: &Socket| match socket {
            Socket::Listener { listener, engine: of, port: Port::Tcpros } if *of == engine => {
                Some(listener.address().ip())
            }
            _ => None,
        };
        let ip: Option<IpAddr> = self.iter().find_map(of_node);
        let socket = Datagrams::bind(ip.ok_or(io::ErrorKind::AddrNotAvailable)?)?;
        socket.set_receive_buffer_size(RECEIVE_BUFFER)?;
        Ok(socket)
    }

    /// Begins a link from a publisher: datagrams with this connection id are its messages.
    pub(in crate::driver) fn join_datagrams(
        &mut self,
        key: Key,
        number: u32,
        topic: Arc<TopicInput>,
        from: &Arc<LinkInfo>,
        effects: &mut Effects,
    ) {
        let Some(place) = self.table.get_mut(key) else { return };
        let Socket::Opened(Opened { engine, conn, socket }) = place else { return };
        let (engine, conn, socket) = (*engine, *conn, Arc::clone(socket));
        let added = self.reactor.add(&*socket, Token(key.to_bits()), Interest::Read);
        topic.join(from);
        let accepted = self.frame_budget.accepted(topic.fixed_len(from));
        let reassembler = Reassembler::new(number).with_accepted_length(accepted);
        // The source address of datagrams is not verified.
        let claim = self.frame_budget.claim(Ipv4Addr::UNSPECIFIED.into());
        let from = Arc::clone(from);
        *place =
            Socket::DatagramInput(DatagramInput { engine, conn, socket, reassembler, claim, topic, from });
        if let Err(error) = added {
            self.ended(key, Some(error.to_string()), effects);
        }
    }

    /// Begins a link to a subscriber: the publication sends its datagrams.
    pub(in crate::driver) fn join_datagram_subscriber(
        &mut self,
        key: Key,
        publication: &Arc<Publication>,
        mut link: SubscriberLink,
        effects: &mut Effects,
    ) {
        let Some(fragmenter) = link.datagrams.take() else { return };
        let Some(place) = self.table.get_mut(key) else { return };
        let Socket::Opened(Opened { engine, conn, socket }) = place else { return };
        let (engine, conn, socket, token) = (*engine, *conn, Arc::clone(socket), Token(key.to_bits()));
        let added = self.reactor.add(&*socket, token, Interest::Read);
        let (to, of) = (Arc::clone(&socket), Arc::clone(publication));
        *place = Socket::DatagramOutput(DatagramOutput { engine, conn, socket, publication: of });
        match added {
            Ok(()) => publication.join_datagrams(link, fragmenter, token, to),
            Err(error) => self.ended(key, Some(error.to_string()), effects),
        }
    }

    /// Receives datagrams until a message is complete. The reactor reports the rest again.
    pub(super) fn datagram_input_readable(&mut self, key: Key, effects: &mut Effects) {
        let mut scratch = self.take_scratch();
        let Some(Socket::DatagramInput(input)) = self.table.get_mut(key) else { return };
        let received = receive_message(input, &mut scratch);
        input.update_claim();
        self.scratch = scratch;
        if let Err(error) = received {
            self.ended(key, Some(error.to_string()), effects);
        }
    }

    /// Reads an error: the subscriber's host reports its end, the network reports loss. Subscribers send no data.
    pub(super) fn datagram_output_readable(&mut self, key: Key, effects: &mut Effects) {
        let Some(Socket::DatagramOutput(output)) = self.get(key) else { return };
        let Err(error) = output.socket.recv(&mut [0; 16]) else { return };
        let refused = error.kind() == io::ErrorKind::ConnectionRefused;
        if output.publication.undelivered(output.conn, refused, clock::monotonic()) {
            self.ended(key, Some(error.to_string()), effects);
        }
    }

    /// Handles a link whose end the publication has found.
    pub(super) fn datagram_output_refused(&mut self, key: Key, effects: &mut Effects) {
        let Some(Socket::DatagramOutput(output)) = self.get(key) else { return };
        if output.publication.is_refused(output.conn) {
            self.ended(key, Some("the subscriber takes no more datagrams".to_owned()), effects);
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
