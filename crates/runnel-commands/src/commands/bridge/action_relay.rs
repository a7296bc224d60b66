//! An action that this bridge carries: a server in one graph that passes goals on to the real server in the other.

use std::sync::Arc;

use runnel::DynamicActionServer;
use runnel::core::schema::Schema;
use runnel_bridge::decision::Direction;
use runnel_bridge::{ActionTypes, AnnouncedServer, Plan};

use super::goals::{Conversion, Conversions, Goals};
use super::resources::Resources;
use super::server_table::{Relay, RelayStatus};

/// See the module's documentation.
pub struct ActionRelay {
    /// It is dropped before the goals.
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
        let (receiver, canceler) = (Arc::clone(&goals), Arc::clone(&goals));
        let on_goal = move |goal| receiver.receive(goal);
        let server = nodes[1]
            .create_dynamic_action_server(action, served, on_goal, move |goal| canceler.cancel(&goal));
        let server = Some(server.map_err(failed)?);
        let ros2_name = format!("{}/action/{}", ros2.name.package, ros2.name.name);
        Ok(Self { server, goals, announced, types: [ros1.name.to_string(), ros2_name] })
    }

    /// The goals.
    pub fn goals(&self) -> &Arc<Goals> {
        &self.goals
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
        RelayStatus { ros1_type, ros2_type, counts, remarks }
    }
}

impl Drop for ActionRelay {
    fn drop(&mut self) {
        self.server = None;
        self.goals.clear();
    }
}
