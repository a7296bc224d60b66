//! Path of a service link's bytes: its TCP connection or, once both ends are known to be on one host, a channel of the
//! IPC connection between their processes.

use std::io;
use std::sync::Arc;

use runnel_io::{Interest, Reactor, Stream, Token};

use crate::data::SwitchOutcome;
use crate::ipc::{Sender, Tally};

/// See the module's documentation.
pub(crate) struct StreamPath {
    token: Token,
    /// The reactor reports when the connection is writable.
    watched: bool,
    /// Unsent bytes of our connection header, which are not part of the link's stream.
    header: usize,
    stream: Arc<Stream>,
    /// The IPC connection to which the link switches once our header is sent.
    pending_switch: Option<Arc<Sender>>,
    /// Bytes of the link's stream that were sent on the connection.
    sent: u64,
    channel: Option<Channel>,
}

/// A channel, which closes when dropped.
pub(super) struct Channel {
    pub(super) sender: Arc<Sender>,
    pub(super) number: u32,
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.sender.close(self.number);
    }
}

impl StreamPath {
    /// The path by a connection, on which `header` bytes go before the link's stream.
    pub(crate) fn new(stream: Arc<Stream>, token: Token, header: usize) -> Self {
        let (channel, pending_switch) = (None, None);
        Self { stream, token, header, sent: 0, channel, pending_switch, watched: false }
    }

    /// Like [`new`](Self::new), with the current interest of the reactor in writability.
    pub(crate) fn watched(stream: Arc<Stream>, token: Token, header: usize, watched: bool) -> Self {
        Self { watched, ..Self::new(stream, token, header) }
    }

    /// Whether the path is a channel.
    pub(crate) fn is_channel(&self) -> bool {
        self.channel.is_some()
    }

    /// Sends bytes of the link's stream. Returns how many were accepted.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(Channel { sender, number }) = &self.channel {
            return Ok(sender.send_bytes(*number, bytes));
        }
        let sent = self.stream.send(bytes)?;
        self.count(sent);
        Ok(sent)
    }

    fn count(&mut self, sent: usize) {
        let header = self.header.min(sent);
        self.header -= header;
        self.sent += (sent - header) as u64;
        if self.header == 0
            && let Some(sender) = self.pending_switch.take()
        {
            sender.wake_driver();
        }
    }

    /// Whether the driver is to be notified when the path is writable.
    pub(crate) fn watch(&mut self, reactor: &Reactor, watch: bool) -> io::Result<()> {
        if let Some(Channel { sender, .. }) = &self.channel {
            if watch {
                sender.wait(self.token, &Tally::default());
            }
            return Ok(());
        }
        if self.watched == watch {
            return Ok(());
        }
        self.watched = watch;
        let interest = if watch { Interest::Both } else { Interest::Read };
        reactor.modify(&*self.stream, self.token, interest)
    }

    /// Switches to an IPC connection, on which `token` identifies the link. If that is possible later, the driver is
    /// woken by the peer once the ring has free space, or once our header is sent. The IPC connection then carries the
    /// rest of the stream, also from within a message.
    pub(crate) fn switch_to_memory(
        &mut self,
        reactor: &Reactor,
        sender: &Arc<Sender>,
        token: u128,
    ) -> SwitchOutcome {
        if self.channel.is_some() {
            return SwitchOutcome::NotNeeded;
        }
        if self.header > 0 {
            self.pending_switch = Some(Arc::clone(sender));
            return SwitchOutcome::Later;
        }
        let Some(number) = sender.open(token, self.sent) else { return SwitchOutcome::Later };
        // The connection only reports its end from now on.
        let _ = self.watch(reactor, false);
        self.channel = Some(Channel { sender: Arc::clone(sender), number });
        SwitchOutcome::Switched
    }

    /// The channel, if it belongs to this IPC connection.
    pub(crate) fn channel_of(&self, sender: &Arc<Sender>) -> Option<u32> {
        self.channel
            .as_ref()
            .filter(|channel| Arc::ptr_eq(&channel.sender, sender))
            .map(|channel| channel.number)
    }

    /// The IPC connection has ended: the TCP connection carries the rest of the stream.
    pub(crate) fn fall_back(&mut self) {
        self.channel = None;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use runnel_io::memory::{ForeignWords, SharedWords};
    use runnel_io::unix::{Packets, UnixAddress};
    use runnel_io::{Doorbell, Events, Listener, PacketListener, Ringer, host};

    use super::*;
    use crate::ipc::{Inbox, Outbox, Pool};

    /// A sender to a process that does nothing.
    fn sender(own_doorbell: &Arc<Ringer>) -> Arc<Sender> {
        let name = format!("runnel-test-way-{}-{}", host::pid(), host::random().unwrap());
        let _listener = PacketListener::bind(UnixAddress::Abstract(name.as_bytes())).unwrap();
        let packets = Arc::new(Packets::connect(UnixAddress::Abstract(name.as_bytes())).unwrap());
        let map = |memory: &SharedWords| {
            ForeignWords::map(memory.fd().try_clone_to_owned().unwrap(), 8, Inbox::BYTES + (1 << 16)).unwrap()
        };
        let (mine, theirs) = (Outbox::new().unwrap(), Outbox::new().unwrap());
        let page = map(&SharedWords::new("test-page", 8).unwrap());
        let memory = (Arc::new(mine), Arc::new(Inbox::new(map(theirs.memory()))));
        let bells = (Doorbell::pair().unwrap().1, Arc::clone(own_doorbell));
        Arc::new(Sender::new(memory, page, bells, packets, Arc::new(Pool::new(0, 0))))
    }

    #[test]
    fn link_switches_after_its_header_is_sent() {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let stream = Arc::new(Stream::connect(listener.address()).unwrap());
        let (reactor, (doorbell, own_doorbell)) = (Reactor::new().unwrap(), Doorbell::pair().unwrap());
        let own_doorbell = Arc::new(own_doorbell);
        reactor.add_edge(&doorbell, Token(3)).unwrap();
        let is_rung = || {
            let mut events = Events::default();
            reactor.wait(&mut events, Some(Duration::ZERO)).unwrap();
            events.iter().any(|ready| ready.token == Token(3))
        };
        // A new doorbell is ready once.
        is_rung();
        let (mut path, sender) = (StreamPath::new(stream, Token(1), 10), sender(&own_doorbell));
        assert_eq!(path.switch_to_memory(&reactor, &sender, 5), SwitchOutcome::Later);
        assert_eq!(path.send(&[0; 4]).unwrap(), 4);
        assert!(!is_rung());
        assert_eq!(path.switch_to_memory(&reactor, &sender, 5), SwitchOutcome::Later);
        assert_eq!(path.send(&[0; 16]).unwrap(), 16);
        assert!(is_rung(), "the driver tries again");
        assert_eq!(path.switch_to_memory(&reactor, &sender, 5), SwitchOutcome::Switched);
        assert!(path.is_channel());
        assert_eq!(path.sent, 10);
        assert_eq!(path.switch_to_memory(&reactor, &sender, 5), SwitchOutcome::NotNeeded);
        assert!(!is_rung());
    }
}
