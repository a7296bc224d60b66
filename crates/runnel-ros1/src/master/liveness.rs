//! Liveness of registered nodes.
//!
//! rosmaster never notices that a node died. This master probes a node by `getPid` when the node's side has closed
//! the last of its connections, if one of them carried a registration: after half a second, and twice more if the
//! node is unreachable or another process answers. Then the node is lost. A node that calls again or answers is kept.
//! A node that accepts connections but does not answer is kept, too, and probed again from time to time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_core::timers::Timers;

use crate::net::ConnId;
use crate::rpc::CallId;

/// From a node's first registration to its first probe, which records the process id, so that another process that
/// gets the port later is detected.
const FIRST_PROBE: Duration = Duration::from_secs(1);
/// From the end of a node's last connection to a probe: the node may be about to reconnect.
const AFTER_CLOSE: Duration = Duration::from_millis(500);
/// From one failed probe to the next.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
/// From an unanswered probe to the next, while no open connection shows that the node lives.
const SILENT_PAUSE: Duration = Duration::from_secs(30);
/// Failed probes after which a node is lost.
const FAILED_PROBES: u32 = 3;
/// Remembered connections of one node.
const CONNECTIONS: usize = 16;

/// Liveness of all registered nodes.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    nodes: BTreeMap<Arc<str>, NodeLiveness>,
    on_conn: BTreeMap<ConnId, BTreeSet<Arc<str>>>,
    due: Timers<Arc<str>>,
    pending_calls: BTreeMap<CallId, Arc<str>>,
}

#[derive(Debug)]
struct NodeLiveness {
    api: Arc<str>,
    pid: Option<i32>,
    /// Open connections over which it called; true if one carried a registration.
    conns: BTreeMap<ConnId, bool>,
    /// Its side has closed a connection that carried a registration, and no answer has arrived since.
    suspect: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No probe is needed.
    Idle,
    /// A probe is scheduled, after `failed` failed ones.
    Waiting { failed: u32 },
    /// A probe is in progress, after `failed` failed ones.
    Probing { call: CallId, failed: u32 },
}

impl NodeLiveness {
    /// Whether a result shows that the node is gone.
    fn is_contradicted(&self, answer: ProbeResult) -> bool {
        match answer {
            ProbeResult::Pid(pid) => self.pid.is_some_and(|known| known != pid),
            ProbeResult::NotListening => true,
            ProbeResult::NotANode => self.pid.is_some(),
            ProbeResult::Unknown => false,
        }
    }
}

/// Result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeResult {
    /// A process with this id answered.
    Pid(i32),
    /// No process listens there.
    NotListening,
    /// The answer is not that of a node.
    NotANode,
    /// Unknown: no answer in time, or the host is unreachable.
    Unknown,
}

/// A probe that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// The node.
    pub(super) node: Arc<str>,
    /// Its URI.
    pub(super) api: Arc<str>,
}

impl Liveness {
    /// A node registered over a connection.
    pub(super) fn registered(&mut self, now: Instant, conn: ConnId, node: &str, api: &Arc<str>) {
        if self.nodes.get(node).is_none_or(|watched| watched.api != *api) {
            self.forget(node);
            let phase = Phase::Waiting { failed: 0 };
            let watched =
                NodeLiveness { api: api.clone(), pid: None, conns: BTreeMap::new(), suspect: false, phase };
            self.nodes.insert(node.into(), watched);
            self.due.schedule(node.into(), now + FIRST_PROBE);
        }
        self.called(conn, node);
        if let Some(carried) = self.nodes.get_mut(node).and_then(|watched| watched.conns.get_mut(&conn)) {
            *carried = true;
        }
    }

    /// A caller with this name called over a connection.
    pub(super) fn called(&mut self, conn: ConnId, node: &str) {
        let Some((name, watched)) = self.nodes.get_key_value(node) else { return };
        if watched.conns.contains_key(&conn) || watched.conns.len() >= CONNECTIONS {
            return;
        }
        let name = name.clone();
        self.on_conn.entry(conn).or_default().insert(name.clone());
        if let Some(watched) = self.nodes.get_mut(&name) {
            watched.conns.insert(conn, false);
            if watched.suspect {
                self.enter(&name, Phase::Idle);
            }
        }
    }

    /// A connection has ended. Only an end from the peer's side makes its nodes suspect.
    pub(super) fn closed(&mut self, now: Instant, conn: ConnId, from_their_side: bool) {
        for node in self.on_conn.remove(&conn).into_iter().flatten() {
            let Some(watched) = self.nodes.get_mut(&node) else { continue };
            let carried = watched.conns.remove(&conn).unwrap_or(false);
            watched.suspect |= carried && from_their_side;
            if watched.suspect && watched.conns.is_empty() {
                self.wait(&node, now + AFTER_CLOSE, 0);
            }
        }
    }

    /// A node is no longer registered.
    pub(super) fn forget(&mut self, node: &str) {
        self.enter(node, Phase::Idle);
        let Some(watched) = self.nodes.remove(node) else { return };
        for conn in watched.conns.into_keys() {
            let Some(nodes) = self.on_conn.get_mut(&conn) else { continue };
            nodes.remove(node);
            if nodes.is_empty() {
                self.on_conn.remove(&conn);
            }
        }
    }

    /// When the next probe is due, if fewer than `most` are in progress.
    pub(super) fn next_due(&self, most: usize) -> Option<Instant> {
        (self.pending_calls.len() < most).then(|| self.due.next_deadline()).flatten()
    }

    /// A probe that is due, if fewer than `most` are in progress. The caller must then call [`Self::probe_sent`] or
    /// [`Self::on_probe_result`].
    pub(super) fn next_probe(&mut self, now: Instant, most: usize) -> Option<Probe> {
        self.next_due(most)?;
        let (_, node) = self.due.pop_due(now)?;
        let api = self.nodes.get(&node)?.api.clone();
        Some(Probe { node, api })
    }

    /// A probe was sent.
    pub(super) fn probe_sent(&mut self, node: &Arc<str>, call: CallId) {
        let Some(Phase::Waiting { failed }) = self.nodes.get(node).map(|watched| watched.phase) else {
            return;
        };
        self.enter(node, Phase::Probing { call, failed });
    }

    /// A probe in progress has a result. Returns the node if it is lost.
    pub(super) fn probe_ended(
        &mut self,
        now: Instant,
        call: CallId,
        answer: ProbeResult,
    ) -> Option<Arc<str>> {
        let node = self.pending_calls.remove(&call)?;
        self.on_probe_result(now, &node, answer)
    }

    /// A node's probe has a result. Returns the node if it is lost.
    pub(super) fn on_probe_result(
        &mut self,
        now: Instant,
        node: &Arc<str>,
        answer: ProbeResult,
    ) -> Option<Arc<str>> {
        let watched = self.nodes.get_mut(node)?;
        let failed = match watched.phase {
            Phase::Probing { failed, .. } | Phase::Waiting { failed } => failed + 1,
            Phase::Idle => return None,
        };
        let connected = !watched.suspect || !watched.conns.is_empty();
        if !connected && watched.is_contradicted(answer) {
            if failed >= FAILED_PROBES {
                return Some(node.clone());
            }
            self.wait(node, now + RETRY_PAUSE, failed);
            return None;
        }
        if !connected && answer == ProbeResult::Unknown {
            self.wait(node, now + SILENT_PAUSE, failed - 1);
            return None;
        }
        if let ProbeResult::Pid(pid) = answer {
            watched.pid = Some(pid);
            watched.suspect &= connected;
        }
        self.enter(node, Phase::Idle);
        None
    }

    /// Schedules a node's next probe, after `failed` failed ones.
    fn wait(&mut self, node: &Arc<str>, at: Instant, failed: u32) {
        self.enter(node, Phase::Waiting { failed });
        self.due.schedule(node.clone(), at);
    }

    /// Moves a node to a phase, and updates the schedule and the calls in progress.
    fn enter(&mut self, node: &str, phase: Phase) {
        let Some((name, _)) = self.nodes.get_key_value(node) else { return };
        let name = name.clone();
        let Some(watched) = self.nodes.get_mut(&name) else { return };
        match std::mem::replace(&mut watched.phase, phase) {
            Phase::Idle => {}
            Phase::Waiting { .. } => {
                self.due.cancel(&name);
            }
            Phase::Probing { call, .. } => {
                self.pending_calls.remove(&call);
            }
        }
        if let Phase::Probing { call, .. } = phase {
            self.pending_calls.insert(call, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: ConnId = ConnId(1);
    const OTHER: ConnId = ConnId(2);
    const MANY: usize = 9;

    /// A node that registered over one connection and answered the first probe.
    fn known() -> Liveness {
        let mut liveness = Liveness::default();
        liveness.registered(seconds(0), KEPT, "/n", &"http://n:1/".into());
        assert_eq!(probe_once(&mut liveness, 1, ProbeResult::Pid(7)), Some(None));
        liveness
    }

    fn seconds(number: u64) -> Instant {
        Instant(number * 1_000_000_000)
    }

    /// Sends the probe that is due, with this result. `None` if none is due; the node if it is lost.
    fn probe_once(liveness: &mut Liveness, at: u64, answer: ProbeResult) -> Option<Option<Arc<str>>> {
        let probe = liveness.next_probe(seconds(at), MANY)?;
        liveness.probe_sent(&probe.node, CallId(at));
        Some(liveness.probe_ended(seconds(at), CallId(at), answer))
    }

    #[test]
    fn only_registration_connection_makes_suspect() {
        let mut liveness = known();
        liveness.called(OTHER, "/n");
        liveness.closed(seconds(2), OTHER, true);
        liveness.closed(seconds(3), KEPT, false);
        assert_eq!(liveness.next_due(MANY), None);
        liveness.called(OTHER, "/n");
        liveness.closed(seconds(4), OTHER, true);
        assert_eq!(liveness.next_due(MANY), None);
    }

    #[test]
    fn end_of_last_connection_causes_probe() {
        let mut liveness = known();
        liveness.called(OTHER, "/n");
        liveness.closed(seconds(2), KEPT, true);
        assert_eq!(liveness.next_due(MANY), None);
        liveness.closed(seconds(3), OTHER, false);
        assert_eq!(liveness.next_due(MANY), Some(seconds(3) + AFTER_CLOSE));
    }

    #[test]
    fn answering_node_is_not_suspect() {
        let mut liveness = known();
        liveness.closed(seconds(2), KEPT, true);
        assert_eq!(probe_once(&mut liveness, 3, ProbeResult::Pid(7)), Some(None));
        liveness.called(OTHER, "/n");
        liveness.closed(seconds(4), OTHER, true);
        assert_eq!(liveness.next_due(MANY), None);
    }

    #[test]
    fn answer_without_pid_contradicts_known_pid() {
        let mut liveness = known();
        liveness.closed(seconds(2), KEPT, true);
        assert_eq!(probe_once(&mut liveness, 3, ProbeResult::NotANode), Some(None));
        assert_eq!(probe_once(&mut liveness, 5, ProbeResult::NotANode), Some(None));
        assert_eq!(probe_once(&mut liveness, 7, ProbeResult::NotListening), Some(Some("/n".into())));
        let mut liveness = Liveness::default();
        liveness.registered(seconds(0), KEPT, "/n", &"http://n:1/".into());
        liveness.closed(seconds(0), KEPT, true);
        assert_eq!(probe_once(&mut liveness, 1, ProbeResult::NotANode), Some(None));
        assert_eq!(liveness.next_due(MANY), None);
    }

    #[test]
    fn removed_node_leaves_no_state() {
        let mut liveness = known();
        liveness.registered(seconds(2), KEPT, "/m", &"http://n:1/".into());
        liveness.closed(seconds(3), KEPT, true);
        let probe = liveness.next_probe(seconds(4), MANY).expect("a probe");
        liveness.probe_sent(&probe.node, CallId(9));
        liveness.called(OTHER, "/m");
        liveness.called(OTHER, "/n");
        liveness.forget("/n");
        liveness.forget("/m");
        assert!(liveness.nodes.is_empty() && liveness.on_conn.is_empty());
        assert!(liveness.due.is_empty() && liveness.pending_calls.is_empty());
    }

    #[test]
    fn remembered_connections_are_bounded() {
        let mut liveness = known();
        (0..100).for_each(|conn| liveness.called(ConnId(conn), "/n"));
        assert_eq!(liveness.on_conn.len(), CONNECTIONS);
    }
}
