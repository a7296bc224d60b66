//! How processes of one host find each other: each listens by a name of its number, and the one of the lesser number connects.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::time::Duration;

use runnel_io::unix::{Packets, UnixAddress, folder};
use runnel_io::{Interest, PacketListener, Token, clock, host};

use super::{Entry, MOST_SESSIONS, Sessions};
use crate::driver::effect::{Deadline, Effects};
use crate::driver::limits::ACCEPT_BATCH;
use crate::driver::table::Key;
use crate::log_output::console;

/// What the names begin with that processes are found by.
const PREFIX: &str = "runnel-";

/// Descriptors that must be free for a session: it takes seven while it is made, and connections come first.
const DESCRIPTORS: u64 = 16;

/// How long nobody is accepted once descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

impl Sessions {
    /// Listens for other processes of the host, the first time that it is asked to.
    pub(super) fn listen_for_processes(&mut self) {
        if std::mem::replace(&mut self.listens, true) {
            return;
        }
        let Some(settings) = self.settings.clone() else { return };
        let name = name(settings.identity.process);
        let by_name = PacketListener::bind(UnixAddress::Abstract(name.as_bytes()));
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
            self.settings.iter_mut().for_each(|settings| settings.directory = None);
        }
    }

    fn add_packet_listener(&mut self, listener: PacketListener) -> io::Result<()> {
        let key = self.entries.insert_with(|_| Entry::Nothing);
        let watched = self.reactor.add(&listener, Token(key.to_bits()), Interest::Read);
        if let Some(place) = self.entries.get_mut(key) {
            *place = Entry::Listener(listener);
        }
        watched.inspect_err(|_| self.remove(key))
    }

    /// Other processes of the host do not find this one any more.
    pub(crate) fn leave_host(&mut self) {
        for key in self.entries.keys() {
            if matches!(self.entries.get(key), Some(Entry::Listener(_))) {
                self.remove(key);
            }
        }
    }

    pub(super) fn packets_accepted(&mut self, key: Key, effects: &mut Effects) {
        for _ in 0..ACCEPT_BATCH {
            let Some(Entry::Listener(listener)) = self.entries.get(key) else { return };
            match listener.accept() {
                Ok(Some(packets)) => self.greeted_by(packets, effects),
                Ok(None) => return,
                Err(error) => return self.pause_accepting(key, &error, effects),
            }
        }
    }

    /// Without free descriptors a listener would be ready for ever: all are left alone for a moment.
    fn pause_accepting(&mut self, key: Key, error: &io::Error, effects: &mut Effects) {
        let pause = ACCEPT_PAUSE.as_millis();
        let what = format_args!("cannot accept connections, trying again in {pause} ms: {error}");
        self.throttle.warn(clock::monotonic(), what, |line| console::error!("{line}"));
        self.watch_listener(key, Interest::Nothing);
        effects.schedule(Deadline::AcceptProcesses, clock::monotonic() + ACCEPT_PAUSE);
    }

    /// Listeners that were left alone are looked at again.
    pub(in crate::driver) fn resume_accepting(&mut self) {
        self.entries.keys().into_iter().for_each(|key| self.watch_listener(key, Interest::Read));
    }

    fn watch_listener(&self, key: Key, interest: Interest) {
        if let Some(Entry::Listener(listener)) = self.entries.get(key) {
            let _ = self.reactor.modify(listener, Token(key.to_bits()), interest);
        }
    }

    fn greeted_by(&mut self, packets: Packets, effects: &mut Effects) {
        if self.trusts(&packets) && leaves_descriptors(&packets) && self.count_greetings() < MOST_SESSIONS {
            self.add_greeting(packets, None, effects);
        }
    }

    /// Whether the process at the other end is of a user whose processes may have a session.
    fn trusts(&self, packets: &Packets) -> bool {
        let users = self.settings.as_ref().map_or(&[][..], |settings| &settings.users);
        packets.same_user().is_some() || packets.peer().is_ok_and(|peer| users.contains(&peer.uid))
    }

    fn count_greetings(&self) -> usize {
        self.entries.iter().filter(|socket| matches!(socket, Entry::Greeting(_) | Entry::Session(_))).count()
    }

    /// Connects to a process of this host, unless it is the one that connects, or cannot be found.
    pub(super) fn connect_process(&mut self, process: u128, effects: &mut Effects) {
        let Some(settings) = &self.settings else { return };
        let is_met = self.peers.contains_key(&process);
        if settings.identity.process >= process || is_met || self.other_versions.has(process) {
            return;
        }
        let name = name(process);
        let by_name = Packets::connect(UnixAddress::Abstract(name.as_bytes()));
        let by_file = |error| match &settings.directory {
            Some(directory) => connect_in(directory, &name),
            None => Err(error),
        };
        let packets = match by_name.or_else(by_file) {
            Ok(packets) if !self.trusts(&packets) => return,
            Ok(packets) if !leaves_descriptors(&packets) || self.count_greetings() >= MOST_SESSIONS => {
                return self.plan_to_meet_again(process, clock::monotonic(), effects);
            }
            Ok(packets) => packets,
            Err(error) => return self.try_later(process, &error, effects),
        };
        match self.greet(&packets, process) {
            Ok(mine) => self.add_greeting(packets, Some((process, mine)), effects),
            Err(error) => {
                self.warn(format_args!("no session with another process of this host: {error}"));
                self.try_later(process, &error, effects);
            }
        }
    }

    /// Has a process that could not be greeted met later, unless it is not of this host, as most are.
    fn try_later(&mut self, process: u128, error: &io::Error, effects: &mut Effects) {
        let absent = matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound);
        if !absent && !self.again.contains_key(&process) {
            self.plan_to_meet_again(process, clock::monotonic(), effects);
        }
    }
}

/// Listens in a folder, and removes what processes left there that were killed.
fn listen_in(directory: &Path, name: &str) -> io::Result<PacketListener> {
    folder::check(directory)?;
    folder::remove_dead_sockets(directory, PREFIX)?;
    PacketListener::bind(UnixAddress::Path(&directory.join(name)))
}

/// Connects in a folder. A process that is found dead there is not the only one.
fn connect_in(directory: &Path, name: &str) -> io::Result<Packets> {
    let connected = Packets::connect(UnixAddress::Path(&directory.join(name)));
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
