//! Requests to a lifecycle node, answered from its state machine.

use runnel_msgs::lifecycle_msgs::msg::{State, Transition as TransitionMessage, TransitionDescription};
use runnel_msgs::lifecycle_msgs::srv::{
    ChangeStateRequest, GetAvailableStatesResponse, GetAvailableTransitionsResponse, GetStateResponse,
};

use super::state_machine::{LifecycleState, StateMachine, TRANSITIONS, Transition, Wanted};

/// A state as a message.
pub(super) fn state_message(state: LifecycleState) -> State {
    State { id: state.id(), label: state.label().to_owned() }
}

/// A transition as a message.
pub(super) fn transition_message(transition: &Transition) -> TransitionMessage {
    TransitionMessage { id: transition.id, label: transition.label.to_owned() }
}

/// The transition that a request names: by its label if it has one, else by its number, as in rcl.
pub(super) fn wanted(request: &ChangeStateRequest) -> Wanted<'_> {
    match request.transition.label.as_str() {
        "" => Wanted::Id(request.transition.id),
        label => Wanted::Label(label),
    }
}

pub(super) fn get_state(machine: &StateMachine) -> GetStateResponse {
    GetStateResponse { current_state: state_message(machine.current()) }
}

pub(super) fn get_available_states() -> GetAvailableStatesResponse {
    GetAvailableStatesResponse { available_states: LifecycleState::ALL.map(state_message).to_vec() }
}

/// The transitions out of the current state.
pub(super) fn get_available_transitions(machine: &StateMachine) -> GetAvailableTransitionsResponse {
    GetAvailableTransitionsResponse { available_transitions: machine.available().map(description).collect() }
}

/// All transitions.
pub(super) fn get_transition_graph() -> GetAvailableTransitionsResponse {
    GetAvailableTransitionsResponse { available_transitions: TRANSITIONS.iter().map(description).collect() }
}

fn description(transition: &Transition) -> TransitionDescription {
    TransitionDescription {
        transition: transition_message(transition),
        start_state: state_message(transition.start),
        goal_state: state_message(transition.goal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_of_request_has_priority() {
        let request = |id, label: &str| ChangeStateRequest {
            transition: TransitionMessage { id, label: label.to_owned() },
        };
        assert_eq!(wanted(&request(3, "")), Wanted::Id(3));
        assert_eq!(wanted(&request(3, "configure")), Wanted::Label("configure"));
    }

    #[test]
    fn available_transitions_follow_state() {
        let mut machine = StateMachine::new();
        assert_eq!(get_state(&machine).current_state, State { id: 1, label: "unconfigured".into() });
        machine.start(Wanted::Id(1)).expect("available");
        machine.finish(super::super::CallbackReturn::Success).expect("in progress");
        let available = get_available_transitions(&machine).available_transitions;
        let names: Vec<_> = available
            .iter()
            .map(|it| (it.transition.id, it.transition.label.as_str(), it.goal_state.label.as_str()))
            .collect();
        let expected =
            [(2, "cleanup", "cleaningup"), (3, "activate", "activating"), (6, "shutdown", "shuttingdown")];
        assert_eq!(names, expected);
        assert!(available.iter().all(|it| it.start_state == State { id: 2, label: "inactive".into() }));
    }

    #[test]
    fn graph_and_states_are_complete() {
        assert_eq!(get_transition_graph().available_transitions.len(), 25);
        let ids: Vec<_> = get_available_states().available_states.iter().map(|state| state.id).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 15]);
    }
}
