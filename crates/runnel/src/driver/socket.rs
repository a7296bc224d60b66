//! The sockets of a driver and what each is for.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use runnel_io::{Listener, Stream};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::Port;
use runnel_ros1::tcpros::FrameReader;

use super::table::Key;
use crate::data::{LinkInfo, Publication, TopicInput};

/// One socket in the reactor.
pub(super) enum Socket {
    /// Accepts connections for an engine.
    Listener { listener: Listener, engine: Key, port: Port },
    /// Carries bytes between an engine and a peer.
    Control(Control),
    /// Carries messages from a publisher.
    Input(Input),
    /// Carries messages to a subscriber; the publication sends on it.
    Output(Output),
}

/// A connection of an engine.
pub(super) struct Control {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) peer: SocketAddr,
    pub(super) stream: Arc<Stream>,
    pub(super) connecting: bool,
    /// To be closed when `unsent` is sent.
    pub(super) closing: bool,
    /// The reactor tells when the socket takes more.
    pub(super) watched: bool,
    pub(super) unsent: Unsent,
}

/// Bytes that the kernel has not taken yet.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    bytes: VecDeque<u8>,
}

impl Unsent {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// All of them.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes.into()
    }

    /// Sends what the socket takes.
    pub(super) fn flush(&mut self, stream: &Stream) -> io::Result<()> {
        while !self.bytes.is_empty() {
            let sent = stream.send(self.bytes.as_slices().0)?;
            if sent == 0 {
                return Ok(());
            }
            self.bytes.drain(..sent);
        }
        self.bytes = VecDeque::new();
        Ok(())
    }
}

/// A link to a publisher.
pub(super) struct Input {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) stream: Arc<Stream>,
    pub(super) reader: FrameReader,
    pub(super) topic: Arc<TopicInput>,
    pub(super) from: Arc<LinkInfo>,
}

/// A link to a subscriber.
pub(super) struct Output {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) stream: Arc<Stream>,
    pub(super) publication: Arc<Publication>,
}
