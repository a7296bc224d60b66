//! Sessions with other processes of this host: how they come about, how links go over to them and back.
//!
//! ```text
//!  subscriber or client                              publisher or service
//!     header: my process, a token        ─► TCP ─►   a link of that token
//!                                        ◄─ TCP ◄─   header: my process
//!     (whose number is less connects: one session for each pair of processes)
//!  topics:   REACHED, ASK token        ─► ring ─►    the link goes over between two messages:
//!     reads messages before that of TCP ◄─ ring ◄─   OPEN_SAMPLES channel, token, the first message
//!     messages                         ◄─ ring ◄─    SAMPLE, SAMPLE_SLOT, SAMPLE_BEGIN, BYTES channel
//!     REACHED                          ─► ring ─►    sends without limit
//!  services: ASK token                 ─► ring ─►    the link goes over, wherever its stream is:
//!     reads that many bytes of TCP     ◄─ ring ◄─    OPEN channel, token, bytes that went by TCP
//!     responses                        ◄─ ring ◄─    BYTES channel
//! ```
//! Where no session comes about, the link stays on its connection. It also goes back to it when the session ends, with
//! what the other end has not read; then the processes meet again.

mod delivery;
mod ending;
mod greeting;
mod hearing;
mod late;
mod link_delivery;
mod link_share;
mod pair_delivery;
mod processes;
mod put_off;
mod samples;
mod versions;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::local_peer::{LocalIdentity, LocalPeerId};
use runnel_core::time::Instant;
use runnel_core::timers::Timers;
use runnel_io::memory::SharedWords;
use runnel_io::unix::Packets;
use runnel_io::{Doorbell, Ringer, Token, clock};

use super::Driver;
use super::sockets::{Socket, Sockets};
use super::table::{Key, Table};
use super::throttle::Throttle;
use crate::environment::IpcSettings;
use crate::ipc::{Pool, Receiver, Sender, awake};
use crate::log_output::console;
use ending::Ending;
pub(super) use greeting::Greeting;
use late::LateLinks;
use link_delivery::PATIENCE;
pub(super) use link_delivery::{LinkFault, LinkPair};
pub(super) use link_share::{Name, name_of};
pub(super) use pair_delivery::PairDelivery;
use processes::Processes;
use put_off::PutOff;
pub(super) use samples::{SampleInput, SampleOutput};

/// Processes that may have a session with this one at a time, those that are being greeted included.
const MOST_SESSIONS: usize = 256;

/// Turns with messages for each look at the reactor, which takes a system call, while messages come.
const TURNS: u32 = 64;

/// Looks at the rings for each look at the reactor, while nobody sleeps and none comes.
const LOOKS: u32 = 1000;

/// The pause before a session that ended is made again, doubled each time that it did not stand for [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// All sessions of a driver.
pub(super) struct Sessions {
    /// `None` if links stay on the network.
    settings: Option<IpcSettings>,
    /// Memory for long messages.
    pool: Arc<Pool>,
    /// Whether this process sleeps; made with the first session.
    page: Option<SharedWords>,
    /// By which threads wake the driver: no peer has it. Made with the page.
    own_bell: Option<Arc<Ringer>>,
    /// It listens, or has tried to.
    listens: bool,
    open: Table<Session>,
    /// Those, to be looked at one after the other.
    standing: Vec<Key>,
    /// Those whose other end may still read.
    ending: Vec<Key>,
    /// Sockets of sessions that stand or are being made, by the process at the other end.
    peers: HashMap<u128, Key>,
    /// Sockets of links whose other end may be of this host, by token.
    links: HashMap<u128, Key>,
    /// Processes that were met, and the pause before they are met again.
    again: HashMap<u128, Duration>,
    timers: Timers<Timer>,
    /// Processes with which there can be no session.
    other_versions: Processes,
    /// Processes that made no session, of which the log has said why.
    refused: Processes,
    /// Since when a link of some session waits for what its connection still has.
    late_since: Option<Instant>,
    /// What waits until datagrams have been handed out.
    put_off: PutOff,
    /// Pairs that wait for samples of RTPS.
    draining: Vec<Key>,
    /// Links that wait for messages of their connections, since when, and whether these are being read.
    owed: Vec<(Key, Instant)>,
    reads_owed: bool,
    /// With messages, since the reactor was looked at.
    turns: u32,
    throttle: Throttle,
}

/// What is to be done at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// It is looked at whether the other end of a session that ends has read.
    Ending(Key),
    /// A process is met again.
    Meet(u128),
    /// The greeting on a connection is late.
    Greeting(Key),
}

/// A session that stands.
pub(super) struct Session {
    process: u128,
    /// Its socket in the driver, and that of its doorbell.
    sockets: [Key; 2],
    packets: Arc<Packets>,
    _bell: Doorbell,
    receiver: Receiver,
    sender: Arc<Sender>,
    /// Sockets of the links that come by each channel.
    channels: Vec<Option<Key>>,
    /// Tokens that were not asked for or not answered yet: for want of room, or because a header of ours is on its way.
    unasked: Vec<u128>,
    unopened: Vec<u128>,
    /// Tokens that the other process has asked for and this one does not know yet, the latest.
    early: VecDeque<(u128, bool)>,
    /// Pairs whose writers could not be told how far their readers are.
    untold: Vec<Key>,
    /// Links that wait for what their connections still have, and whether these are being read.
    late: LateLinks,
    catching_up: bool,
    /// Its records are being worked on.
    hearing: bool,
    since: Instant,
    /// The session ends, but the peer may still read what it finds.
    ending: Option<Ending>,
}

impl Session {
    /// What a channel carries.
    fn link_of(&self, channel: u32) -> Option<Key> {
        self.channels.get(channel as usize).copied().flatten()
    }

    /// One that nothing has come by.
    fn new(
        process: u128,
        sockets: [Key; 2],
        packets: Arc<Packets>,
        bell: Doorbell,
        receiver: Receiver,
        sender: Arc<Sender>,
    ) -> Self {
        Self {
            process,
            sockets,
            packets,
            _bell: bell,
            receiver,
            sender,
            channels: Vec::new(),
            unasked: Vec::new(),
            unopened: Vec::new(),
            early: VecDeque::new(),
            untold: Vec::new(),
            late: LateLinks::default(),
            catching_up: false,
            hearing: false,
            since: clock::monotonic(),
            ending: None,
        }
    }
}

impl Sessions {
    pub(super) fn new(settings: Option<IpcSettings>, pool: Arc<Pool>) -> Self {
        Self {
            settings,
            pool,
            page: None,
            own_bell: None,
            listens: false,
            open: Table::default(),
            standing: Vec::new(),
            ending: Vec::new(),
            peers: HashMap::new(),
            links: HashMap::new(),
            again: HashMap::new(),
            timers: Timers::new(),
            other_versions: Processes::default(),
            refused: Processes::default(),
            late_since: None,
            put_off: PutOff::default(),
            draining: Vec::new(),
            owed: Vec::new(),
            reads_owed: false,
            turns: 0,
            throttle: Throttle::default(),
        }
    }

    /// True if there is none that stands.
    pub(super) fn is_empty(&self) -> bool {
        self.standing.is_empty()
    }

    /// When something is to be done.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.next_deadline()
    }

    /// A wait, cut short where a link does not wait longer for what its connection still has.
    pub(super) fn no_longer_than_patience(&self, wait: Option<Duration>) -> Option<Duration> {
        let left = self.late_since.map(|since| (since + PATIENCE).since(clock::monotonic()));
        [wait, left].into_iter().flatten().min()
    }

    /// The session with a process, if it stands.
    fn session_with(&self, process: u128, sockets: &Sockets) -> Option<Key> {
        match self.peers.get(&process).and_then(|key| sockets.get(*key)) {
            Some(Socket::Session(session)) => Some(*session),
            _ => None,
        }
    }

    /// Logs what a peer did, unless there is too much of it.
    fn warn(&mut self, line: fmt::Arguments<'_>) {
        self.throttle.warn(clock::monotonic(), line, |line| console::warning!("{line}"));
    }

    /// Logs what a peer did that ended its session.
    fn warn_of_end(&mut self, why: impl fmt::Display) {
        self.warn(format_args!("another process of this host: {why}; its links go on over the network"));
    }

    /// Whether the reactor may be passed over once more.
    pub(super) fn passes_over_reactor(&mut self) -> bool {
        self.turns = (self.turns + 1) % TURNS;
        self.turns != 0
    }

    /// From now on peers ring. Their rings are to be looked at before this process sleeps.
    pub(super) fn fall_asleep(&self) {
        self.page.iter().for_each(|page| {
            awake::fall_asleep(page.words());
        });
    }

    /// Peers need not ring.
    pub(super) fn wake_up(&self) {
        self.page.iter().for_each(|page| {
            awake::wake_up(page.words());
        });
    }
}

impl Driver {
    /// Who this process is for others of its host, for one more node: with a secret of its own, since each counts its
    /// links.
    pub(crate) fn same_host(&mut self) -> Option<LocalIdentity> {
        self.listen_for_processes();
        let identity = &mut self.sessions.settings.as_mut()?.identity;
        identity.secret = identity.secret.wrapping_add(1);
        Some(identity.clone())
    }

    /// A link stands whose other end may be of this host.
    pub(super) fn meet(&mut self, key: Key, meeting: Option<LocalPeerId>) {
        let Some(LocalPeerId { process, token }) = meeting else { return };
        self.sessions.links.insert(token, key);
        match self.sessions.peers.get(&process).and_then(|key| self.sockets.get(*key)) {
            Some(Socket::Session(session)) => self.ask(*session, key, token),
            Some(_) => {}
            None => self.connect_process(process),
        }
    }

    /// A link is gone.
    pub(super) fn part(&mut self, key: Key, LocalPeerId { process, token }: LocalPeerId) {
        // Another link may be known by that token already.
        if self.sessions.links.get(&token) == Some(&key) {
            self.sessions.links.remove(&token);
        }
        self.hurry_ending(process);
    }

    /// A session stands: links with the other process go over to it.
    fn stands(&mut self, session: Key, process: u128) {
        self.sessions.timers.cancel(&Timer::Meet(process));
        let links: Vec<(u128, Key)> = self.sessions.links.iter().map(|(token, key)| (*token, *key)).collect();
        for (token, key) in links {
            if self.meeting_of(key).is_some_and(|meeting| meeting.process == process) {
                self.ask(session, key, token);
            }
        }
    }

    fn meeting_of(&self, key: Key) -> Option<LocalPeerId> {
        self.sockets.get(key).and_then(Socket::meeting)
    }

    /// Whoever has asked for a link asks to have it by a session as well.
    fn ask(&mut self, session: Key, key: Key, token: u128) {
        let samples = match self.sockets.get_mut(key) {
            Some(Socket::Input(_)) => return self.ask_for_link(session, key, token),
            Some(Socket::SampleOutput(_)) => return self.go_over_if_asked(session, token),
            Some(Socket::SampleInput(input)) if input.memory.delivery.is_some() => {
                return input.asks_later = true;
            }
            Some(Socket::SampleInput(input)) => Some(input.waits_for_user()),
            Some(Socket::Called(_)) => None,
            _ => return,
        };
        let Some(session) = self.sessions.open.get_mut(session) else { return };
        let asked = match samples {
            Some(waits_for_user) => session.sender.ask_samples(token, waits_for_user),
            None => session.sender.ask(token),
        };
        if !asked {
            session.unasked.push(token);
        }
    }

    /// Whether this process has sessions at all.
    pub(super) fn has_sessions(&self) -> bool {
        self.sessions.settings.is_some()
    }

    /// By what other processes of this host find this one.
    pub(super) fn own_process(&mut self) -> Option<u128> {
        self.listen_for_processes();
        self.sessions.settings.as_ref().map(|settings| settings.identity.process)
    }

    /// Some thread has found room for links that wait.
    pub(super) fn own_bell_rang(&mut self) {
        self.sessions.standing.clone().into_iter().for_each(|session| self.bell_rang(session));
    }

    /// The doorbell of a session has rung: there are records, or there is room.
    pub(super) fn bell_rang(&mut self, session: Key) {
        if self.sessions.ending.contains(&session) {
            return self.end_if_read(session);
        }
        self.hear(session);
        let Some(open) = self.sessions.open.get_mut(session) else { return };
        let (unasked, unopened) = (std::mem::take(&mut open.unasked), std::mem::take(&mut open.unopened));
        let (untold, waiting) = (std::mem::take(&mut open.untold), open.sender.ready_links());
        untold.into_iter().for_each(|key| self.tell_untold(key));
        for token in unasked {
            if let Some(key) = self.sessions.links.get(&token).copied() {
                self.ask(session, key, token);
            }
        }
        unopened.into_iter().for_each(|token| self.go_over(session, token));
        for Token(bits) in waiting {
            self.writable(Key::from_bits(bits));
        }
    }
}
