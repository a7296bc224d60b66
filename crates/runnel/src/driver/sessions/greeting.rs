//! The first packets between two processes: each gives the other what it writes for it.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use runnel_io::memory::{ForeignWords, SharedWords};
use runnel_io::unix::{Packets, Place, Received, folder};
use runnel_io::{Doorbell, Interest, PacketListener, Ringer, Token, clock, host};

use super::{MOST_SESSIONS, Session};
use crate::driver::Driver;
use crate::driver::effect::Deadline;
use crate::driver::sockets::ACCEPT_BATCH;
use crate::driver::sockets::Socket;
use crate::driver::table::Key;
use crate::ipc::{Hello, Inbox, NoHello, Outbox, Receiver, Sender};
use crate::log_output::console;

/// How long the other end may take to greet.
const DEADLINE: Duration = Duration::from_secs(5);

/// What the names begin with that processes are found by.
const PREFIX: &str = "runnel-";

/// Descriptors that must be free for a session: it takes seven while it is made, and connections come first.
const DESCRIPTORS: u64 = 16;

/// The longest greeting that is read whole, in bytes: one of another version may be longer than ours.
const LONGEST_GREETING: usize = 1024;

/// The longest page that is mapped, in bytes: pages of other sizes are known.
const LONGEST_PAGE: usize = 64 << 10;

/// A connection on which the other end has not greeted yet.
pub(in crate::driver) struct Greeting {
    pub(super) packets: Arc<Packets>,
    /// Whom this process has connected to and greeted, and with what.
    pub(super) greeted: Option<(u128, Mine)>,
}

/// What this process gives the other.
pub(super) struct Mine {
    outbox: Arc<Outbox>,
    bell: Doorbell,
}

/// What the other process gives.
struct Theirs {
    process: u128,
    page: ForeignWords,
    inbox: Arc<Inbox>,
    bell: Ringer,
}

/// Why no session comes of a greeting.
#[derive(Debug)]
enum GreetingFault {
    /// It is none of Runnel's.
    NotRunnel,
    /// It is longer than any, or a descriptor was lost.
    Truncated,
    /// It is for another process, or from one that is not to connect.
    OtherProcess,
    /// It came without the descriptors that belong to it.
    LacksDescriptors,
    /// The operating system refuses what a session takes.
    System(io::Error),
}

impl From<io::Error> for GreetingFault {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl fmt::Display for GreetingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunnel => f.write_str("it does not greet as Runnel does"),
            Self::Truncated => f.write_str("it was too long, or its descriptors did not arrive"),
            Self::OtherProcess => f.write_str("it is not the process that was expected"),
            Self::LacksDescriptors => f.write_str("its greeting lacks descriptors"),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl Driver {
    /// Listens for other processes of the host, the first time that it is asked to.
    pub(super) fn listen_for_processes(&mut self) {
        if std::mem::replace(&mut self.sessions.listens, true) {
            return;
        }
        let Some(settings) = self.sessions.settings.clone() else { return };
        let name = name(settings.identity.process);
        let by_name = PacketListener::bind(Place::Abstract(name.as_bytes()));
        if let Err(error) = by_name.and_then(|listener| self.add_packet_listener(listener)) {
            console::warning!("other processes of this host cannot find this one by its name: {error}");
        }
        let Some(directory) = settings.directory else { return };
        let by_file = listen_in(&directory, &name).and_then(|listener| self.add_packet_listener(listener));
        if let Err(error) = by_file {
            let directory = directory.display();
            console::warning!(
                "RUNNEL_IPC_DIR={directory} is of no use: {error}. Without it, processes in another network namespace are reached over the network"
            );
            self.sessions.settings.iter_mut().for_each(|settings| settings.directory = None);
        }
    }

    fn add_packet_listener(&mut self, listener: PacketListener) -> io::Result<()> {
        let key = self.sockets.insert(Socket::Nothing);
        let watched = self.sockets.reactor.add(&listener, Token(key.to_bits()), Interest::Read);
        if let Some(place) = self.sockets.get_mut(key) {
            *place = Socket::PacketListener(listener);
        }
        watched.inspect_err(|_| self.remove_socket(key))
    }

    /// Other processes of the host do not find this one any more.
    pub(crate) fn leave_host(&mut self) {
        for key in self.sockets.keys() {
            if matches!(self.sockets.get(key), Some(Socket::PacketListener(_))) {
                self.remove_socket(key);
            }
        }
    }

    pub(in crate::driver) fn packets_accepted(&mut self, key: Key) {
        for _ in 0..ACCEPT_BATCH {
            let Some(Socket::PacketListener(listener)) = self.sockets.get(key) else { return };
            match listener.accept() {
                Ok(Some(packets)) => self.greeted_by(packets),
                Ok(None) => return,
                Err(error) => return self.sockets.pause_accepting(key, &error, &mut self.effects),
            }
        }
    }

    fn greeted_by(&mut self, packets: Packets) {
        if self.trusts(&packets) && leaves_descriptors(&packets) && self.count_greetings() < MOST_SESSIONS {
            self.add_greeting(packets, None);
        }
    }

    /// Whether the process at the other end is of a user whose processes may have a session.
    fn trusts(&self, packets: &Packets) -> bool {
        let users = self.sessions.settings.as_ref().map_or(&[][..], |settings| &settings.users);
        packets.same_user().is_some() || packets.peer().is_ok_and(|peer| users.contains(&peer.uid))
    }

    fn count_greetings(&self) -> usize {
        self.sockets
            .iter()
            .filter(|socket| matches!(socket, Socket::Greeting(_) | Socket::Session(_)))
            .count()
    }

    /// Connects to a process of this host, unless it is the one that connects, or cannot be found.
    pub(super) fn connect_process(&mut self, process: u128) {
        let Some(settings) = &self.sessions.settings else { return };
        let is_met = self.sessions.peers.contains_key(&process);
        if settings.identity.process >= process || is_met || self.sessions.other_versions.has(process) {
            return;
        }
        let name = name(process);
        let by_name = Packets::connect(Place::Abstract(name.as_bytes()));
        let by_file = |error| match &settings.directory {
            Some(directory) => connect_in(directory, &name),
            None => Err(error),
        };
        let packets = match by_name.or_else(by_file) {
            Ok(packets) if !self.trusts(&packets) => return,
            Ok(packets) if !leaves_descriptors(&packets) || self.count_greetings() >= MOST_SESSIONS => {
                return self.plan_to_meet_again(process, clock::monotonic());
            }
            Ok(packets) => packets,
            Err(error) => return self.try_later(process, &error),
        };
        match self.greet(&packets, process) {
            Ok(mine) => self.add_greeting(packets, Some((process, mine))),
            Err(error) => {
                self.sessions.warn(format_args!("no session with another process of this host: {error}"));
                self.try_later(process, &error);
            }
        }
    }

    /// Has a process that could not be greeted met later, unless it is not of this host, as most are.
    fn try_later(&mut self, process: u128, error: &io::Error) {
        let absent = matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound);
        if !absent && !self.sessions.again.contains_key(&process) {
            self.plan_to_meet_again(process, clock::monotonic());
        }
    }

    fn add_greeting(&mut self, packets: Packets, greeted: Option<(u128, Mine)>) {
        let packets = Arc::new(packets);
        let process = greeted.as_ref().map(|(process, _)| *process);
        let greeting = Greeting { packets: Arc::clone(&packets), greeted };
        let key = self.sockets.insert(Socket::Greeting(greeting));
        if self.sockets.reactor.add(&*packets, Token(key.to_bits()), Interest::Read).is_err() {
            return self.remove_socket(key);
        }
        self.effects.schedule(Deadline::Greeting(key), clock::monotonic() + DEADLINE);
        process.into_iter().for_each(|process| {
            self.sessions.peers.insert(process, key);
        });
    }

    /// Greets a process with what is to be given to it.
    fn greet(&mut self, packets: &Packets, to: u128) -> io::Result<Mine> {
        let Some(settings) = &self.sessions.settings else { return Err(io::ErrorKind::Unsupported.into()) };
        let from = settings.identity.process;
        let (bell, ringer) = Doorbell::pair()?;
        let mine = Mine { outbox: Arc::new(Outbox::new()?), bell };
        let page = match self.sessions.page.take() {
            Some(page) => page,
            None => SharedWords::new("runnel-page", size_of::<u64>())?,
        };
        let page = self.sessions.page.insert(page);
        let fds = [page.fd(), mine.outbox.memory().fd(), ringer.as_fd()];
        match packets.send(&Hello { from, to }.to_bytes(), &fds)? {
            true => Ok(mine),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// A packet has come where a greeting is expected, or the end.
    pub(in crate::driver) fn greeting_readable(&mut self, key: Key) {
        let Some(Socket::Greeting(greeting)) = self.sockets.get(key) else { return };
        let mut buffer = [0; LONGEST_GREETING];
        let mut process = self.greeted_at(key);
        let theirs = match greeting.packets.peek(&mut buffer) {
            Ok(Received::Nothing) => return,
            Ok(Received::Packet { len, fds, truncated }) => {
                match Hello::from_bytes(&buffer[..len.min(Hello::LEN)]) {
                    Err(NoHello::OtherVersion { from }) if self.expects(key, from) => {
                        if !truncated {
                            // What lies unread when a connection is closed costs the other end the answer.
                            greeting.packets.discard_unknown(fds);
                        }
                        return self.end_with_other_version(key, from);
                    }
                    Err(_) => Err(GreetingFault::NotRunnel),
                    Ok(_) if truncated || len > Hello::LEN => Err(GreetingFault::Truncated),
                    Ok(hello) => {
                        process = Some(hello.from);
                        self.understand(key, hello, fds)
                    }
                }
            }
            // It ends, or goes on without.
            Ok(Received::End) => return self.end_greeting(key),
            Err(error) => Err(error.into()),
        };
        // What it brought is known now.
        if let (Ok(_), Some(Socket::Greeting(greeting))) = (&theirs, self.sockets.get(key)) {
            greeting.packets.discard();
        }
        let stands = theirs.and_then(|theirs| self.begin_session(key, theirs));
        if let Err(why) = stands {
            // Said once of each, however often it is tried.
            if process.is_none_or(|process| self.sessions.refused.add(process)) {
                self.sessions.warn(format_args!("no session with another process of this host: {why}"));
            }
            self.end_greeting(key);
        }
    }

    fn understand(&self, key: Key, hello: Hello, fds: Vec<OwnedFd>) -> Result<Theirs, GreetingFault> {
        let me = self.sessions.settings.as_ref().map(|settings| settings.identity.process);
        if Some(hello.to) != me || !self.expects(key, hello.from) {
            return Err(GreetingFault::OtherProcess);
        }
        let Ok([page, outbox, bell]) = <[OwnedFd; 3]>::try_from(fds) else {
            return Err(GreetingFault::LacksDescriptors);
        };
        let page = ForeignWords::map(page, size_of::<u64>(), LONGEST_PAGE)?;
        let memory = ForeignWords::map(outbox, Inbox::BYTES, Inbox::BYTES + LONGEST_PAGE)?;
        let (inbox, bell) = (Arc::new(Inbox::new(memory)), Ringer::from_fd(bell)?);
        Ok(Theirs { process: hello.from, page, inbox, bell })
    }

    /// Whether the process at the other end can be this one.
    fn expects(&self, key: Key, from: u128) -> bool {
        let me = self.sessions.settings.as_ref().map(|settings| settings.identity.process);
        match self.sockets.get(key) {
            Some(Socket::Greeting(Greeting { greeted: Some((process, _)), .. })) => from == *process,
            // Whose number is greater is connected to, and does not connect.
            Some(Socket::Greeting(_)) => Some(from) < me && !self.sessions.peers.contains_key(&from),
            _ => false,
        }
    }

    /// The bell by which threads of this process wake the driver.
    fn own_bell(&mut self) -> io::Result<Arc<Ringer>> {
        if let Some(bell) = &self.sessions.own_bell {
            return Ok(Arc::clone(bell));
        }
        let (bell, ringer) = Doorbell::pair()?;
        let key = self.sockets.insert(Socket::Nothing);
        if let Err(error) = self.sockets.reactor.add_edge(&bell, Token(key.to_bits())) {
            self.remove_socket(key);
            return Err(error);
        }
        if let Some(place) = self.sockets.get_mut(key) {
            *place = Socket::OwnBell { _doorbell: bell };
        }
        Ok(Arc::clone(self.sessions.own_bell.insert(Arc::new(ringer))))
    }

    /// Both have greeted once this process has.
    fn begin_session(&mut self, key: Key, theirs: Theirs) -> Result<(), GreetingFault> {
        let Some(Socket::Greeting(Greeting { packets, greeted, .. })) = self.sockets.get_mut(key) else {
            return Ok(());
        };
        let (packets, greeted) = (Arc::clone(packets), greeted.take());
        let mine = match greeted {
            Some((_, mine)) => mine,
            None => match self.greet(&packets, theirs.process) {
                Ok(mine) => mine,
                // It has ended since.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    self.end_greeting(key);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            },
        };
        let bell = self.sockets.insert(Socket::Nothing);
        match self.make_session([key, bell], packets, mine, theirs) {
            Ok(session) => self.add_session(session),
            Err(error) => {
                self.remove_socket(bell);
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// A session of what the two have given each other, whose bell the reactor knows.
    fn make_session(
        &mut self,
        sockets: [Key; 2],
        packets: Arc<Packets>,
        mine: Mine,
        theirs: Theirs,
    ) -> io::Result<Session> {
        let Theirs { process, page, inbox, bell } = theirs;
        let same_user = packets.same_user();
        let memory = (Arc::clone(&mine.outbox), Arc::clone(&inbox));
        let (bells, pool) = ((bell, self.own_bell()?), Arc::clone(&self.sessions.pool));
        let sender = Arc::new(Sender::new(memory, page, bells, Arc::clone(&packets), pool));
        let receiver = Receiver::new(mine.outbox, inbox, Arc::clone(&packets), same_user);
        self.sockets.reactor.add_edge(&mine.bell, Token(sockets[1].to_bits()))?;
        Ok(Session::new(process, sockets, packets, mine.bell, receiver, sender))
    }

    fn add_session(&mut self, session: Session) {
        let (process, [key, bell]) = (session.process, session.sockets);
        let session = self.sessions.open.insert_with(|_| session);
        for (key, socket) in [(key, Socket::Session(session)), (bell, Socket::Bell(session))] {
            if let Some(place) = self.sockets.get_mut(key) {
                *place = socket;
            }
        }
        self.effects.cancel(Deadline::Greeting(key));
        self.sessions.peers.insert(process, key);
        self.sessions.refused.remove(process);
        self.sessions.standing.push(session);
        self.stands(session, process);
        // The bell may have rung before the reactor knew it.
        self.bell_rang(session);
    }

    /// The process that this one has greeted by a socket.
    fn greeted_at(&self, key: Key) -> Option<u128> {
        self.sessions.peers.iter().find(|(_, peer)| **peer == key).map(|(process, _)| *process)
    }

    pub(super) fn end_greeting(&mut self, key: Key) {
        self.effects.cancel(Deadline::Greeting(key));
        let process = self.greeted_at(key);
        self.remove_socket(key);
        if let Some(process) = process {
            // It may have been too busy, or have had too many others.
            self.sessions.peers.remove(&process);
            self.plan_to_meet_again(process, clock::monotonic());
        }
    }

    /// Nobody has greeted on a connection in time.
    pub(in crate::driver) fn greeting_due(&mut self, key: Key) {
        if matches!(self.sockets.get(key), Some(Socket::Greeting(_))) {
            self.end_greeting(key);
        }
    }
}

/// Listens in a folder, and removes what processes left there that were killed.
fn listen_in(directory: &Path, name: &str) -> io::Result<PacketListener> {
    folder::check(directory)?;
    folder::remove_dead_sockets(directory, PREFIX)?;
    PacketListener::bind(Place::Path(&directory.join(name)))
}

/// Connects in a folder. A process that is found dead there is not the only one.
fn connect_in(directory: &Path, name: &str) -> io::Result<Packets> {
    let connected = Packets::connect(Place::Path(&directory.join(name)));
    if connected.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        let _ = folder::remove_dead_sockets(directory, PREFIX);
    }
    connected
}

/// Whether enough descriptors are left for a session and for what the process needs more than that. A new one has the lowest
/// number that is free, so that all below it are in use.
fn leaves_descriptors(newest: &Packets) -> bool {
    let used = u64::try_from(newest.as_fd().as_raw_fd()).unwrap_or(u64::MAX);
    host::descriptor_limit().is_none_or(|limit| used.saturating_add(DESCRIPTORS) <= limit)
}

/// What a process is found by.
fn name(process: u128) -> String {
    format!("{PREFIX}{process:032x}")
}
