//! The first packets between two processes: each gives the other what it writes for it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use runnel_io::memory::{ForeignWords, SharedWords};
use runnel_io::unix::{Packets, Received};
use runnel_io::{Doorbell, Interest, Ringer, Token, clock};

use super::{Entry, Session, Sessions};
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::table::Key;
use crate::ipc::{Hello, Inbox, NoHello, Outbox, Receiver, Sender};

/// How long the other end may take to greet.
const DEADLINE: Duration = Duration::from_secs(5);

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

impl Sessions {
    pub(super) fn add_greeting(
        &mut self,
        packets: Packets,
        greeted: Option<(u128, Mine)>,
        effects: &mut Effects,
    ) {
        let packets = Arc::new(packets);
        let process = greeted.as_ref().map(|(process, _)| *process);
        let greeting = Greeting { packets: Arc::clone(&packets), greeted };
        let key = self.entries.insert_with(|_| Entry::Greeting(greeting));
        if self.reactor.add(&*packets, Token(key.to_bits()), Interest::Read).is_err() {
            return self.remove(key);
        }
        effects.schedule(Deadline::Greeting(key), clock::monotonic() + DEADLINE);
        process.into_iter().for_each(|process| {
            self.peers.insert(process, key);
        });
    }

    /// Greets a process with what is to be given to it.
    pub(super) fn greet(&mut self, packets: &Packets, to: u128) -> io::Result<Mine> {
        let Some(settings) = &self.settings else { return Err(io::ErrorKind::Unsupported.into()) };
        let from = settings.identity.process;
        let (bell, ringer) = Doorbell::pair()?;
        let mine = Mine { outbox: Arc::new(Outbox::new()?), bell };
        let page = match self.page.take() {
            Some(page) => page,
            None => SharedWords::new("runnel-page", size_of::<u64>())?,
        };
        let page = self.page.insert(page);
        let fds = [page.fd(), mine.outbox.memory().fd(), ringer.as_fd()];
        match packets.send(&Hello { from, to }.to_bytes(), &fds)? {
            true => Ok(mine),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// A packet has come where a greeting is expected, or the end.
    pub(super) fn greeting_readable(&mut self, key: Key, effects: &mut Effects) {
        let Some(Entry::Greeting(greeting)) = self.entries.get(key) else { return };
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
                        return self.end_with_other_version(key, from, effects);
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
            Ok(Received::End) => return self.end_greeting(key, effects),
            Err(error) => Err(error.into()),
        };
        // What it brought is known now.
        if let (Ok(_), Some(Entry::Greeting(greeting))) = (&theirs, self.entries.get(key)) {
            greeting.packets.discard();
        }
        let stands = theirs.and_then(|theirs| self.begin_session(key, theirs, effects));
        if let Err(why) = stands {
            // Said once of each, however often it is tried.
            if process.is_none_or(|process| self.refused.add(process)) {
                self.warn(format_args!("no session with another process of this host: {why}"));
            }
            self.end_greeting(key, effects);
        }
    }

    fn understand(&self, key: Key, hello: Hello, fds: Vec<OwnedFd>) -> Result<Theirs, GreetingFault> {
        let me = self.settings.as_ref().map(|settings| settings.identity.process);
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
        let me = self.settings.as_ref().map(|settings| settings.identity.process);
        match self.entries.get(key) {
            Some(Entry::Greeting(Greeting { greeted: Some((process, _)), .. })) => from == *process,
            // Whose number is greater is connected to, and does not connect.
            Some(Entry::Greeting(_)) => Some(from) < me && !self.peers.contains_key(&from),
            _ => false,
        }
    }

    /// The bell by which threads of this process wake the driver.
    fn own_bell(&mut self) -> io::Result<Arc<Ringer>> {
        if let Some(bell) = &self.own_bell {
            return Ok(Arc::clone(bell));
        }
        let (bell, ringer) = Doorbell::pair()?;
        let key = self.entries.insert_with(|_| Entry::Nothing);
        if let Err(error) = self.reactor.add_edge(&bell, Token(key.to_bits())) {
            self.remove(key);
            return Err(error);
        }
        if let Some(place) = self.entries.get_mut(key) {
            *place = Entry::OwnBell { _doorbell: bell };
        }
        Ok(Arc::clone(self.own_bell.insert(Arc::new(ringer))))
    }

    /// Both have greeted once this process has.
    fn begin_session(
        &mut self,
        key: Key,
        theirs: Theirs,
        effects: &mut Effects,
    ) -> Result<(), GreetingFault> {
        let Some(Entry::Greeting(Greeting { packets, greeted, .. })) = self.entries.get_mut(key) else {
            return Ok(());
        };
        let (packets, greeted) = (Arc::clone(packets), greeted.take());
        let mine = match greeted {
            Some((_, mine)) => mine,
            None => match self.greet(&packets, theirs.process) {
                Ok(mine) => mine,
                // It has ended since.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    self.end_greeting(key, effects);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            },
        };
        let bell = self.entries.insert_with(|_| Entry::Nothing);
        match self.make_session([key, bell], packets, mine, theirs) {
            Ok(session) => self.add_session(session, effects),
            Err(error) => {
                self.remove(bell);
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
        let (bells, pool) = ((bell, self.own_bell()?), Arc::clone(&self.pool));
        let sender = Arc::new(Sender::new(memory, page, bells, Arc::clone(&packets), pool));
        let receiver = Receiver::new(mine.outbox, inbox, Arc::clone(&packets), same_user);
        self.reactor.add_edge(&mine.bell, Token(sockets[1].to_bits()))?;
        Ok(Session::new(process, sockets, packets, mine.bell, receiver, sender))
    }

    fn add_session(&mut self, session: Session, effects: &mut Effects) {
        let (process, [key, bell]) = (session.process, session.sockets);
        let session = self.open.insert_with(|_| session);
        for (key, socket) in [(key, Entry::Session(session)), (bell, Entry::Bell(session))] {
            if let Some(place) = self.entries.get_mut(key) {
                *place = socket;
            }
        }
        effects.cancel(Deadline::Greeting(key));
        self.peers.insert(process, key);
        self.refused.remove(process);
        self.standing.push(session);
        self.stands(session, process, effects);
        // The bell may have rung before the reactor knew it.
        effects.push_back(Effect::BellRang { session });
    }

    /// The process that this one has greeted by a socket.
    fn greeted_at(&self, key: Key) -> Option<u128> {
        self.peers.iter().find(|(_, peer)| **peer == key).map(|(process, _)| *process)
    }

    pub(super) fn end_greeting(&mut self, key: Key, effects: &mut Effects) {
        effects.cancel(Deadline::Greeting(key));
        let process = self.greeted_at(key);
        self.remove(key);
        if let Some(process) = process {
            // It may have been too busy, or have had too many others.
            self.peers.remove(&process);
            self.plan_to_meet_again(process, clock::monotonic(), effects);
        }
    }

    /// Nobody has greeted on a connection in time.
    pub(in crate::driver) fn greeting_due(&mut self, key: Key, effects: &mut Effects) {
        if matches!(self.entries.get(key), Some(Entry::Greeting(_))) {
            self.end_greeting(key, effects);
        }
    }
}
