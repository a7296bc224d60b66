//! Action clients of types known only at run time.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::ActionSchema;
use runnel_core::time::Time;
use runnel_core::wire::Reader;

use super::client::{GoalOutcome, event_callback};
use super::content::DynamicContent;
use super::core::ClientCore;
use super::goal::Callback;
use super::goal_handle::GoalHandleBase;
use super::server_types::{DynamicTypes, ServerTypes};
use crate::error::Error;
use crate::node::Node;
use crate::ready::Dispatch;
use crate::types::type_mapping::TypeMapping;

impl Node {
    /// Creates a client of an action whose type is known only at run time. With a ROS 2 schema it is only in that
    /// graph.
    ///
    /// # Errors
    /// As [`Node::create_action_client`], and [`Error::NotInGraph`] if the type exists in none of the node's graphs.
    pub fn create_dynamic_action_client(
        &self,
        action: &str,
        schema: &Arc<ActionSchema>,
    ) -> Result<DynamicActionClient, Error> {
        let types = Arc::new(DynamicTypes::of(schema));
        let core = ClientCore::new(self, action, types.types())?;
        Ok(DynamicActionClient { core, types })
    }
}

/// As [`ActionClient`](crate::ActionClient), for a type known only at run time.
#[derive(Clone)]
pub struct DynamicActionClient {
    core: Arc<ClientCore>,
    types: Arc<DynamicTypes>,
}

/// As [`ClientGoalHandle`](crate::ClientGoalHandle), for a type known only at run time.
#[derive(Clone)]
pub struct DynamicGoalHandle {
    base: GoalHandleBase,
    result: Arc<TypeMapping>,
}

impl DynamicActionClient {
    /// The action's absolute name.
    pub fn action(&self) -> &str {
        self.core.action()
    }

    /// As [`ActionClient::wait_for_server`](crate::ActionClient::wait_for_server).
    ///
    /// # Errors
    /// As [`ActionClient::wait_for_server`](crate::ActionClient::wait_for_server).
    pub fn wait_for_server(&self, timeout: Duration) -> Result<bool, Error> {
        self.core.wait_for_server(timeout)
    }

    /// As [`ActionClient::server_is_ready`](crate::ActionClient::server_is_ready).
    pub fn server_is_ready(&self) -> bool {
        self.core.is_connected()
    }

    /// Sends a goal, which must be of the action's type.
    ///
    /// # Errors
    /// As [`ActionClient::send_goal`](crate::ActionClient::send_goal).
    pub fn send_goal(&self, goal: &DynamicMessage) -> Result<DynamicGoalHandle, Error> {
        self.send(goal, None)
    }

    /// As [`ActionClient::send_goal_with`](crate::ActionClient::send_goal_with).
    ///
    /// # Errors
    /// As [`ActionClient::send_goal`](crate::ActionClient::send_goal).
    pub fn send_goal_with(
        &self,
        goal: &DynamicMessage,
        feedback: impl FnMut(&DynamicMessage) + Send + 'static,
        done: impl FnOnce(GoalOutcome<DynamicMessage>) + Send + 'static,
    ) -> Result<DynamicGoalHandle, Error> {
        let DynamicTypes { result, feedback: of_feedback, .. } = &*self.types;
        let action = self.core.action().to_owned();
        let callback = event_callback(action, decoder(of_feedback), decoder(result), feedback, done);
        self.send(goal, Some((self.core.executor_dispatch(), callback)))
    }

    /// As [`ActionClient::cancel_all_goals`](crate::ActionClient::cancel_all_goals).
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish).
    pub fn cancel_all_goals(&self) -> Result<(), Error> {
        self.core.cancel_many(Time::default())
    }

    /// As [`ActionClient::cancel_goals_at_and_before_time`](crate::ActionClient::cancel_goals_at_and_before_time).
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish).
    pub fn cancel_goals_at_and_before_time(&self, time: Time) -> Result<(), Error> {
        self.core.cancel_many(time)
    }

    fn send(
        &self,
        goal: &DynamicMessage,
        callback: Option<(Dispatch, Callback)>,
    ) -> Result<DynamicGoalHandle, Error> {
        let goal = self.core.send(&DynamicContent { message: goal, mapping: &self.types.goal }, callback)?;
        let base = GoalHandleBase::new(&self.core, goal);
        Ok(DynamicGoalHandle { base, result: Arc::clone(&self.types.result) })
    }
}

impl Deref for DynamicGoalHandle {
    type Target = GoalHandleBase;

    fn deref(&self) -> &GoalHandleBase {
        &self.base
    }
}

impl DynamicGoalHandle {
    /// As [`ClientGoalHandle::wait_for_result`](crate::ClientGoalHandle::wait_for_result).
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends.
    pub fn wait_for_result(&self, timeout: Duration) -> Result<Option<GoalOutcome<DynamicMessage>>, Error> {
        self.wait_for_outcome(timeout, decoder(&self.result))
    }
}

fn decoder(
    mapping: &Arc<TypeMapping>,
) -> impl Fn(Reader<'_>) -> Result<DynamicMessage, String> + Send + 'static {
    let mapping = Arc::clone(mapping);
    move |reader| mapping.read(reader).map_err(|error| error.to_string())
}

impl fmt::Debug for DynamicActionClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicActionClient").field("action", &self.core.action()).finish_non_exhaustive()
    }
}

impl fmt::Debug for DynamicGoalHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicGoalHandle").field("id", self.id()).finish_non_exhaustive()
    }
}
