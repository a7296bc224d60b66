//! Connections of the network.
//!
//! A connection consists of two pipes. Events in a pipe (connection request, segments, end) come out in order.
//! Programs get them as [`ConnectionEvent`], immediately or when they resume.

use std::net::SocketAddr;

use runnel_core::time::Instant;
use runnel_ros1::net::{ConnId, Endpoint, Transmit};
use runnel_ros1::node::Port;

use super::conditions::Split;
use super::connection_event::ConnectionEvent;
use super::trace::brief;
use super::{App, Net};

/// The system's error for a connection that the peer broke.
pub(super) const RESET: &str = "Connection reset by peer (os error 104)";

/// The system's error when no program listens.
const REFUSED: &str = "Connection refused (os error 111)";

/// The system's error for an unknown host name.
const UNKNOWN: &str = "failed to lookup address information: Name or service not known";

/// Id of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WireId(u64);

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Opener,
    Listener,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Opener => Self::Listener,
            Self::Listener => Self::Opener,
        }
    }
}

/// A connection, with its opener's end first.
#[derive(Debug)]
pub(super) struct Wire {
    ends: [End; 2],
    pub(super) kind: Port,
    pub(super) from: SocketAddr,
}

/// One end, and the pipe that leads to it.
#[derive(Debug)]
pub(super) struct End {
    pub(super) app: App,
    /// The program's id for it; `None` until it has accepted.
    pub(super) conn: Option<ConnId>,
    /// Whether the program has not closed it.
    pub(super) open: bool,
    /// Whether this end has finished sending.
    finished: bool,
    inbound: Pipe,
}

#[derive(Debug, Default)]
struct Pipe {
    /// When its last event comes out.
    last: Instant,
    /// Segments in transit.
    under_way: usize,
    /// Bytes that have arrived, and are held until the next segment or until the program accepts.
    arrived: Vec<u8>,
    /// Whether the end has come out.
    over: bool,
}

/// An event that comes out of a pipe.
#[derive(Debug)]
pub(super) enum NetEvent {
    Knock { app: App, conn: ConnId, to: Endpoint },
    NotOpened { app: App, conn: ConnId, why: &'static str },
    Opened { wire: WireId },
    Segment { wire: WireId, to: Side, bytes: Vec<u8> },
    Bound { app: App, conn: ConnId, port: u16 },
    Datagram { app: App, conn: ConnId, to: SocketAddr, bytes: Vec<u8> },
    Finish { wire: WireId, to: Side },
    Reset { wire: WireId, to: Side },
}

impl Wire {
    pub(super) fn end(&self, side: Side) -> &End {
        &self.ends[side as usize]
    }

    /// The programs at its ends.
    pub(super) fn apps(&self) -> [App; 2] {
        self.ends.each_ref().map(|end| end.app)
    }

    /// Whether a program has not accepted it yet.
    pub(super) fn waits_for(&self, app: App) -> bool {
        self.ends.iter().any(|end| end.app == app && end.conn.is_none())
    }

    /// Delays all later events until `at`.
    pub(super) fn nothing_before(&mut self, at: Instant) {
        self.ends.iter_mut().for_each(|end| end.inbound.last = end.inbound.last.max(at));
    }

    fn end_mut(&mut self, side: Side) -> &mut End {
        &mut self.ends[side as usize]
    }
}

impl End {
    fn new(app: App, conn: Option<ConnId>) -> Self {
        Self { app, conn, open: true, finished: false, inbound: Pipe::default() }
    }
}

impl Net {
    /// Carries out one socket operation of a program.
    pub(super) fn transmit(&mut self, app: App, transmit: Transmit) {
        match transmit {
            Transmit::Connect { conn, to } => self.connect(app, conn, &to),
            Transmit::OpenDatagram { conn, to } => self.open_datagram(app, conn, to),
            Transmit::Send { conn, bytes } => self.send(app, conn, bytes),
            Transmit::Close { conn } => self.close(app, conn),
        }
    }

    /// Opens a connection, or reports that it cannot be opened.
    pub(super) fn connect(&mut self, app: App, conn: ConnId, to: &Endpoint) {
        self.note(format!("{} ─► {to}: connects", self.running[app.0].name));
        self.opening.insert((app, conn));
        if !self.hosts.contains_key(&to.host) {
            return self.schedule(self.now, NetEvent::NotOpened { app, conn, why: UNKNOWN });
        }
        let at = self.now + self.latency();
        self.schedule(at, NetEvent::Knock { app, conn, to: to.clone() });
    }

    /// Sends bytes, in pieces that the conditions specify.
    pub(super) fn send(&mut self, app: App, conn: ConnId, bytes: Vec<u8>) {
        if self.send_on_datagrams(app, conn, &bytes) {
            return;
        }
        let Some(&(wire, side)) = self.ends.get(&(app, conn)) else { return };
        let to = side.other();
        let Some(line) = self.wires.get_mut(&wire) else { return };
        if !line.end(side).open || line.end(side).finished {
            return;
        }
        let receiver = line.end(to).app;
        let (from, to_name) = (&self.running[app.0].name, &self.running[receiver.0].name);
        self.trace.note(self.now, format!("{from} ─► {to_name}: {}", brief(&bytes)));
        for bytes in self.pieces(bytes) {
            if let Some(line) = self.wires.get_mut(&wire) {
                line.end_mut(to).inbound.under_way += 1;
            }
            self.enter_pipe(wire, to, NetEvent::Segment { wire, to, bytes });
        }
    }

    fn pieces(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let cuts: Vec<usize> = match self.conditions.split {
            Split::Whole => Vec::new(),
            Split::Bytes => (1..bytes.len()).collect(),
            Split::Random => {
                let mut cuts: Vec<usize> =
                    (0..self.rng.below(4)).map(|_| self.rng.below(bytes.len())).collect();
                cuts.sort_unstable();
                cuts
            }
        };
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([bytes.len()]);
        starts
            .zip(ends)
            .filter(|(start, end)| start < end)
            .map(|(start, end)| bytes[start..end].to_vec())
            .collect()
    }

    /// A program closes its end. Bytes sent before still arrive.
    pub(super) fn close(&mut self, app: App, conn: ConnId) {
        self.opening.remove(&(app, conn));
        self.datagrams.remove(&(app, conn));
        let Some((wire, side)) = self.ends.remove(&(app, conn)) else { return };
        self.finish(wire, side);
        if let Some(line) = self.wires.get_mut(&wire) {
            line.end_mut(side).open = false;
        }
        self.forget_if_over(wire);
    }

    /// One end finishes sending. It still receives.
    pub(super) fn finish(&mut self, wire: WireId, side: Side) {
        let Some(line) = self.wires.get_mut(&wire) else { return };
        if std::mem::replace(&mut line.end_mut(side).finished, true) || !line.end(side.other()).open {
            return;
        }
        self.enter_pipe(wire, side.other(), NetEvent::Finish { wire, to: side.other() });
    }

    fn forget_if_over(&mut self, wire: WireId) {
        if self.wires.get(&wire).is_some_and(|line| !line.ends.iter().any(|end| end.open)) {
            self.wires.remove(&wire);
        }
    }

    /// Removes a connection immediately, with everything in transit; its programs get the reason.
    pub(super) fn break_wire(&mut self, wire: WireId, why: &str) {
        let Some(line) = self.wires.remove(&wire) else { return };
        for end in line.ends {
            let Some(conn) = end.conn.filter(|_| end.open) else { continue };
            self.ends.remove(&(end.app, conn));
            self.notify(end.app, ConnectionEvent::Closed { conn, why: Some(why.to_owned()) });
        }
    }

    pub(super) fn latency(&mut self) -> std::time::Duration {
        let (least, most) = self.conditions.latency;
        self.rng.between(least, most)
    }

    /// Adds an event to the pipe that leads to one end of a connection.
    pub(super) fn enter_pipe(&mut self, wire: WireId, to: Side, happening: NetEvent) {
        let arrival = self.now + self.latency();
        let Some(line) = self.wires.get_mut(&wire) else { return };
        let last = &mut line.end_mut(to).inbound.last;
        *last = arrival.max(*last);
        let at = *last;
        self.schedule(at, happening);
    }

    pub(super) fn schedule(&mut self, at: Instant, happening: NetEvent) {
        self.event_count += 1;
        self.agenda.insert((at, self.event_count), happening);
    }

    /// Processes an event that comes out of a pipe, unless a disconnected host holds it.
    pub(super) fn process_event(&mut self, happening: NetEvent) {
        if self.is_held_up(&happening) {
            // Datagrams to a disconnected host are lost, not held.
            if !matches!(happening, NetEvent::Datagram { .. }) {
                self.held.push(happening);
            }
            return;
        }
        match happening {
            NetEvent::Knock { app, conn, to } => self.arrive_connect(app, conn, to),
            NetEvent::NotOpened { app, conn, why } => {
                if self.opening.remove(&(app, conn)) {
                    self.notify(app, ConnectionEvent::Closed { conn, why: Some(why.to_owned()) });
                }
            }
            NetEvent::Opened { wire } => {
                if let Some((app, conn)) = self.receiver(wire, Side::Opener) {
                    self.notify(app, ConnectionEvent::Connected { conn });
                }
            }
            NetEvent::Segment { wire, to, bytes } => self.arrive(wire, to, &bytes),
            NetEvent::Bound { app, conn, port } => self.bound(app, conn, port),
            NetEvent::Datagram { app, conn, to, bytes } => self.datagram_arrives(app, conn, to, bytes),
            NetEvent::Finish { wire, to } => self.finished(wire, to),
            NetEvent::Reset { wire, to } => self.was_reset(wire, to),
        }
    }

    fn is_held_up(&self, happening: &NetEvent) -> bool {
        let wire = match happening {
            NetEvent::NotOpened { .. } | NetEvent::Bound { .. } => return false,
            NetEvent::Datagram { app, to, .. } => {
                return self
                    .host_at(to.ip())
                    .is_some_and(|host| self.is_cut(&self.running[app.0].host, host));
            }
            NetEvent::Knock { app, to, .. } => return self.is_cut(&self.running[app.0].host, &to.host),
            NetEvent::Opened { wire } => wire,
            NetEvent::Segment { wire, .. } | NetEvent::Finish { wire, .. } | NetEvent::Reset { wire, .. } => {
                wire
            }
        };
        let hosts =
            self.wires.get(wire).map(|line| line.ends.each_ref().map(|end| &self.running[end.app.0].host));
        hosts.is_some_and(|[a, b]| self.is_cut(a, b))
    }

    /// Whether two hosts cannot reach each other.
    fn is_cut(&self, a: &str, b: &str) -> bool {
        a != b && (self.is_host_disconnected(a) || self.is_host_disconnected(b))
    }

    /// A connection request reaches the listener's host: the system there answers, and the program gets the result.
    fn arrive_connect(&mut self, app: App, conn: ConnId, to: Endpoint) {
        if !self.opening.contains(&(app, conn)) {
            return;
        }
        let Some(&(listener, kind)) = self.doors.get(&(to.host, to.port)) else {
            let at = self.now + self.latency();
            return self.schedule(at, NetEvent::NotOpened { app, conn, why: REFUSED });
        };
        self.opening.remove(&(app, conn));
        self.event_count += 1;
        let (wire, from) = (WireId(self.event_count), self.address(app));
        let ends = [End::new(app, Some(conn)), End::new(listener, None)];
        self.wires.insert(wire, Wire { ends, kind, from });
        self.ends.insert((app, conn), (wire, Side::Opener));
        self.enter_pipe(wire, Side::Opener, NetEvent::Opened { wire });
        self.notify(listener, ConnectionEvent::Accept { wire });
    }

    fn arrive(&mut self, wire: WireId, to: Side, bytes: &[u8]) {
        let hold = self.rng.percent(self.conditions.merged);
        let Some(line) = self.wires.get_mut(&wire) else { return };
        if !line.end(to).open {
            return self.enter_pipe(wire, to.other(), NetEvent::Reset { wire, to: to.other() });
        }
        let pipe = &mut line.end_mut(to).inbound;
        pipe.under_way -= 1;
        pipe.arrived.extend_from_slice(bytes);
        if !hold || pipe.under_way == 0 {
            self.read(wire, to);
        }
    }

    /// The program at one end reads the bytes that have arrived.
    fn read(&mut self, wire: WireId, to: Side) {
        let Some(line) = self.wires.get_mut(&wire) else { return };
        let bytes = std::mem::take(&mut line.end_mut(to).inbound.arrived);
        if bytes.is_empty() {
            return;
        }
        match self.receiver(wire, to) {
            Some((app, conn)) => self.notify(app, ConnectionEvent::Data { conn, bytes }),
            // Not accepted yet: the bytes stay until then.
            None => {
                if let Some(line) = self.wires.get_mut(&wire) {
                    line.end_mut(to).inbound.arrived = bytes;
                }
            }
        }
    }

    /// The other end has finished sending.
    fn finished(&mut self, wire: WireId, to: Side) {
        self.read(wire, to);
        if let Some(line) = self.wires.get_mut(&wire) {
            line.end_mut(to).inbound.over = true;
        }
        let Some((app, conn)) = self.receiver(wire, to) else { return };
        if !self.running[app.0].program.reads_past_the_end(conn) {
            self.close(app, conn);
        }
        self.notify(app, ConnectionEvent::Closed { conn, why: None });
    }

    fn was_reset(&mut self, wire: WireId, to: Side) {
        let Some((app, conn)) = self.receiver(wire, to) else { return };
        self.close(app, conn);
        self.notify(app, ConnectionEvent::Closed { conn, why: Some(RESET.to_owned()) });
    }

    /// The listener's program has accepted, and gets the bytes that have arrived since.
    pub(super) fn was_accepted(&mut self, wire: WireId, app: App, conn: ConnId) {
        let Some(line) = self.wires.get_mut(&wire) else { return };
        let end = line.end_mut(Side::Listener);
        end.conn = Some(conn);
        let over = end.inbound.over;
        self.ends.insert((app, conn), (wire, Side::Listener));
        self.read(wire, Side::Listener);
        if over {
            self.finished(wire, Side::Listener);
        }
    }

    /// The program at one end and its id for the connection, if it has it open.
    fn receiver(&self, wire: WireId, side: Side) -> Option<(App, ConnId)> {
        let end = self.wires.get(&wire)?.end(side);
        end.conn.filter(|_| end.open).map(|conn| (end.app, conn))
    }
}
