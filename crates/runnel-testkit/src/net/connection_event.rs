//! Connection events of programs, delivered immediately or when a stopped program resumes.

use std::collections::VecDeque;

use runnel_ros1::net::ConnId;

use super::wire::{RESET, WireId};
use super::{App, Net};

/// A connection event of a program.
#[derive(Debug)]
pub(super) enum ConnectionEvent {
    Accept { wire: WireId },
    Connected { conn: ConnId },
    Bound { conn: ConnId, port: u16 },
    Data { conn: ConnId, bytes: Vec<u8> },
    Closed { conn: ConnId, why: Option<String> },
}

impl Net {
    /// Delivers an event to a program, or queues it while the program is stopped.
    pub(super) fn notify(&mut self, app: App, connection_event: ConnectionEvent) {
        let running = &mut self.running[app.0];
        if running.stalled {
            running.backlog.push_back(connection_event);
        } else if running.alive {
            self.handle_connection_event(app, connection_event);
        }
    }

    /// Delivers all queued events to a program.
    pub(super) fn deliver_backlog(&mut self, app: App) {
        let backlog: VecDeque<ConnectionEvent> = std::mem::take(&mut self.running[app.0].backlog);
        backlog.into_iter().for_each(|connection_event| self.notify(app, connection_event));
    }

    fn handle_connection_event(&mut self, app: App, connection_event: ConnectionEvent) {
        let now = self.now;
        let program = &mut self.running[app.0].program;
        match connection_event {
            ConnectionEvent::Accept { wire } => self.accept(app, wire),
            ConnectionEvent::Connected { conn } => program.handle_connected(now, conn),
            ConnectionEvent::Bound { conn, port } => program.handle_bound(now, conn, port),
            ConnectionEvent::Data { conn, bytes } => program.handle_data(now, conn, &bytes),
            ConnectionEvent::Closed { conn, why } => {
                program.handle_closed(now, conn, why.as_deref());
                let (name, why) =
                    (&self.running[app.0].name, why.unwrap_or_else(|| "end of stream".to_owned()));
                self.trace.note(now, format!("{name}: connection {} is over: {why}", conn.0));
            }
        }
        self.pump(app);
    }

    fn accept(&mut self, app: App, wire: WireId) {
        let Some((kind, from)) = self.wires.get(&wire).map(|line| (line.kind, line.from)) else { return };
        match self.running[app.0].program.handle_accepted(self.now, kind, from) {
            Some(conn) => self.was_accepted(wire, app, conn),
            None => {
                self.note(format!("{} does not take a connection", self.running[app.0].name));
                self.break_wire(wire, RESET);
            }
        }
    }
}
