//! Which nodes are still there.
//!
//! The original never finds out that a node died. Here a node is asked for its process number when the last
//! connection over which it called is closed from its side, if one that carried a registration was among them:
//! after half a second, and twice more if it cannot be reached or another process answers. Then it is lost. A
//! node that calls again meanwhile, or answers, is kept; so is one that accepts connections and says nothing, which
//! is asked again from time to time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_core::timers::Timers;

use crate::net::ConnId;
use crate::rpc::CallId;

/// From a node's first registration until it is asked for its process number, so that another process that gets
/// its port later can be told from it.
const FIRST_QUESTION: Duration = Duration::from_secs(1);
/// From the end of a node's last connection until it is asked whether it lives: it may only have reconnected.
const AFTER_CLOSE: Duration = Duration::from_millis(500);
/// From one failed question to the next.
const AGAIN: Duration = Duration::from_secs(2);
/// From a question that got no answer until the next, while no connection shows that the node lives.
const SILENT: Duration = Duration::from_secs(30);
/// How many questions must fail.
const QUESTIONS: u32 = 3;
/// How many connections of one node are remembered.
const CONNECTIONS: usize = 16;

/// What is known of the life of every registered node.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    nodes: BTreeMap<Arc<str>, Watched>,
    on_conn: BTreeMap<ConnId, BTreeSet<Arc<str>>>,
    due: Timers<Arc<str>>,
    asked: BTreeMap<CallId, Arc<str>>,
}

#[derive(Debug)]
struct Watched {
    api: Arc<str>,
    pid: Option<i32>,
    /// Open connections over which it called; true for those that carried a registration.
    conns: BTreeMap<ConnId, bool>,
    /// A connection that carried a registration was closed from its side, and no answer came since.
    suspect: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing to ask.
    Calm,
    /// A question is due at some time, after so many that failed.
    Waiting { failed: u32 },
    /// A question is under way, after so many that failed.
    Asking { call: CallId, failed: u32 },
}

impl Watched {
    /// Whether an answer shows that the node is not there any more.
    fn is_contradicted(&self, answer: Sign) -> bool {
        match answer {
            Sign::Pid(pid) => self.pid.is_some_and(|known| known != pid),
            Sign::Nobody => true,
            Sign::Odd => self.pid.is_some(),
            Sign::Unclear => false,
        }
    }
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// A process with this number answered.
    Pid(i32),
    /// Nobody listens there.
    Nobody,
    /// Something answers that does not tell its process number.
    Odd,
    /// It cannot be told: no answer in time, or the host is out of reach.
    Unclear,
}

/// A question that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// Which node.
    pub(super) node: Arc<str>,
    /// Where it is reached.
    pub(super) api: Arc<str>,
}

impl Liveness {
    /// A node registered something over a connection.
    pub(super) fn registered(&mut self, now: Instant, conn: ConnId, node: &str, api: &Arc<str>) {
        if self.nodes.get(node).is_none_or(|watched| watched.api != *api) {
            self.forget(node);
            let phase = Phase::Waiting { failed: 0 };
            let watched =
                Watched { api: api.clone(), pid: None, conns: BTreeMap::new(), suspect: false, phase };
            self.nodes.insert(node.into(), watched);
            self.due.schedule(node.into(), now + FIRST_QUESTION);
        }
        self.called(conn, node);
        if let Some(carried) = self.nodes.get_mut(node).and_then(|watched| watched.conns.get_mut(&conn)) {
            *carried = true;
        }
    }

    /// A caller that gives this name called over a connection.
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
                self.enter(&name, Phase::Calm);
            }
        }
    }

    /// A connection ended. Only one that ended from the other side makes its nodes suspect.
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
        self.enter(node, Phase::Calm);
        let Some(watched) = self.nodes.remove(node) else { return };
        for conn in watched.conns.into_keys() {
            let Some(nodes) = self.on_conn.get_mut(&conn) else { continue };
            nodes.remove(node);
            if nodes.is_empty() {
                self.on_conn.remove(&conn);
            }
        }
    }

    /// When the next question is due, if another may be asked.
    pub(super) fn next_due(&self, most: usize) -> Option<Instant> {
        (self.asked.len() < most).then(|| self.due.next_deadline()).flatten()
    }

    /// A question that is due now, if another may be asked; [`Self::asked`] or [`Self::answer`] must follow.
    pub(super) fn question(&mut self, now: Instant, most: usize) -> Option<Question> {
        self.next_due(most)?;
        let (_, node) = self.due.pop_due(now)?;
        let api = self.nodes.get(&node)?.api.clone();
        Some(Question { node, api })
    }

    /// A question went out.
    pub(super) fn asked(&mut self, node: &Arc<str>, call: CallId) {
        let Some(Phase::Waiting { failed }) = self.nodes.get(node).map(|watched| watched.phase) else {
            return;
        };
        self.enter(node, Phase::Asking { call, failed });
    }

    /// A question was answered, or will not be; the node if it is lost by that.
    pub(super) fn answered(&mut self, now: Instant, call: CallId, answer: Sign) -> Option<Arc<str>> {
        let node = self.asked.remove(&call)?;
        self.answer(now, &node, answer)
    }

    /// The outcome of a question to a node; the node if it is lost by that.
    pub(super) fn answer(&mut self, now: Instant, node: &Arc<str>, answer: Sign) -> Option<Arc<str>> {
        let watched = self.nodes.get_mut(node)?;
        let failed = match watched.phase {
            Phase::Asking { failed, .. } | Phase::Waiting { failed } => failed + 1,
            Phase::Calm => return None,
        };
        let connected = !watched.suspect || !watched.conns.is_empty();
        if !connected && watched.is_contradicted(answer) {
            if failed >= QUESTIONS {
                return Some(node.clone());
            }
            self.wait(node, now + AGAIN, failed);
            return None;
        }
        if !connected && answer == Sign::Unclear {
            self.wait(node, now + SILENT, failed - 1);
            return None;
        }
        if let Sign::Pid(pid) = answer {
            watched.pid = Some(pid);
            watched.suspect &= connected;
        }
        self.enter(node, Phase::Calm);
        None
    }

    /// The next question to a node is due then, after so many that failed.
    fn wait(&mut self, node: &Arc<str>, at: Instant, failed: u32) {
        self.enter(node, Phase::Waiting { failed });
        self.due.schedule(node.clone(), at);
    }

    /// Moves a node to a phase, with what is due and asked following.
    fn enter(&mut self, node: &str, phase: Phase) {
        let Some((name, _)) = self.nodes.get_key_value(node) else { return };
        let name = name.clone();
        let Some(watched) = self.nodes.get_mut(&name) else { return };
        match std::mem::replace(&mut watched.phase, phase) {
            Phase::Calm => {}
            Phase::Waiting { .. } => {
                self.due.cancel(&name);
            }
            Phase::Asking { call, .. } => {
                self.asked.remove(&call);
            }
        }
        if let Phase::Asking { call, .. } = phase {
            self.asked.insert(call, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: ConnId = ConnId(1);
    const OTHER: ConnId = ConnId(2);
    const MANY: usize = 9;

    /// A node that registered over one connection and answered the first question.
    fn known() -> Liveness {
        let mut liveness = Liveness::default();
        liveness.registered(seconds(0), KEPT, "/n", &"http://n:1/".into());
        assert_eq!(ask(&mut liveness, 1, Sign::Pid(7)), Some(None));
        liveness
    }

    fn seconds(number: u64) -> Instant {
        Instant(number * 1_000_000_000)
    }

    /// Asks what is due and answers it; `None` if nothing is due, or the node if it is lost.
    fn ask(liveness: &mut Liveness, at: u64, answer: Sign) -> Option<Option<Arc<str>>> {
        let question = liveness.question(seconds(at), MANY)?;
        liveness.asked(&question.node, CallId(at));
        Some(liveness.answered(seconds(at), CallId(at), answer))
    }

    #[test]
    fn only_a_connection_that_carried_a_registration_and_ended_over_there_makes_suspect() {
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
    fn the_last_connection_counts_whatever_it_carried() {
        let mut liveness = known();
        liveness.called(OTHER, "/n");
        liveness.closed(seconds(2), KEPT, true);
        assert_eq!(liveness.next_due(MANY), None);
        liveness.closed(seconds(3), OTHER, false);
        assert_eq!(liveness.next_due(MANY), Some(seconds(3) + AFTER_CLOSE));
    }

    #[test]
    fn a_node_that_answered_is_no_longer_suspect() {
        let mut liveness = known();
        liveness.closed(seconds(2), KEPT, true);
        assert_eq!(ask(&mut liveness, 3, Sign::Pid(7)), Some(None));
        liveness.called(OTHER, "/n");
        liveness.closed(seconds(4), OTHER, true);
        assert_eq!(liveness.next_due(MANY), None);
    }

    #[test]
    fn what_answers_without_a_number_is_not_the_node_that_had_one() {
        let mut liveness = known();
        liveness.closed(seconds(2), KEPT, true);
        assert_eq!(ask(&mut liveness, 3, Sign::Odd), Some(None));
        assert_eq!(ask(&mut liveness, 5, Sign::Odd), Some(None));
        assert_eq!(ask(&mut liveness, 7, Sign::Nobody), Some(Some("/n".into())));
        let mut liveness = Liveness::default();
        liveness.registered(seconds(0), KEPT, "/n", &"http://n:1/".into());
        liveness.closed(seconds(0), KEPT, true);
        assert_eq!(ask(&mut liveness, 1, Sign::Odd), Some(None));
        assert_eq!(liveness.next_due(MANY), None);
    }

    #[test]
    fn what_is_forgotten_leaves_nothing_behind() {
        let mut liveness = known();
        liveness.registered(seconds(2), KEPT, "/m", &"http://n:1/".into());
        liveness.closed(seconds(3), KEPT, true);
        let question = liveness.question(seconds(4), MANY).expect("a question");
        liveness.asked(&question.node, CallId(9));
        liveness.called(OTHER, "/m");
        liveness.called(OTHER, "/n");
        liveness.forget("/n");
        liveness.forget("/m");
        assert!(liveness.nodes.is_empty() && liveness.on_conn.is_empty());
        assert!(liveness.due.is_empty() && liveness.asked.is_empty());
    }

    #[test]
    fn a_node_is_not_remembered_on_more_connections_than_the_bound() {
        let mut liveness = known();
        (0..100).for_each(|conn| liveness.called(ConnId(conn), "/n"));
        assert_eq!(liveness.on_conn.len(), CONNECTIONS);
    }
}
