//! Connection events of programs, delivered at once or when a stopped program resumes.

use std::collections::VecDeque;

use runnel_ros1::net::ConnId;

use super::wire::{RESET, WireId};
use super::{App, Net};

/// A connection event of a program.
#[derive(Debug)]
pub(super) enum Notice {
    Accept { wire: WireId },
    Connected { conn: ConnId },
    Bound { conn: ConnId, port: u16 },
    Data { conn: ConnId, bytes: Vec<u8> },
    Closed { conn: ConnId, why: Option<String> },
}

impl Net {
    /// Delivers an event to a program, or queues it while the program is stopped.
    pub(super) fn notify(&mut self, app: App, notice: Notice) {
        let running = &mut self.running[app.0];
        if running.stalled {
            running.backlog.push_back(notice);
        } else if running.alive {
            self.tell(app, notice);
        }
    }

    /// Delivers all queued events to a program.
    pub(super) fn tell_backlog(&mut self, app: App) {
        let backlog: VecDeque<Notice> = std::mem::take(&mut self.running[app.0].backlog);
        backlog.into_iter().for_each(|notice| self.notify(app, notice));
    }

    fn tell(&mut self, app: App, notice: Notice) {
        let now = self.now;
        let program = &mut self.running[app.0].program;
        match notice {
            Notice::Accept { wire } => self.accept(app, wire),
            Notice::Connected { conn } => program.handle_connected(now, conn),
            Notice::Bound { conn, port } => program.handle_bound(now, conn, port),
            Notice::Data { conn, bytes } => program.handle_data(now, conn, &bytes),
            Notice::Closed { conn, why } => {
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
