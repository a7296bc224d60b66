//! Set-up of IPC connections: every process listens at a name made from its process id, and the process with the lower
//! id connects.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::time::Duration;

use runnel_io::unix::{Packets, UnixAddress, folder};
use runnel_io::{Interest, PacketListener, Token, clock, host};

use super::{Entry, IpcConnections, MAX_IPC_CONNECTIONS};
use crate::driver::effect::{Deadline, Effects};
use crate::driver::limits::ACCEPT_BATCH;
use crate::driver::table::Key;
use crate::log_output::console;

/// Prefix of the names.
const PREFIX: &str = "runnel-";

/// File descriptors that must be free for an IPC connection. It takes seven during the handshake, and ROS connections
/// come first.
const DESCRIPTORS: u64 = 16;

/// Pause of the listeners after file descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

impl IpcConnections {
    /// Begins to listen for other processes of the host, at the first call.
    pub(super) fn listen_for_processes(&mut self) {
        if std::mem::replace(&mut self.listens, true) {
            return;
        }
        let Some(settings) = self.settings.clone() else { return };
        let name = name(settings.identity.process);
        let by_name = PacketListener::bind(UnixAddress::Abstract(name.as_bytes()));
        if let Err(error) = by_name.and_then(|listener| self.add_packet_listener(listener)) {
            console::warning!(
                "cannot listen for other processes of this host: {error}. Links with some of them stay on the network"
            );
        }
        let Some(directory) = settings.directory else { return };
        let by_file = listen_in(&directory, &name).and_then(|listener| self.add_packet_listener(listener));
        if let Err(error) = by_file {
            let directory = directory.display();
            console::warning!(
                "RUNNEL_IPC_DIR={directory} cannot be used: {error}. Processes in other network namespaces are reached over the network"
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

    /// Stops listening.
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
                Ok(Some(packets)) => self.accept_process(packets, effects),
                Ok(None) => return,
                Err(error) => return self.pause_accepting(key, &error, effects),
            }
        }
    }

    /// Pauses the listeners: without free descriptors, they would be ready all the time.
    fn pause_accepting(&mut self, key: Key, error: &io::Error, effects: &mut Effects) {
        let pause = ACCEPT_PAUSE.as_millis();
        let what = format_args!("cannot accept connections, trying again in {pause} ms: {error}");
        self.throttle.warn(clock::monotonic(), what, |line| console::error!("{line}"));
        self.watch_listener(key, Interest::Nothing);
        effects.schedule(Deadline::AcceptProcesses, clock::monotonic() + ACCEPT_PAUSE);
    }

    /// Resumes paused listeners.
    pub(in crate::driver) fn resume_accepting(&mut self) {
        self.entries.keys().into_iter().for_each(|key| self.watch_listener(key, Interest::Read));
    }

    fn watch_listener(&self, key: Key, interest: Interest) {
        if let Some(Entry::Listener(listener)) = self.entries.get(key) {
            let _ = self.reactor.modify(listener, Token(key.to_bits()), interest);
        }
    }

    fn accept_process(&mut self, packets: Packets, effects: &mut Effects) {
        if self.trusts(&packets)
            && leaves_descriptors(&packets)
            && self.count_connections() < MAX_IPC_CONNECTIONS
        {
            self.add_handshake(packets, None, effects);
        }
    }

    /// Whether the peer's user may have an IPC connection.
    fn trusts(&self, packets: &Packets) -> bool {
        let users = self.settings.as_ref().map_or(&[][..], |settings| &settings.users);
        packets.same_user().is_some() || packets.peer().is_ok_and(|peer| users.contains(&peer.uid))
    }

    fn count_connections(&self) -> usize {
        self.entries
            .iter()
            .filter(|socket| matches!(socket, Entry::Handshake(_) | Entry::IpcConnection(_)))
            .count()
    }

    /// Connects to a process of this host, if this process has the lower id.
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
            Ok(packets)
                if !leaves_descriptors(&packets) || self.count_connections() >= MAX_IPC_CONNECTIONS =>
            {
                return self.schedule_reconnect(process, clock::monotonic(), effects);
            }
            Ok(packets) => packets,
            Err(error) => return self.try_later(process, &error, effects),
        };
        match self.send_hello(&packets, process) {
            Ok(local) => self.add_handshake(packets, Some((process, local)), effects),
            Err(error) => {
                self.warn(format_args!("no IPC connection with another process of this host: {error}"));
                self.try_later(process, &error, effects);
            }
        }
    }

    /// Schedules another attempt, unless the process is not on this host, which is the usual case.
    fn try_later(&mut self, process: u128, error: &io::Error, effects: &mut Effects) {
        let absent = matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound);
        if !absent && !self.reconnect_pauses.contains_key(&process) {
            self.schedule_reconnect(process, clock::monotonic(), effects);
        }
    }
}

/// Listens in a folder, and removes sockets that killed processes left there.
fn listen_in(directory: &Path, name: &str) -> io::Result<PacketListener> {
    folder::check(directory)?;
    folder::remove_dead_sockets(directory, PREFIX)?;
    PacketListener::bind(UnixAddress::Path(&directory.join(name)))
}

/// Connects in a folder. If the process is dead, removes the sockets of all dead processes.
fn connect_in(directory: &Path, name: &str) -> io::Result<Packets> {
    let connected = Packets::connect(UnixAddress::Path(&directory.join(name)));
    if connected.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        let _ = folder::remove_dead_sockets(directory, PREFIX);
    }
    connected
}

/// Whether enough file descriptors are free for an IPC connection and for everything else. The kernel assigns the
/// lowest free number, so all numbers below `newest` are in use.
fn leaves_descriptors(newest: &Packets) -> bool {
    let used = u64::try_from(newest.as_fd().as_raw_fd()).unwrap_or(u64::MAX);
    host::descriptor_limit().is_none_or(|limit| used.saturating_add(DESCRIPTORS) <= limit)
}

/// Name at which a process listens.
fn name(process: u128) -> String {
    format!("{PREFIX}{process:032x}")
}
