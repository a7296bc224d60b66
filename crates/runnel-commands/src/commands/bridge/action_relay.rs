//! An action that this bridge carries: a server in one graph that passes goals on to the real server in the other.

use std::sync::Arc;

use runnel::core::schema::{ActionSchema, Schema};
use runnel::{DynamicActionServer, Node};
use runnel_bridge::decision::Direction;
use runnel_bridge::{ActionTypes, AnnouncedServer, Plan};

use super::goals::{Conversion, Conversions, Goals};
use super::resources::Resources;
use super::server_table::{Relay, RelayStatus};

/// See the module's documentation.
pub struct ActionRelay {
    action: String,
    /// The node of the bridge's server, and the type there.
    node: Node,
    served: Arc<ActionSchema>,
    /// `None` until the real server is connected: a server in Python loses feedback for clients that it is about to connect
    /// to. It is dropped before the goals.
    server: Option<DynamicActionServer>,
    goals: Arc<Goals>,
    announced: AnnouncedServer,
    types: [String; 2],
}

impl ActionRelay {
    /// Begins to carry the action of this name, whose server announces this type.
    ///
    /// # Errors
    /// Why it cannot be carried.
    pub fn new(
        resources: &Resources<'_>,
        action: &str,
        direction: Direction,
        announced: AnnouncedServer,
    ) -> Result<Self, String> {
        let library = resources.types.library();
        let types = ActionTypes::find(direction.source(), &announced, library, &resources.rules);
        let ActionTypes { ros1, ros2 } = types.map_err(|error| error.to_string())?;
        let (real, served, nodes) = match direction {
            Direction::ToRos2 => (&ros1, &ros2, [&resources.ros1, &resources.ros2]),
            Direction::ToRos1 => (&ros2, &ros1, [&resources.ros2, &resources.ros1]),
        };
        let conversions = Conversions {
            goal: conversion(resources, "goal", &served.goal, &real.goal)?,
            result: conversion(resources, "result", &real.result, &served.result)?,
            feedback: conversion(resources, "feedback", &real.feedback, &served.feedback)?,
        };
        let failed = |error: runnel::Error| error.to_string();
        let client = nodes[0].create_dynamic_action_client(action, real).map_err(failed)?;
        let goals = Goals::new(direction, client, conversions);
        let ros2_name = format!("{}/action/{}", ros2.name.package, ros2.name.name);
        Ok(Self {
            action: action.to_owned(),
            node: nodes[1].clone(),
            served: Arc::clone(served),
            server: None,
            goals,
            announced,
            types: [ros1.name.to_string(), ros2_name],
        })
    }

    /// Offers the action once the real server is connected, and continues with goals. Returns whether anything is awaited.
    pub fn advance(&mut self) -> bool {
        if self.server.is_none() && self.goals.is_connected() {
            match self.offer() {
                Ok(server) => self.server = Some(server),
                Err(error) => self.goals.remark(&error.to_string()),
            }
        }
        self.server.is_none() | self.goals.advance()
    }

    fn offer(&self) -> Result<DynamicActionServer, runnel::Error> {
        let (receiver, canceler) = (Arc::clone(&self.goals), Arc::clone(&self.goals));
        let on_goal = move |goal| receiver.receive(goal);
        let on_cancel = move |goal| canceler.cancel(&goal);
        self.node.create_dynamic_action_server(self.action.as_str(), &self.served, on_goal, on_cancel)
    }
}

fn conversion(
    resources: &Resources<'_>,
    part: &str,
    from: &Arc<Schema>,
    to: &Arc<Schema>,
) -> Result<Conversion, String> {
    let plan = Plan::compile(from, to, &resources.rules);
    let plan = plan.map_err(|error| format!("{part}: {error}"))?;
    Ok(Conversion { plan, to: Arc::clone(to) })
}

impl Relay for ActionRelay {
    fn is_of(&self, announced: &AnnouncedServer) -> bool {
        self.announced == *announced
    }

    fn status(&self) -> RelayStatus {
        let [ros1_type, ros2_type] = self.types.clone();
        let (counts, remarks) = self.goals.counts();
        RelayStatus { is_complete: self.server.is_some(), ros1_type, ros2_type, counts, remarks }
    }
}

impl Drop for ActionRelay {
    fn drop(&mut self) {
        self.server = None;
        self.goals.clear();
    }
}
