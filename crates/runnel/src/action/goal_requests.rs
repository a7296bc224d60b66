//! Requests of ROS 2 clients about one goal of an action server, and the response that holds its result.

use std::sync::Arc;

/// Limit of requests for one result that wait: a client sends one.
const MOST_WAITING: usize = 10;

/// The state of the requests. `R` answers one.
pub(super) struct GoalRequests<R> {
    /// The request that sent the goal, until the server has decided on the goal.
    send_goal: Option<R>,
    /// Requests that wait for the result.
    get_result: Vec<R>,
    /// The response to them, once the goal has ended.
    result: Option<Arc<[u8]>>,
}

/// What to do with a request for a result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResultRequest<R> {
    /// It waits for the end of the goal.
    Waits,
    /// Answer with this response.
    Answer(R, Arc<[u8]>),
    /// The server does not know the goal: it never did, or it has forgotten the goal after its end.
    Unknown(R),
    /// So many requests wait for the same result already.
    TooMany(R, usize),
}

impl<R> Default for GoalRequests<R> {
    fn default() -> Self {
        Self { send_goal: None, get_result: Vec::new(), result: None }
    }
}

impl<R> GoalRequests<R> {
    /// Stores the request that sent the goal.
    pub(super) fn set_send_goal(&mut self, request: R) {
        self.send_goal = Some(request);
    }

    /// The request that sent the goal, if it is not answered yet.
    pub(super) fn take_send_goal(&mut self) -> Option<R> {
        self.send_goal.take()
    }

    /// Handles a request for the result.
    pub(super) fn request_result(&mut self, request: R) -> ResultRequest<R> {
        match &self.result {
            Some(response) => ResultRequest::Answer(request, Arc::clone(response)),
            None if self.get_result.len() >= MOST_WAITING => ResultRequest::TooMany(request, MOST_WAITING),
            None => {
                self.get_result.push(request);
                ResultRequest::Waits
            }
        }
    }

    /// Keeps the response that holds the result. Returns the requests to which it is sent.
    pub(super) fn set_result(&mut self, response: Arc<[u8]>) -> Vec<R> {
        self.result = Some(response);
        std::mem::take(&mut self.get_result)
    }
}
