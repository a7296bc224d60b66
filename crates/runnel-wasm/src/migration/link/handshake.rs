//! A connection until both hosts have accepted each other.

use std::net::SocketAddr;
use std::sync::Arc;

use runnel_io::Stream;
use rustls::{AlertDescription, Connection, Error};

use super::frames::{Decoder, Frame};
use super::tls_socket::{Broken, TlsSocket};
use super::verifier::{PeerVerifier, Verdict};
use super::{Fingerprint, Identity, LinkError, Peer, TrustedHosts, tls};

/// A handshake in progress.
///
/// With TLS 1.3 the side that connects is done first, before the other one has checked its certificate. So it waits for a
/// frame, which each side sends first.
pub struct Handshake {
    socket: TlsSocket,
    address: SocketAddr,
    verifier: Arc<PeerVerifier>,
    own: Fingerprint,
    decoder: Decoder,
    frames: Vec<Frame>,
    awaits_frame: bool,
}

/// How far a handshake has come.
pub enum Progress {
    /// It waits for the peer.
    Pending(Handshake),
    /// Both hosts have accepted each other.
    Done(Established),
}

/// A connection of two hosts that have accepted each other.
pub struct Established {
    pub socket: TlsSocket,
    pub peer: Peer,
    pub decoder: Decoder,
    /// What the peer has sent already.
    pub frames: Vec<Frame>,
}

/// What handshakes of this host need.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub identity: Identity,
    pub trusted: TrustedHosts,
    pub longest_frame: usize,
}

impl Handshake {
    /// The side that has connected.
    ///
    /// # Errors
    /// None in practice.
    pub fn client(stream: Stream, address: SocketAddr, credentials: &Credentials) -> Result<Self, LinkError> {
        Self::new(stream, address, credentials, true, tls::client)
    }

    /// The side that has accepted the connection.
    ///
    /// # Errors
    /// None in practice.
    pub fn server(stream: Stream, address: SocketAddr, credentials: &Credentials) -> Result<Self, LinkError> {
        Self::new(stream, address, credentials, false, tls::server)
    }

    fn new(
        stream: Stream,
        address: SocketAddr,
        credentials: &Credentials,
        awaits_frame: bool,
        tls: impl FnOnce(&Identity, &Arc<PeerVerifier>) -> Result<Connection, Error>,
    ) -> Result<Self, LinkError> {
        let failed = |why: String| LinkError::Handshake { address, why };
        let verifier = Arc::new(PeerVerifier::new(&credentials.trusted, credentials.identity.fingerprint()));
        let tls = tls(&credentials.identity, &verifier).map_err(|error| failed(error.to_string()))?;
        stream.set_nodelay().map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            socket: TlsSocket::new(stream, tls),
            address,
            verifier,
            own: credentials.identity.fingerprint(),
            decoder: Decoder::new(credentials.longest_frame),
            frames: Vec::new(),
            awaits_frame,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn socket(&self) -> &TlsSocket {
        &self.socket
    }

    /// Sends and receives what is possible now.
    ///
    /// # Errors
    /// If a host does not accept the other one, or the peer does something else than a handshake.
    pub fn advance(mut self) -> Result<Progress, LinkError> {
        let mut fault = Ok(());
        let (decoder, frames) = (&mut self.decoder, &mut self.frames);
        let received = self.socket.receive(|bytes| {
            if fault.is_ok() {
                fault = decoder.decode(bytes, |frame| frames.push(frame));
            }
        });
        let exchanged = received.and_then(|()| self.socket.flush());
        fault.map_err(|fault| self.failed(format!("the host {fault}")))?;
        let is_pending = self.socket.tls().is_handshaking() || self.awaits_frame && self.frames.is_empty();
        if !is_pending {
            // A connection that has ended already is found to have ended once all its frames are received.
            return self.finish().map(Progress::Done);
        }
        exchanged.map_err(|broken| self.refusal(broken))?;
        Ok(Progress::Pending(self))
    }

    fn finish(self) -> Result<Established, LinkError> {
        if !tls::has_agreed(self.socket.tls()) {
            return Err(self.failed("the host speaks another protocol".to_owned()));
        }
        let Some(Verdict::Trusted(host)) = self.verifier.verdict() else {
            return Err(self.failed("the host has shown no certificate".to_owned()));
        };
        let peer = Peer { address: self.address, name: host.name.clone(), fingerprint: host.fingerprint };
        Ok(Established { socket: self.socket, peer, decoder: self.decoder, frames: self.frames })
    }

    fn failed(&self, why: String) -> LinkError {
        LinkError::Handshake { address: self.address, why }
    }

    fn refusal(&self, broken: Broken) -> LinkError {
        let address = self.address;
        match (&broken, self.verifier.verdict()) {
            (Broken::Tls(Error::InvalidCertificate(_)), Some(Verdict::Unknown(fingerprint))) => {
                LinkError::UnknownPeer { address, fingerprint: *fingerprint }
            }
            (Broken::Tls(Error::InvalidCertificate(_)), Some(Verdict::Unreadable(error))) => {
                error.clone().into()
            }
            (Broken::Tls(Error::AlertReceived(AlertDescription::AccessDenied)), _) => {
                LinkError::NotTrusted { address, own: self.own }
            }
            (Broken::Tls(Error::AlertReceived(AlertDescription::NoApplicationProtocol)), _) => {
                self.failed("the host has another version of Runnel".to_owned())
            }
            (Broken::Closed | Broken::Ended, _) => {
                self.failed("the host closed the connection during the handshake".to_owned())
            }
            _ => self.failed(format!("the handshake failed: {broken}")),
        }
    }
}
