//! Requests of ROS 2 clients about one goal of an action server, and the response that holds its result.

use std::sync::Arc;

/// Limit of requests of one kind that wait for one goal and come from one participant, or, if they send the goal, from one
/// client: a client sends one.
pub(super) const MOST_WAITING: usize = 10;

/// Limit of requests for one result of all participants that have not sent the goal.
const MOST_OF_OTHERS: usize = 100;

/// Length of a participant's part of a client's id.
const PREFIX_LEN: usize = 12;

/// A request of a ROS 2 client.
pub(super) trait ClientRequest {
    /// Identifies the client among all clients. Clients of one participant begin alike.
    fn client(&self) -> [u8; 16];

    /// Whether its client is gone, so that nothing waits for the answer.
    fn is_abandoned(&self) -> bool;

    /// Whether its client has been gone for so long that it will not return.
    fn is_absent(&self) -> bool;
}

/// The state of the requests. `R` answers one.
pub(super) struct GoalRequests<R> {
    /// The client that has sent the goal.
    sender: Option<[u8; 16]>,
    /// The requests that have sent the goal, until the server has decided on it. A client may repeat its request.
    send_goal: Vec<R>,
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
    /// So many requests of this participant, or of all that have not sent the goal, wait for the same result already.
    TooMany(R, usize),
}

/// The participant of a request's client.
fn participant(request: &impl ClientRequest) -> [u8; PREFIX_LEN] {
    participant_of(request.client())
}

fn participant_of(client: [u8; 16]) -> [u8; PREFIX_LEN] {
    std::array::from_fn(|index| client[index])
}

impl<R> Default for GoalRequests<R> {
    fn default() -> Self {
        Self { sender: None, send_goal: Vec::new(), get_result: Vec::new(), result: None }
    }
}

impl<R: ClientRequest> GoalRequests<R> {
    /// Stores the request that sent the goal.
    pub(super) fn set_send_goal(&mut self, request: R) {
        self.sender = Some(request.client());
        self.send_goal.push(request);
    }

    /// Whether the goal was sent by the client of this request.
    pub(super) fn is_sent_by_client_of(&self, request: &R) -> bool {
        self.sender == Some(request.client())
    }

    /// Stores a repeated request that sent the goal. Returns it if too many wait.
    pub(super) fn repeat_send_goal(&mut self, request: R) -> Option<R> {
        if self.send_goal.len() >= MOST_WAITING {
            return Some(request);
        }
        self.send_goal.push(request);
        None
    }

    /// The requests that sent the goal, unless they are answered.
    pub(super) fn take_send_goal(&mut self) -> Vec<R> {
        std::mem::take(&mut self.send_goal)
    }

    /// Handles a request for the result. Requests of clients that are gone make way for it. Requests of other participants
    /// leave the capacity of the one that has sent the goal.
    pub(super) fn request_result(&mut self, request: R) -> ResultRequest<R> {
        if let Some(response) = &self.result {
            return ResultRequest::Answer(request, Arc::clone(response));
        }
        if self.limit_reached_by(&request).is_some() {
            self.get_result.retain(|waiting| !waiting.is_abandoned());
        }
        if let Some(limit) = self.limit_reached_by(&request) {
            return ResultRequest::TooMany(request, limit);
        }
        self.get_result.push(request);
        ResultRequest::Waits
    }

    /// The limit that is reached before a further request for the result.
    fn limit_reached_by(&self, request: &R) -> Option<usize> {
        let from = participant(request);
        let own = self.get_result.iter().filter(|waiting| participant(*waiting) == from);
        if own.count() >= MOST_WAITING {
            return Some(MOST_WAITING);
        }
        let sender = self.sender.map(participant_of);
        let others = self.get_result.iter().filter(|waiting| sender != Some(participant(*waiting)));
        (sender != Some(from) && others.count() >= MOST_OF_OTHERS).then_some(MOST_OF_OTHERS)
    }

    /// Gives up the requests for the result whose clients have been gone for too long.
    pub(super) fn drop_absent_clients(&mut self) {
        self.get_result.retain(|waiting| !waiting.is_absent());
    }

    /// Keeps the response that holds the result. Returns the requests to which it is sent.
    pub(super) fn set_result(&mut self, response: Arc<[u8]>) -> Vec<R> {
        self.result = Some(response);
        std::mem::take(&mut self.get_result)
    }
}

impl<R> GoalRequests<R> {
    /// The length of the response that holds the result; `None` without one.
    pub(super) fn result_len(&self) -> Option<usize> {
        self.result.as_ref().map(|response| response.len())
    }

    /// The number of requests that wait for the result.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.get_result.len()
    }
}
