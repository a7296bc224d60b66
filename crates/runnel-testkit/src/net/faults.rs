//! Faults: programs that die or stop, connections that break, hosts that are unreachable.

use std::time::Duration;

use runnel_ros1::net::ConnId;
use runnel_ros1::node::Port;

use super::wire::{RESET, Wire, WireId};
use super::{App, Net};

impl Net {
    /// Kills a program, as SIGKILL does: the system closes its connections.
    pub fn kill(&mut self, app: App) {
        self.end_program(app, "is killed");
    }

    pub(super) fn end_program(&mut self, app: App, how: &str) {
        self.note(format!("{} {how}", self.running[app.0].name));
        self.running[app.0].alive = false;
        self.running[app.0].backlog.clear();
        self.doors.retain(|_, (owner, _)| *owner != app);
        self.opening.retain(|(owner, _)| *owner != app);
        self.datagrams.retain(|(owner, _), _| *owner != app);
        for wire in self.wires_where(|line, _| line.waits_for(app)) {
            self.break_wire(wire, RESET);
        }
        let conns: Vec<_> = self.ends.keys().filter(|(owner, _)| *owner == app).copied().collect();
        conns.into_iter().for_each(|(_, conn)| self.close(app, conn));
    }

    /// Stops a program, as SIGSTOP does: its connections stay open.
    pub fn stall(&mut self, app: App) {
        self.note(format!("{} stalls", self.running[app.0].name));
        self.running[app.0].stalled = true;
    }

    /// Resumes a stopped program.
    pub fn resume(&mut self, app: App) {
        self.note(format!("{} resumes", self.running[app.0].name));
        self.running[app.0].stalled = false;
        self.deliver_backlog(app);
        self.pump(app);
    }

    /// Disconnects a host: segments from and to it are held until [`Net::reconnect_host`].
    pub fn disconnect_host(&mut self, host: &str) {
        self.note(format!("{host} is cut off"));
        self.host(host).is_disconnected = true;
    }

    /// Reconnects a host. Held segments arrive soon, in order on each connection.
    pub fn reconnect_host(&mut self, host: &str) {
        self.note(format!("{host} is joined again"));
        self.host(host).is_disconnected = false;
        let mut at = self.now;
        for happening in std::mem::take(&mut self.held) {
            // One order for all segments preserves that of each connection.
            at += Duration::from_nanos(self.rng.below(1_000_000) as u64);
            self.schedule(at, happening);
        }
        // Later segments must follow.
        self.wires.values_mut().for_each(|line| line.nothing_before(at));
    }

    /// Breaks all connections between two programs to a port of this kind; returns their number.
    pub fn break_links(&mut self, a: App, b: App, kind: Port) -> usize {
        let between = |apps: [App; 2]| apps == [a, b] || apps == [b, a];
        let wires = self.wires_where(|line, apps| line.kind == kind && between(apps));
        wires.iter().for_each(|wire| self.break_wire(*wire, RESET));
        wires.len()
    }

    /// Breaks a random connection; false if there is none.
    pub fn break_any(&mut self) -> bool {
        let wires = self.wires_where(|_, _| true);
        let Some(wire) = self.rng.pick(&wires).copied() else { return false };
        self.note("a connection is broken");
        self.break_wire(wire, RESET);
        true
    }

    /// Number of connections between two programs to a port of this kind.
    pub fn count_links(&self, a: App, b: App, kind: Port) -> usize {
        let between = |apps: [App; 2]| apps == [a, b] || apps == [b, a];
        self.wires_where(|line, apps| line.kind == kind && between(apps)).len()
    }

    /// Lists, for every running program, differences between its connections and those of the network: connections
    /// that the engine forgot without closing, or takes for open.
    pub fn leaks(&self) -> Vec<String> {
        let mut leaks = Vec::new();
        for (index, running) in self.running.iter().enumerate().filter(|(_, running)| running.alive) {
            let of_it = |key: &&(App, ConnId)| key.0 == App(index);
            let open = self.ends.keys().chain(&self.opening).chain(self.datagrams.keys()).filter(of_it);
            let forgotten = open.clone().filter(|(_, conn)| !running.program.owns(*conn)).count();
            let (open, known) = (open.count(), running.program.connection_count());
            if forgotten > 0 || known.is_some_and(|known| known != open) {
                leaks.push(format!("{}: {open} open, {forgotten} forgotten, {known:?} known", running.name));
            }
        }
        leaks
    }

    fn wires_where(&self, wanted: impl Fn(&Wire, [App; 2]) -> bool) -> Vec<WireId> {
        self.wires.iter().filter(|(_, line)| wanted(line, line.apps())).map(|(id, _)| *id).collect()
    }
}
