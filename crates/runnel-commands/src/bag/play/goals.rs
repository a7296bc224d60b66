//! Recorded goals that are sent again by an action client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use runnel::core::dynamic::{Array, DynamicMessage, Value, ValueRef};
use runnel::core::schema::Schema;
use runnel::{DynamicActionClient, DynamicGoalHandle, Node};
use runnel_bag::Channel;

use super::recorded_action::RecordedAction;
use super::requests::{RequestSource, request};
use crate::bag::action_topics::ActionPart;
use crate::types::Types;

/// How often the state of goals is read at the end.
const STEP: Duration = Duration::from_millis(10);

/// Sends the goals of one action, and cancels them as recorded. The server gets new ids, since it may still know the
/// recorded ones. The client requests the results by itself.
pub struct Goals {
    client: DynamicActionClient,
    send_goal: Arc<Schema>,
    cancel_goal: Option<Arc<Schema>>,
    source: RequestSource,
    /// Those that have not ended, by their recorded ids.
    sent: BTreeMap<GoalUuid, Sent>,
}

type GoalUuid = [u8; 16];

struct Sent {
    goal: DynamicGoalHandle,
    /// When it was recorded, as the event has it.
    recorded: Stamp,
    is_canceled: bool,
}

/// Seconds and nanoseconds.
type Stamp = (i64, i64);

impl Goals {
    /// Creates the client of the action to which these channels belong.
    ///
    /// # Errors
    /// Why the goals cannot be sent.
    pub fn create(
        node: &Node,
        action: &str,
        channels: &[(ActionPart, &Channel)],
        types: &Types,
        source: RequestSource,
    ) -> Result<Self, String> {
        let recorded = RecordedAction::of(channels, types)?;
        let client = node.create_dynamic_action_client(action, &recorded.action);
        let client = client.map_err(|error| error.to_string())?;
        let RecordedAction { send_goal, cancel_goal, .. } = recorded;
        Ok(Self { client, send_goal, cancel_goal, source, sent: BTreeMap::new() })
    }

    /// The action.
    pub fn action(&self) -> &str {
        self.client.action()
    }

    /// Waits until a server is ready, at most this long.
    pub fn wait_for_server(&self, timeout: Duration) {
        // Whether one is ready is asked again for each goal.
        _ = self.client.wait_for_server(timeout);
    }

    /// Sends the goal of a message of the action, or cancels goals. False if the message says neither.
    ///
    /// # Errors
    /// Why that is not possible.
    pub fn play(&mut self, part: ActionPart, message: &[u8]) -> Result<bool, String> {
        match (part, &self.cancel_goal) {
            (ActionPart::SendGoal, _) => {
                let event = decoded(&self.send_goal, message)?;
                if self.source.has(&event) { self.send(&event) } else { Ok(false) }
            }
            (ActionPart::CancelGoal, Some(schema)) => {
                let event = decoded(schema, message)?;
                if self.source.has(&event) { self.cancel(&event) } else { Ok(false) }
            }
            _ => Ok(false),
        }
    }

    /// Waits until the server has answered all goals, and has ended those that were canceled, at most until an instant.
    /// Returns how many are still without an answer.
    pub fn wait_for_answers(&self, until: Instant) -> usize {
        loop {
            let pending = self.sent.values().filter(|sent| sent.is_pending()).count();
            if pending == 0 || Instant::now() >= until {
                return pending;
            }
            thread::sleep(STEP.min(until.saturating_duration_since(Instant::now())));
        }
    }

    fn send(&mut self, event: &DynamicMessage) -> Result<bool, String> {
        let request = request(event)?;
        let unreadable = || "its request has no goal".to_owned();
        let id = uuid(request, "goal_id.uuid").ok_or_else(unreadable)?;
        let Some(Value::Message(goal)) = request.field("goal") else { return Err(unreadable()) };
        if !self.client.server_is_ready() {
            return Err("no action server is ready".into());
        }
        self.sent.retain(|_, sent| !sent.goal.status().is_terminal());
        let goal = self.client.send_goal(goal).map_err(|error| error.to_string())?;
        let recorded = stamp(event, "info.stamp").unwrap_or_default();
        self.sent.insert(id, Sent { goal, recorded, is_canceled: false });
        Ok(true)
    }

    /// Cancels what a request names: a goal, all goals up to a time, or both; without either, all goals of the server.
    fn cancel(&mut self, event: &DynamicMessage) -> Result<bool, String> {
        let request = request(event)?;
        let id = uuid(request, "goal_info.goal_id.uuid").unwrap_or_default();
        let until = stamp(request, "goal_info.stamp").unwrap_or_default();
        if id == GoalUuid::default() && until == Stamp::default() {
            self.sent.values_mut().for_each(|sent| sent.is_canceled = true);
            self.client.cancel_all_goals().map_err(|error| error.to_string())?;
            return Ok(true);
        }
        let mut is_sent = false;
        for (known, sent) in &mut self.sent {
            // The goals of the server have other times now, so those up to the recorded one are canceled one by one.
            if *known == id || (until != Stamp::default() && sent.recorded <= until) {
                sent.is_canceled = true;
                sent.goal.cancel().map_err(|error| error.to_string())?;
                is_sent = true;
            }
        }
        Ok(is_sent)
    }
}

impl Sent {
    fn is_pending(&self) -> bool {
        !self.goal.status().is_terminal() && (self.is_canceled || !self.goal.is_acknowledged())
    }
}

fn decoded(schema: &Arc<Schema>, message: &[u8]) -> Result<DynamicMessage, String> {
    DynamicMessage::decode_payload(schema, message).map_err(|error| error.to_string())
}

fn uuid(message: &DynamicMessage, path: &str) -> Option<GoalUuid> {
    match message.get(path).ok()? {
        ValueRef::Array(Array::U8(bytes)) => bytes.as_slice().try_into().ok(),
        _ => None,
    }
}

fn stamp(message: &DynamicMessage, path: &str) -> Option<Stamp> {
    let number = |part: &str| match message.get(&format!("{path}.{part}")).ok()? {
        ValueRef::Int(number) => Some(number),
        ValueRef::UInt(number) => i64::try_from(number).ok(),
        _ => None,
    };
    Some((number("sec")?, number("nanosec")?))
}
