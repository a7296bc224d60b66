//! Requests of ROS 2 clients to an action server.

use std::sync::Arc;

use runnel_core::time::Time;
use runnel_core::wire::Bytes;
use runnel_io::clock;

use super::goal_requests::ResultRequest;
use super::ros2_goals::CancelCode;
use super::ros2_message::{
    STATUS_UNKNOWN, cancel_response, goal_response, read_cancel_request, read_result_request, read_with_uuid,
    result_response,
};
use super::ros2_request::{Reply, Request};
use super::server_arrivals::Arrived;
use super::server_core::{ServerCore, ServerGoal};
use super::server_types::ServerTypes;
use crate::error::Error;
use crate::goal_status::GoalId;

/// Answers a cancel request: as refused if the user's callback panics.
struct CancelReply(Option<Reply>);

impl CancelReply {
    fn send(mut self, response: Vec<u8>) {
        if let Some(reply) = self.0.take() {
            reply.send(response);
        }
    }
}

impl Drop for CancelReply {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            let why = "the callback for cancel requests panicked".to_owned();
            reply.refuse(cancel_response(CancelCode::Rejected as i8, &[]), why);
        }
    }
}

impl<A: ServerTypes> ServerCore<A> {
    /// Handles a request to `send_goal`. Returns the handle for the user's decision.
    pub(super) fn on_goal_request(self: &Arc<Self>, request: Request) -> Option<Arc<ServerGoal<A>>> {
        let Request { bytes, encoding, client, reply } = request;
        let received = read_with_uuid(encoding, Bytes::from(&bytes)).map_err(|error| error.to_string());
        let received = received.and_then(|(uuid, content)| {
            let reader = content.reader().map_err(|error| error.to_string())?;
            Ok((uuid, self.types.read_goal(reader).map_err(|error| error.to_string())?))
        });
        match received {
            Ok((uuid, goal)) => {
                let stamps = (Time::default(), self.now());
                self.arrive(&client, Arrived { id: GoalId::from(uuid), stamps, goal, reply: Some(reply) })
            }
            Err(error) => {
                let why = format!("a goal from [{client}] that cannot be read: {error}");
                reply.refuse(goal_response(None), why.clone());
                self.refuse(format_args!("{why}"));
                None
            }
        }
    }

    /// Handles a request to `cancel_goal`. `ask` calls the owner of a goal.
    pub(super) fn on_cancel_request(&self, request: Request, ask: &mut dyn FnMut(Arc<ServerGoal<A>>)) {
        let Request { bytes, encoding, client, reply } = request;
        let (uuid, stamp) = match read_cancel_request(encoding, &bytes) {
            Ok(request) => request,
            Err(error) => {
                let why = format!("a cancel request from [{client}] that cannot be read: {error}");
                reply.refuse(cancel_response(CancelCode::Rejected as i8, &[]), why.clone());
                return self.refuse(format_args!("{why}"));
            }
        };
        let reply = CancelReply(Some(reply));
        let request = self.table().goals.cancel_ros2(uuid, stamp, clock::monotonic());
        let accepted = self.decide_cancel(&request.goals, ask);
        let code = request.code(&accepted) as i8;
        let table = self.table();
        let info = |key| table.goals.get(key).and_then(|entry| Some((entry.id.uuid()?, entry.stamp)));
        let canceling = request.goals.iter().zip(accepted).filter(|(_, is_accepted)| *is_accepted);
        let canceling: Vec<_> = canceling.filter_map(|((key, _), _)| info(*key)).collect();
        drop(table);
        reply.send(cancel_response(code, &canceling));
    }

    /// Handles a request to `get_result`.
    pub(super) fn on_result_request(&self, request: Request) {
        let Request { bytes, encoding, client, reply } = request;
        let uuid = match read_result_request(encoding, &bytes) {
            Ok(uuid) => uuid,
            Err(error) => {
                let why = format!("a result request from [{client}] that cannot be read: {error}");
                self.refuse_result(reply, &why);
                return self.refuse(format_args!("{why}"));
            }
        };
        let answer = self.table().goals.request_result(uuid, reply, clock::monotonic());
        match answer {
            ResultRequest::Waits => {}
            ResultRequest::Answer(reply, response) => reply.send(response.to_vec()),
            ResultRequest::Unknown(reply) => self.answer_unknown(reply),
            ResultRequest::TooMany(reply, limit) => {
                let id = GoalId::from(uuid);
                let why = format!("{limit} requests wait for the result of goal {id} already");
                self.refuse_result(reply, &why);
                self.refuse(format_args!("a result request from [{client}]: {why}"));
            }
        }
    }

    /// Answers a request for the result of a goal that the server does not know.
    fn answer_unknown(&self, reply: Reply) {
        // An empty result always has a form in ROS 2.
        if let Ok(response) = self.unknown_goal() {
            reply.send(response.to_vec());
        }
    }

    /// Refuses a request for a result. A client that does not understand errors gets the answer for unknown goals.
    fn refuse_result(&self, reply: Reply, why: &str) {
        if let Ok(response) = self.unknown_goal() {
            reply.refuse(response.to_vec(), why.to_owned());
        }
    }

    /// The response to a request for the result of a goal that the server does not know.
    pub(super) fn unknown_goal(&self) -> Result<Arc<[u8]>, Error> {
        result_response(STATUS_UNKNOWN, &self.types.empty_result(), self.action())
    }
}
