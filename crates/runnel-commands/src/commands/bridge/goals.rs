//! Goals of an action that this bridge carries. Each has a handle at the bridge's server and, once it is sent on, one at the
//! bridge's client of the real server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Schema};
use runnel::core::wire::{Bytes, Encoding};
use runnel::{
    DynamicActionClient, DynamicGoalHandle, DynamicServerGoalHandle, Error, GoalOutcome, GoalStatus,
};
use runnel_bridge::Plan;
use runnel_bridge::decision::Direction;

use super::report::{CallCounts, graph_name};
use crate::streaming::lock;

/// How long a goal waits until the real server is connected.
const CONNECTING: Duration = Duration::from_secs(10);

/// Most remarks of one action.
const MOST_REMARKS: usize = 16;

/// Conversion of one of an action's messages.
pub struct Conversion {
    pub plan: Plan,
    pub to: Arc<Schema>,
}

/// Conversions of an action's messages.
pub struct Conversions {
    /// From the graph of the clients to that of the real server.
    pub goal: Conversion,
    /// The other way round.
    pub result: Conversion,
    /// The other way round.
    pub feedback: Conversion,
}

/// See the module's documentation.
pub struct Goals {
    direction: Direction,
    client: DynamicActionClient,
    conversions: Conversions,
    open: Mutex<BTreeMap<String, Arc<Goal>>>,
    totals: Mutex<Totals>,
}

#[derive(Default)]
struct Totals {
    counts: CallCounts,
    remarks: Vec<String>,
}

struct Goal {
    served: DynamicServerGoalHandle,
    arrived: Instant,
    /// A thread sends it, or has sent it.
    is_sent: AtomicBool,
    real: OnceLock<DynamicGoalHandle>,
}

impl Conversion {
    fn convert(&self, message: &DynamicMessage) -> Result<DynamicMessage, String> {
        let encoding = match message.schema().generation {
            Generation::Ros1 => Encoding::Ros1,
            Generation::Ros2 => Encoding::Xcdr1,
        };
        let bytes = message.to_payload(encoding).map_err(|error| error.to_string())?;
        let mut converted = Vec::new();
        let converted_notes = self.plan.convert(Bytes::from(&bytes), encoding, &mut converted);
        converted_notes.map_err(|error| error.to_string())?;
        let decoded = match self.to.generation {
            Generation::Ros1 => DynamicMessage::decode(&self.to, &converted),
            Generation::Ros2 => DynamicMessage::decode_payload(&self.to, &converted),
        };
        decoded.map_err(|error| error.to_string())
    }
}

impl Goals {
    /// `client` sends goals to the real server.
    pub fn new(direction: Direction, client: DynamicActionClient, conversions: Conversions) -> Arc<Self> {
        let (open, totals) = (Mutex::default(), Mutex::default());
        Arc::new(Self { direction, client, conversions, open, totals })
    }

    /// Whether the real server is connected.
    pub fn is_connected(&self) -> bool {
        self.client.server_is_ready()
    }

    /// Passes a goal on, now or once the real server is connected.
    pub fn receive(self: &Arc<Self>, served: DynamicServerGoalHandle) {
        let id = served.id().to_string();
        let goal = Arc::new(Goal {
            served,
            arrived: Instant::now(),
            is_sent: AtomicBool::new(false),
            real: OnceLock::new(),
        });
        lock(&self.open).insert(id.clone(), Arc::clone(&goal));
        if self.client.server_is_ready() {
            self.send(&id, &goal);
        }
    }

    /// Passes a request to cancel a goal on. A goal that is not sent yet is canceled by [`Goals::advance`].
    pub fn cancel(&self, served: &DynamicServerGoalHandle) {
        let goal = lock(&self.open).get(&served.id().to_string()).cloned();
        if let Some(Err(error)) = goal.and_then(|goal| goal.real.get().map(|real| real.cancel())) {
            self.remark(&error.to_string());
        }
    }

    fn send(self: &Arc<Self>, id: &str, goal: &Arc<Goal>) {
        // The thread that receives goals and the one that advances them may both find it unsent.
        if goal.is_sent.swap(true, Ordering::SeqCst) {
            return;
        }
        let sent = self.conversions.goal.convert(goal.served.goal()).and_then(|content| {
            let [on_feedback, on_end] = [(); 2].map(|()| (Arc::downgrade(self), Arc::downgrade(goal)));
            let id = id.to_owned();
            let feedback = move |message: &DynamicMessage| {
                with(&on_feedback, |goals, goal| goals.feedback(goal, message))
            };
            let done = move |outcome: GoalOutcome<DynamicMessage>| {
                with(&on_end, |goals, goal| goals.end(&id, goal, outcome));
            };
            self.client.send_goal_with(&content, feedback, done).map_err(|error| error.to_string())
        });
        match sent {
            Ok(real) => {
                let _ = goal.real.set(real);
            }
            Err(why) => self.reject(id, goal, &why),
        }
    }

    /// Continues with goals that the real server has not decided on. Returns whether there are such goals.
    pub fn advance(self: &Arc<Self>) -> bool {
        let open: Vec<_> = lock(&self.open).iter().map(|(id, goal)| (id.clone(), Arc::clone(goal))).collect();
        let mut is_waiting = false;
        for (id, goal) in open {
            let is_undecided = is_undecided(goal.served.status());
            is_waiting |= is_undecided;
            match goal.real.get() {
                _ if !is_undecided => {}
                Some(real) => self.accept_as(&goal, real),
                None if goal.is_sent.load(Ordering::SeqCst) => {}
                None if goal.served.status().is_cancel_requested() => {
                    self.reject(&id, &goal, "it was canceled")
                }
                None if self.client.server_is_ready() => self.send(&id, &goal),
                None if goal.arrived.elapsed() >= CONNECTING => {
                    self.reject(&id, &goal, "its server is not connected");
                }
                None => {}
            }
        }
        is_waiting
    }

    /// Accepts a goal once the real server has.
    fn accept_as(&self, goal: &Goal, real: &DynamicGoalHandle) {
        if matches!(real.status(), GoalStatus::Active | GoalStatus::Preempting) {
            self.note(goal.served.accept());
        }
    }

    fn feedback(&self, goal: &Goal, message: &DynamicMessage) {
        if is_undecided(goal.served.status()) {
            self.note(goal.served.accept());
        }
        match self.conversions.feedback.convert(message) {
            Ok(feedback) => self.note(goal.served.publish_feedback(&feedback)),
            Err(why) => self.remark(&format!("feedback has no form there: {why}")),
        }
    }

    fn end(&self, id: &str, goal: &Goal, outcome: GoalOutcome<DynamicMessage>) {
        lock(&self.open).remove(id);
        let GoalOutcome { status, text, result } = outcome;
        let result = result.map(|result| self.conversions.result.convert(&result)).transpose();
        let (status, text, result) = match result {
            Ok(result) => (status, text, result),
            Err(why) => (GoalStatus::Lost, format!("the result has no form there: {why}"), None),
        };
        let served = &goal.served;
        let needs_accepting =
            matches!(status, GoalStatus::Succeeded | GoalStatus::Aborted | GoalStatus::Preempted);
        if needs_accepting && is_undecided(served.status()) {
            self.note(served.accept());
        }
        let result = result.as_ref();
        let is_undecided = is_undecided(served.status());
        self.note(match status {
            GoalStatus::Succeeded => served.succeed(result, &text),
            GoalStatus::Preempted | GoalStatus::Recalled => served.canceled(result, &text),
            GoalStatus::Aborted => served.abort(result, &text),
            _ if is_undecided => served.reject(&text),
            _ => served.abort(result, &text),
        });
        if status == GoalStatus::Lost {
            self.fail(&text);
        } else {
            lock(&self.totals).counts.calls += 1;
        }
    }

    fn reject(&self, id: &str, goal: &Goal, why: &str) {
        lock(&self.open).remove(id);
        let text = format!("bridge to {}: {why}", graph_name(self.direction.source()));
        self.note(match goal.served.status().is_cancel_requested() {
            true => goal.served.canceled(None, &text),
            false => goal.served.reject(&text),
        });
        self.fail(why);
    }

    fn fail(&self, why: &str) {
        lock(&self.totals).counts.failed += 1;
        self.remark(&format!("a goal failed: {why}"));
    }

    fn note(&self, done: Result<(), Error>) {
        if let Err(error) = done {
            self.remark(&error.to_string());
        }
    }

    /// Adds a remark for the report.
    pub fn remark(&self, remark: &str) {
        let remarks = &mut lock(&self.totals).remarks;
        if remarks.len() < MOST_REMARKS && !remarks.iter().any(|other| other == remark) {
            remarks.push(remark.to_owned());
        }
    }

    /// Forgets all goals. Those of the bridge's server end with it.
    pub fn clear(&self) {
        let open = std::mem::take(&mut *lock(&self.open));
        lock(&self.totals).counts.failed += open.len() as u64;
    }

    /// The goals until now, and what was remarked about them.
    pub fn counts(&self) -> (CallCounts, Vec<String>) {
        let open = lock(&self.open).len() as u64;
        let totals = lock(&self.totals);
        (CallCounts { open, ..totals.counts }, totals.remarks.clone())
    }
}

/// Whether the bridge's server has neither accepted nor rejected a goal.
fn is_undecided(status: GoalStatus) -> bool {
    matches!(status, GoalStatus::Pending | GoalStatus::Recalling)
}

fn with((goals, goal): &(Weak<Goals>, Weak<Goal>), run: impl FnOnce(&Goals, &Goal)) {
    if let (Some(goals), Some(goal)) = (goals.upgrade(), goal.upgrade()) {
        run(&goals, &goal);
    }
}
