//! What a client knows of one of its goals from what it has heard of the server: actionlib's client state machine.

use std::time::Duration;

use runnel_core::time::Instant;

use crate::goal_status::GoalStatus;

/// How long a server may send lists that say nothing of a goal that it was sent, or of one that has ended without its
/// result: either has been lost on the way. A goal or a result may be long, and the network slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// So many lists at least, since lists may be rare, and several wait when nobody has looked at them.
const LISTS: u32 = 10;

/// What the client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The server has not told of the goal yet.
    WaitingForGoalAck,
    Pending,
    Active,
    /// The server has told how the goal ended, and the result is yet to come.
    WaitingForResult,
    /// The goal was cancelled here, and the server has not told of that yet.
    WaitingForCancelAck,
    Recalling,
    Preempting,
    Done,
}

/// What something that was heard has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Nothing,
    News,
    /// The goal has ended.
    End,
    /// A server that keeps to the rules does not say this after what it said before.
    Nonsense,
}

/// One goal as the client sees it.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    state: State,
    status: GoalStatus,
    text: String,
    /// The server has told of the goal at least once.
    acknowledged: bool,
    /// Lists that did not say what is waited for.
    vain: Option<Vain>,
}

/// Lists that came in vain, from the first of them on.
#[derive(Clone, Copy, Debug)]
struct Vain {
    since: Instant,
    lists: u32,
}

impl Conversation {
    /// The goal was sent.
    pub(super) fn new() -> Self {
        let (state, status) = (State::WaitingForGoalAck, GoalStatus::Pending);
        Self { state, status, text: String::new(), acknowledged: false, vain: None }
    }

    /// What the server said last, or the end.
    pub(super) fn status(&self) -> GoalStatus {
        self.status
    }

    /// The server's words on that.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the server has told of the goal.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.acknowledged || self.is_done()
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The user cancels the goal; true if the server is to be told.
    pub(super) fn cancel(&mut self) -> bool {
        use State::*;
        let tell = matches!(self.state, WaitingForGoalAck | Pending | Active | WaitingForCancelAck);
        if tell {
            self.state = WaitingForCancelAck;
        }
        tell
    }

    /// The server's list says this of the goal.
    pub(super) fn hear_status(&mut self, status: GoalStatus, text: &str, now: Instant) -> Heard {
        if self.state == State::WaitingForResult && self.has_waited_in_vain(now) {
            self.lose_result();
            return Heard::End;
        }
        if self.is_done() {
            return Heard::Nothing;
        }
        let Some(next) = next(self.state, status) else { return Heard::Nonsense };
        if next != self.state {
            self.vain = None;
        }
        let news = next != self.state || status != self.status || text != self.text;
        self.acknowledged = true;
        self.state = next;
        self.status = status;
        text.clone_into(&mut self.text);
        if news { Heard::News } else { Heard::Nothing }
    }

    /// The server's list does not have the goal: it is lost, unless the server may not have had it yet, or has sent the
    /// result already, and not for long. Unlike actionlib's, a goal that was cancelled at once is not lost before it was
    /// known.
    pub(super) fn hear_no_status(&mut self, now: Instant) -> Heard {
        let waits_for_result = self.state == State::WaitingForResult;
        if self.is_done() {
            return Heard::Nothing;
        }
        if self.acknowledged && !waits_for_result {
            self.lose("the action server does not know the goal any more");
        } else if !self.has_waited_in_vain(now) {
            return Heard::Nothing;
        } else if waits_for_result {
            self.lose_result();
        } else {
            self.lose("the action server has not heard of the goal");
        }
        Heard::End
    }

    /// Another list has come in vain: true if that is enough.
    fn has_waited_in_vain(&mut self, now: Instant) -> bool {
        let vain = self.vain.get_or_insert(Vain { since: now, lists: 0 });
        vain.lists = vain.lists.saturating_add(1);
        vain.lists > LISTS && now.since(vain.since) >= PATIENCE
    }

    /// The result has come, with how the goal ended.
    pub(super) fn hear_result(&mut self, status: GoalStatus, text: &str) -> Heard {
        if self.is_done() {
            return Heard::Nothing;
        }
        if status.is_terminal() {
            (self.state, self.status) = (State::Done, status);
            text.clone_into(&mut self.text);
        } else {
            self.lose(&format!("the action server sent a result while the goal was {status}"));
        }
        Heard::End
    }

    fn lose_result(&mut self) {
        self.lose(&format!(
            "the action server says that the goal is {}, and no result has come",
            self.status
        ));
    }

    fn lose(&mut self, why: &str) {
        (self.state, self.status) = (State::Done, GoalStatus::Lost);
        why.clone_into(&mut self.text);
    }
}

/// Where a status leads; `None` if it cannot follow.
fn next(from: State, status: GoalStatus) -> Option<State> {
    use GoalStatus as Told;
    use State::*;
    let ended =
        matches!(status, Told::Succeeded | Told::Aborted | Told::Preempted | Told::Rejected | Told::Recalled);
    // Whether it ended as one that was never accepted, or is on the way there.
    let unaccepted = matches!(status, Told::Pending | Told::Recalling | Told::Recalled | Told::Rejected);
    match (from, status) {
        (_, Told::Lost) | (Done, _) => None,
        // A result may overtake what came before it, so that steps in between are missed.
        (WaitingForGoalAck | WaitingForCancelAck | Pending, _) if ended => Some(WaitingForResult),
        (Active | Preempting, _) if ended && !unaccepted => Some(WaitingForResult),
        (Recalling | WaitingForResult, _) if ended => Some(WaitingForResult),
        (WaitingForResult, Told::Active) => Some(WaitingForResult),
        (WaitingForCancelAck, Told::Pending | Told::Active) => Some(WaitingForCancelAck),
        (WaitingForGoalAck | Pending, Told::Pending) => Some(Pending),
        (WaitingForGoalAck | Pending | Active, Told::Active) => Some(Active),
        (WaitingForGoalAck | Pending | WaitingForCancelAck | Recalling, Told::Recalling) => Some(Recalling),
        (WaitingForResult, Told::Preempting) => None,
        (_, Told::Preempting) => Some(Preempting),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use GoalStatus as Told;
    use State::*;

    const NOW: Instant = Instant(0);

    const STATES: [State; 8] = [
        WaitingForGoalAck,
        Pending,
        Active,
        WaitingForResult,
        WaitingForCancelAck,
        Recalling,
        Preempting,
        Done,
    ];

    /// For each status where it leads from [`STATES`], in their order, by the first letters of the state: `.` for one
    /// that cannot follow.
    const TABLE: [(Told, [&str; 8]); 10] = [
        (Told::Pending, ["Pe", "Pe", ".", ".", "WC", ".", ".", "."]),
        (Told::Active, ["Ac", "Ac", "Ac", "WR", "WC", ".", ".", "."]),
        (Told::Rejected, ["WR", "WR", ".", "WR", "WR", "WR", ".", "."]),
        (Told::Recalling, ["Re", "Re", ".", ".", "Re", "Re", ".", "."]),
        (Told::Recalled, ["WR", "WR", ".", "WR", "WR", "WR", ".", "."]),
        (Told::Preempting, ["Pr", "Pr", "Pr", ".", "Pr", "Pr", "Pr", "."]),
        (Told::Preempted, ["WR", "WR", "WR", "WR", "WR", "WR", "WR", "."]),
        (Told::Succeeded, ["WR", "WR", "WR", "WR", "WR", "WR", "WR", "."]),
        (Told::Aborted, ["WR", "WR", "WR", "WR", "WR", "WR", "WR", "."]),
        (Told::Lost, [".", ".", ".", ".", ".", ".", ".", "."]),
    ];

    fn short(state: Option<State>) -> &'static str {
        match state {
            None => ".",
            Some(WaitingForGoalAck) => "WG",
            Some(Pending) => "Pe",
            Some(Active) => "Ac",
            Some(WaitingForResult) => "WR",
            Some(WaitingForCancelAck) => "WC",
            Some(Recalling) => "Re",
            Some(Preempting) => "Pr",
            Some(Done) => "Do",
        }
    }

    #[test]
    fn a_status_leads_where_actionlib_says() {
        for (status, expected) in TABLE {
            assert_eq!(STATES.map(|state| short(next(state, status))), expected, "{status}");
        }
    }

    fn at(state: State) -> Conversation {
        let acknowledged = state != WaitingForGoalAck;
        Conversation { state, acknowledged, ..Conversation::new() }
    }

    #[test]
    fn a_goal_that_the_server_has_forgotten_is_lost_unless_its_result_is_on_the_way() {
        for state in STATES {
            let heard = at(state).hear_no_status(NOW);
            let waits = matches!(state, WaitingForGoalAck | WaitingForResult | Done);
            assert_eq!(heard == Heard::End, !waits, "{state:?}");
        }
        let mut cancelled_at_once = Conversation::new();
        assert!(cancelled_at_once.cancel());
        assert_eq!(cancelled_at_once.hear_no_status(NOW), Heard::Nothing);
        assert!(!cancelled_at_once.is_acknowledged());
        assert_eq!(cancelled_at_once.hear_status(Told::Recalling, "", NOW), Heard::News);
        assert!(cancelled_at_once.is_acknowledged());
        assert_eq!(cancelled_at_once.hear_no_status(NOW), Heard::End);
        assert_eq!(cancelled_at_once.status(), Told::Lost);
    }

    #[test]
    fn the_server_is_told_of_a_cancel_only_while_that_changes_something() {
        for state in STATES {
            let mut goal = at(state);
            let tell = matches!(state, WaitingForGoalAck | Pending | Active | WaitingForCancelAck);
            assert_eq!(goal.cancel(), tell, "{state:?}");
            assert_eq!(goal.state, if tell { WaitingForCancelAck } else { state });
        }
    }

    #[test]
    fn a_result_ends_the_goal_once_whatever_was_heard_before() {
        for state in STATES.into_iter().filter(|state| *state != Done) {
            let mut goal = at(state);
            assert_eq!(goal.hear_result(Told::Aborted, "no way"), Heard::End, "{state:?}");
            assert_eq!((goal.status(), goal.text()), (Told::Aborted, "no way"));
            assert_eq!(goal.hear_result(Told::Succeeded, ""), Heard::Nothing);
            assert_eq!(goal.hear_status(Told::Active, "", NOW), Heard::Nothing);
            assert_eq!(goal.status(), Told::Aborted);
        }
        let mut goal = at(Active);
        assert_eq!(goal.hear_result(Told::Active, ""), Heard::End);
        assert_eq!(goal.status(), Told::Lost);
    }

    #[test]
    fn nonsense_changes_nothing() {
        let mut goal = at(Preempting);
        assert_eq!(goal.hear_status(Told::Pending, "what", NOW), Heard::Nonsense);
        assert_eq!((goal.state, goal.text()), (Preempting, ""));
    }

    fn after(seconds: u64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    #[test]
    fn a_goal_of_which_many_lists_say_nothing_for_long_is_lost() {
        for cancelled in [false, true] {
            let mut goal = Conversation::new();
            assert_eq!(cancelled, cancelled && goal.cancel());
            (0..100).for_each(|_| assert_eq!(goal.hear_no_status(after(1)), Heard::Nothing));
            assert_eq!(goal.hear_no_status(after(30)), Heard::Nothing, "not for long enough");
            assert_eq!(goal.hear_no_status(after(31)), Heard::End);
            let lost = (Told::Lost, "the action server has not heard of the goal");
            assert_eq!((goal.status(), goal.text()), lost);
        }
        let mut goal = Conversation::new();
        (0..10).for_each(|list| assert_eq!(goal.hear_no_status(after(10 * list)), Heard::Nothing));
        assert_eq!(goal.hear_status(Told::Active, "", after(100)), Heard::News, "not many enough");
        assert_eq!(goal.hear_status(Told::Active, "", after(1000)), Heard::Nothing, "it may take its time");
    }

    #[test]
    fn a_goal_that_has_ended_long_ago_without_its_result_is_lost() {
        for listed in [false, true] {
            let mut goal = Conversation::new();
            (0..10).for_each(|list| assert_eq!(goal.hear_no_status(after(2 * list)), Heard::Nothing));
            assert_eq!(goal.hear_status(Told::Succeeded, "", after(20)), Heard::News);
            let mut hear = |now| match listed {
                true => goal.hear_status(Told::Succeeded, "", now),
                false => goal.hear_no_status(now),
            };
            (0..100).for_each(|_| assert_eq!(hear(after(21)), Heard::Nothing));
            assert_eq!(hear(after(50)), Heard::Nothing, "what was waited for before does not count");
            assert_eq!(hear(after(51)), Heard::End);
            assert_eq!(goal.status(), Told::Lost);
            assert_eq!(
                goal.text(),
                "the action server says that the goal is SUCCEEDED, and no result has come"
            );
        }
    }
}
