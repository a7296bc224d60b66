//! Handshake of an IPC connection: each process sends a hello with the descriptors of its memory and doorbell.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use runnel_io::memory::{ForeignWords, SharedWords};
use runnel_io::unix::{Packets, Received};
use runnel_io::{Doorbell, Interest, Ringer, Token, clock};

use super::{Entry, IpcConnection, IpcConnections};
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::table::Key;
use crate::ipc::{Hello, Inbox, NoHello, Outbox, Receiver, Sender};

/// Maximum duration of a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum length of a hello that is read as a whole, in bytes: that of another version may be longer.
const MAX_HELLO: usize = 1024;

/// Maximum length of a page to map, in bytes. Pages of all architectures are shorter.
const MAX_PAGE: usize = 64 << 10;

/// A connection on which the peer's hello has not arrived.
pub(in crate::driver) struct Handshake {
    pub(super) packets: Arc<Packets>,
    /// The peer and this process's end, if this process has connected and sent its hello.
    pub(super) sent_hello: Option<(u128, LocalEnd)>,
}

/// Resources that this process gives to the peer.
pub(super) struct LocalEnd {
    outbox: Arc<Outbox>,
    doorbell: Doorbell,
}

/// Resources that the peer gives to this process.
struct RemoteEnd {
    process: u128,
    page: ForeignWords,
    inbox: Arc<Inbox>,
    doorbell: Ringer,
}

/// Why a handshake fails.
#[derive(Debug)]
enum HandshakeFault {
    /// The peer does not speak this protocol.
    NotRunnel,
    /// The hello is too long, or a descriptor was lost.
    Truncated,
    /// The hello is for another process, or its sender should not connect.
    OtherProcess,
    /// The hello lacks descriptors.
    LacksDescriptors,
    /// An operating system call failed.
    System(io::Error),
}

impl From<io::Error> for HandshakeFault {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl fmt::Display for HandshakeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunnel => f.write_str("its handshake is not Runnel's"),
            Self::Truncated => f.write_str("its hello is too long, or its descriptors did not arrive"),
            Self::OtherProcess => f.write_str("it is not the expected process"),
            Self::LacksDescriptors => f.write_str("its hello lacks descriptors"),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl IpcConnections {
    pub(super) fn add_handshake(
        &mut self,
        packets: Packets,
        sent_hello: Option<(u128, LocalEnd)>,
        effects: &mut Effects,
    ) {
        let packets = Arc::new(packets);
        let process = sent_hello.as_ref().map(|(process, _)| *process);
        let handshake = Handshake { packets: Arc::clone(&packets), sent_hello };
        let key = self.entries.insert_with(|_| Entry::Handshake(handshake));
        if self.reactor.add(&*packets, Token(key.to_bits()), Interest::Read).is_err() {
            return self.remove(key);
        }
        effects.schedule(Deadline::Handshake(key), clock::monotonic() + HANDSHAKE_TIMEOUT);
        process.into_iter().for_each(|process| {
            self.peers.insert(process, key);
        });
    }

    /// Sends this process's hello.
    pub(super) fn send_hello(&mut self, packets: &Packets, to: u128) -> io::Result<LocalEnd> {
        let Some(settings) = &self.settings else { return Err(io::ErrorKind::Unsupported.into()) };
        let from = settings.identity.process;
        let (doorbell, ringer) = Doorbell::pair()?;
        let local = LocalEnd { outbox: Arc::new(Outbox::new()?), doorbell };
        let page = match self.page.take() {
            Some(page) => page,
            None => SharedWords::new("runnel-page", size_of::<u64>())?,
        };
        let page = self.page.insert(page);
        let fds = [page.fd(), local.outbox.memory().fd(), ringer.as_fd()];
        match packets.send(&Hello { from, to }.to_bytes(), &fds)? {
            true => Ok(local),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Handles a packet or the end of a connection in the handshake.
    pub(super) fn handshake_readable(&mut self, key: Key, effects: &mut Effects) {
        let Some(Entry::Handshake(handshake)) = self.entries.get(key) else { return };
        let mut buffer = [0; MAX_HELLO];
        let mut process = self.process_of_handshake(key);
        let remote = match handshake.packets.peek(&mut buffer) {
            Ok(Received::Nothing) => return,
            Ok(Received::Packet { len, fds, truncated }) => {
                match Hello::from_bytes(&buffer[..len.min(Hello::LEN)]) {
                    Err(NoHello::OtherVersion { from }) if self.can_be_peer(key, from) => {
                        if !truncated {
                            // A connection that is closed with unread data loses the answer to the peer.
                            handshake.packets.discard_unknown(fds);
                        }
                        return self.end_with_other_version(key, from, effects);
                    }
                    Err(_) => Err(HandshakeFault::NotRunnel),
                    Ok(_) if truncated || len > Hello::LEN => Err(HandshakeFault::Truncated),
                    Ok(hello) => {
                        process = Some(hello.from);
                        self.read_hello(key, hello, fds)
                    }
                }
            }
            // The peer closes, or continues without an IPC connection.
            Ok(Received::End) => return self.end_handshake(key, effects),
            Err(error) => Err(error.into()),
        };
        // The descriptors have been taken.
        if let (Ok(_), Some(Entry::Handshake(handshake))) = (&remote, self.entries.get(key)) {
            handshake.packets.discard();
        }
        let begun = remote.and_then(|remote| self.begin_ipc_connection(key, remote, effects));
        if let Err(why) = begun {
            // Logged once per process, however often it tries.
            if process.is_none_or(|process| self.refused.add(process)) {
                self.warn(format_args!("no IPC connection with another process of this host: {why}"));
            }
            self.end_handshake(key, effects);
        }
    }

    fn read_hello(&self, key: Key, hello: Hello, fds: Vec<OwnedFd>) -> Result<RemoteEnd, HandshakeFault> {
        let me = self.settings.as_ref().map(|settings| settings.identity.process);
        if Some(hello.to) != me || !self.can_be_peer(key, hello.from) {
            return Err(HandshakeFault::OtherProcess);
        }
        let Ok([page, outbox, doorbell]) = <[OwnedFd; 3]>::try_from(fds) else {
            return Err(HandshakeFault::LacksDescriptors);
        };
        let page = ForeignWords::map(page, size_of::<u64>(), MAX_PAGE)?;
        let memory = ForeignWords::map(outbox, Inbox::BYTES, Inbox::BYTES + MAX_PAGE)?;
        let (inbox, doorbell) = (Arc::new(Inbox::new(memory)), Ringer::from_fd(doorbell)?);
        Ok(RemoteEnd { process: hello.from, page, inbox, doorbell })
    }

    /// Whether the process with this id may be at the other end.
    fn can_be_peer(&self, key: Key, from: u128) -> bool {
        let me = self.settings.as_ref().map(|settings| settings.identity.process);
        match self.entries.get(key) {
            Some(Entry::Handshake(Handshake { sent_hello: Some((process, _)), .. })) => from == *process,
            // A process with a higher id does not connect.
            Some(Entry::Handshake(_)) => Some(from) < me && !self.peers.contains_key(&from),
            _ => false,
        }
    }

    /// The doorbell by which threads of this process wake the driver.
    fn own_doorbell(&mut self) -> io::Result<Arc<Ringer>> {
        if let Some(doorbell) = &self.own_doorbell {
            return Ok(Arc::clone(doorbell));
        }
        let (doorbell, ringer) = Doorbell::pair()?;
        let key = self.entries.insert_with(|_| Entry::Nothing);
        if let Err(error) = self.reactor.add_edge(&doorbell, Token(key.to_bits())) {
            self.remove(key);
            return Err(error);
        }
        if let Some(place) = self.entries.get_mut(key) {
            *place = Entry::OwnDoorbell { _doorbell: doorbell };
        }
        Ok(Arc::clone(self.own_doorbell.insert(Arc::new(ringer))))
    }

    /// Answers with this process's hello, unless it was sent before, and begins the IPC connection.
    fn begin_ipc_connection(
        &mut self,
        key: Key,
        remote: RemoteEnd,
        effects: &mut Effects,
    ) -> Result<(), HandshakeFault> {
        let Some(Entry::Handshake(Handshake { packets, sent_hello, .. })) = self.entries.get_mut(key) else {
            return Ok(());
        };
        let (packets, sent_hello) = (Arc::clone(packets), sent_hello.take());
        let local = match sent_hello {
            Some((_, local)) => local,
            None => match self.send_hello(&packets, remote.process) {
                Ok(local) => local,
                // The peer has closed the connection.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    self.end_handshake(key, effects);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            },
        };
        let doorbell = self.entries.insert_with(|_| Entry::Nothing);
        match self.make_ipc_connection([key, doorbell], packets, local, remote) {
            Ok(ipc_connection) => self.add_ipc_connection(ipc_connection, effects),
            Err(error) => {
                self.remove(doorbell);
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Makes an IPC connection from both ends, and adds its doorbell to the reactor.
    fn make_ipc_connection(
        &mut self,
        sockets: [Key; 2],
        packets: Arc<Packets>,
        local: LocalEnd,
        remote: RemoteEnd,
    ) -> io::Result<IpcConnection> {
        let RemoteEnd { process, page, inbox, doorbell } = remote;
        let same_user = packets.same_user();
        let memory = (Arc::clone(&local.outbox), Arc::clone(&inbox));
        let (doorbells, pool) = ((doorbell, self.own_doorbell()?), Arc::clone(&self.pool));
        let sender = Arc::new(Sender::new(memory, page, doorbells, Arc::clone(&packets), pool));
        let receiver = Receiver::new(local.outbox, inbox, Arc::clone(&packets), same_user);
        self.reactor.add_edge(&local.doorbell, Token(sockets[1].to_bits()))?;
        Ok(IpcConnection::new(process, sockets, packets, local.doorbell, receiver, sender))
    }

    fn add_ipc_connection(&mut self, ipc_connection: IpcConnection, effects: &mut Effects) {
        let (process, [key, doorbell]) = (ipc_connection.process, ipc_connection.sockets);
        let ipc_connection = self.open.insert_with(|_| ipc_connection);
        for (key, socket) in
            [(key, Entry::IpcConnection(ipc_connection)), (doorbell, Entry::Doorbell(ipc_connection))]
        {
            if let Some(place) = self.entries.get_mut(key) {
                *place = socket;
            }
        }
        effects.cancel(Deadline::Handshake(key));
        self.peers.insert(process, key);
        self.refused.remove(process);
        self.established.push(ipc_connection);
        self.on_established(ipc_connection, process, effects);
        // The doorbell may have rung before the reactor had it.
        effects.push_back(Effect::DoorbellRang { ipc_connection });
    }

    /// The process to which this one has sent a hello on this socket.
    fn process_of_handshake(&self, key: Key) -> Option<u128> {
        self.peers.iter().find(|(_, peer)| **peer == key).map(|(process, _)| *process)
    }

    pub(super) fn end_handshake(&mut self, key: Key, effects: &mut Effects) {
        effects.cancel(Deadline::Handshake(key));
        let process = self.process_of_handshake(key);
        self.remove(key);
        if let Some(process) = process {
            // It may have been busy, or have had too many connections.
            self.peers.remove(&process);
            self.schedule_reconnect(process, clock::monotonic(), effects);
        }
    }

    /// Ends a handshake that takes too long.
    pub(in crate::driver) fn handshake_timed_out(&mut self, key: Key, effects: &mut Effects) {
        if matches!(self.entries.get(key), Some(Entry::Handshake(_))) {
            self.end_handshake(key, effects);
        }
    }
}
