//! State machine of ROS 2's managed nodes, without a node: states, transitions and their numbers.
//!
//! Source: `lifecycle_msgs/msg/State` and `Transition`; the transitions are those of rcl_lifecycle.

use std::fmt;

/// A state of a lifecycle node. The numbers are those of `lifecycle_msgs/msg/State`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LifecycleState {
    /// Not known. No node is in this state.
    Unknown = 0,
    /// Created, or cleaned up.
    Unconfigured = 1,
    /// Configured. Its publishers publish nothing.
    Inactive = 2,
    /// At work.
    Active = 3,
    /// Shut down. No transition leads out of this state.
    Finalized = 4,
    /// `on_configure` runs.
    Configuring = 10,
    /// `on_cleanup` runs.
    CleaningUp = 11,
    /// `on_shutdown` runs.
    ShuttingDown = 12,
    /// `on_activate` runs.
    Activating = 13,
    /// `on_deactivate` runs.
    Deactivating = 14,
    /// `on_error` runs.
    ErrorProcessing = 15,
}

impl LifecycleState {
    /// All states, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Unknown,
        Self::Unconfigured,
        Self::Inactive,
        Self::Active,
        Self::Finalized,
        Self::Configuring,
        Self::CleaningUp,
        Self::ShuttingDown,
        Self::Activating,
        Self::Deactivating,
        Self::ErrorProcessing,
    ];

    /// The number in ROS 2 (`lifecycle_msgs/msg/State`).
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The name in ROS 2, such as `unconfigured`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Unconfigured => "unconfigured",
            Self::Inactive => "inactive",
            Self::Active => "active",
            Self::Finalized => "finalized",
            Self::Configuring => "configuring",
            Self::CleaningUp => "cleaningup",
            Self::ShuttingDown => "shuttingdown",
            Self::Activating => "activating",
            Self::Deactivating => "deactivating",
            Self::ErrorProcessing => "errorprocessing",
        }
    }

    /// Whether a transition is in progress.
    pub fn is_transition(self) -> bool {
        self as u8 >= Self::Configuring as u8
    }
}

impl fmt::Display for LifecycleState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

/// The result of a callback of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackReturn {
    /// The transition is complete.
    Success,
    /// The transition is not possible: the node stays in the state before it, or, after `on_shutdown` and `on_error`,
    /// is finalized.
    Failure,
    /// Something went wrong: `on_error` runs next.
    Error,
}

/// A transition between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transition {
    pub(super) id: u8,
    pub(super) label: &'static str,
    pub(super) start: LifecycleState,
    pub(super) goal: LifecycleState,
}

const SUCCESS: &str = "transition_success";
const FAILURE: &str = "transition_failure";
const ERROR: &str = "transition_error";

use LifecycleState::{
    Activating, Active, CleaningUp, Configuring, Deactivating, ErrorProcessing, Finalized, Inactive,
    ShuttingDown, Unconfigured,
};

/// All transitions, in rcl's order.
pub(super) const TRANSITIONS: [Transition; 25] = [
    transition(1, "configure", Unconfigured, Configuring),
    transition(10, SUCCESS, Configuring, Inactive),
    transition(11, FAILURE, Configuring, Unconfigured),
    transition(12, ERROR, Configuring, ErrorProcessing),
    transition(2, "cleanup", Inactive, CleaningUp),
    transition(20, SUCCESS, CleaningUp, Unconfigured),
    transition(21, FAILURE, CleaningUp, Inactive),
    transition(22, ERROR, CleaningUp, ErrorProcessing),
    transition(3, "activate", Inactive, Activating),
    transition(30, SUCCESS, Activating, Active),
    transition(31, FAILURE, Activating, Inactive),
    transition(32, ERROR, Activating, ErrorProcessing),
    transition(4, "deactivate", Active, Deactivating),
    transition(40, SUCCESS, Deactivating, Inactive),
    transition(41, FAILURE, Deactivating, Active),
    transition(42, ERROR, Deactivating, ErrorProcessing),
    transition(5, "shutdown", Unconfigured, ShuttingDown),
    transition(6, "shutdown", Inactive, ShuttingDown),
    transition(7, "shutdown", Active, ShuttingDown),
    transition(50, SUCCESS, ShuttingDown, Finalized),
    transition(51, FAILURE, ShuttingDown, Finalized),
    transition(52, ERROR, ShuttingDown, ErrorProcessing),
    transition(60, SUCCESS, ErrorProcessing, Unconfigured),
    transition(61, FAILURE, ErrorProcessing, Finalized),
    transition(62, ERROR, ErrorProcessing, Finalized),
];

const fn transition(id: u8, label: &'static str, start: LifecycleState, goal: LifecycleState) -> Transition {
    Transition { id, label, start, goal }
}

/// A requested transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    Id(u8),
    Label(&'a str),
}

impl Wanted<'_> {
    fn is(self, transition: &Transition) -> bool {
        match self {
            Self::Id(id) => transition.id == id,
            Self::Label(label) => transition.label == label,
        }
    }
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => match TRANSITIONS.iter().find(|transition| transition.id == *id) {
                Some(transition) => write!(f, "{} ({id})", transition.label),
                None => id.fmt(f),
            },
            Self::Label(label) => write!(f, "{}", runnel_core::sanitize::one_line(label)),
        }
    }
}

/// The state of a node.
#[derive(Debug)]
pub(super) struct StateMachine {
    current: LifecycleState,
}

impl StateMachine {
    /// An unconfigured node.
    pub(super) fn new() -> Self {
        Self { current: Unconfigured }
    }

    pub(super) fn current(&self) -> LifecycleState {
        self.current
    }

    /// The transitions out of the current state.
    pub(super) fn available(&self) -> impl Iterator<Item = &'static Transition> {
        let current = self.current;
        TRANSITIONS.iter().filter(move |transition| transition.start == current)
    }

    /// Starts a transition. `None` if it is not available, or if another one is in progress.
    pub(super) fn start(&mut self, wanted: Wanted<'_>) -> Option<&'static Transition> {
        if self.current.is_transition() {
            return None;
        }
        self.follow(|transition| wanted.is(transition))
    }

    /// Ends a transition, or error processing, with the result of its callback. After an error of the former, error
    /// processing is the current state. `None` if no transition is in progress.
    pub(super) fn finish(&mut self, result: CallbackReturn) -> Option<&'static Transition> {
        let label = match result {
            CallbackReturn::Success => SUCCESS,
            CallbackReturn::Failure => FAILURE,
            CallbackReturn::Error => ERROR,
        };
        self.follow(|transition| transition.label == label)
    }

    fn follow(&mut self, is_wanted: impl Fn(&Transition) -> bool) -> Option<&'static Transition> {
        let transition = self.available().find(|transition| is_wanted(transition))?;
        self.current = transition.goal;
        Some(transition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CallbackReturn::{Error, Failure, Success};

    /// A state machine that has got into this state.
    fn machine(state: LifecycleState) -> StateMachine {
        StateMachine { current: state }
    }

    #[test]
    fn transition_ends_in_state_of_its_result() {
        for (start, id, during, ends) in [
            (Unconfigured, 1, Configuring, [Inactive, Unconfigured, ErrorProcessing]),
            (Inactive, 2, CleaningUp, [Unconfigured, Inactive, ErrorProcessing]),
            (Inactive, 3, Activating, [Active, Inactive, ErrorProcessing]),
            (Active, 4, Deactivating, [Inactive, Active, ErrorProcessing]),
            (Unconfigured, 5, ShuttingDown, [Finalized, Finalized, ErrorProcessing]),
            (Inactive, 6, ShuttingDown, [Finalized, Finalized, ErrorProcessing]),
            (Active, 7, ShuttingDown, [Finalized, Finalized, ErrorProcessing]),
        ] {
            for (result, end) in [Success, Failure, Error].into_iter().zip(ends) {
                let mut machine = machine(start);
                let begun = machine.start(Wanted::Id(id)).map(|it| (it.start, it.goal));
                assert_eq!(begun, Some((start, during)), "{id}");
                assert_eq!(machine.finish(result).map(|it| it.goal), Some(end), "{id} {result:?}");
                assert_eq!(machine.current(), end);
            }
        }
    }

    #[test]
    fn error_processing_ends_unconfigured_or_finalized() {
        for (result, end) in [(Success, Unconfigured), (Failure, Finalized), (Error, Finalized)] {
            let mut machine = machine(Active);
            machine.start(Wanted::Label("deactivate")).expect("available");
            machine.finish(Error).expect("in progress");
            assert_eq!(machine.current(), ErrorProcessing);
            machine.finish(result).expect("in progress");
            assert_eq!(machine.current(), end);
        }
    }

    #[test]
    fn only_available_transitions_start() {
        let available =
            |state| machine(state).available().map(|transition| transition.id).collect::<Vec<_>>();
        assert_eq!(available(Unconfigured), [1, 5]);
        assert_eq!(available(Inactive), [2, 3, 6]);
        assert_eq!(available(Active), [4, 7]);
        assert!(available(Finalized).is_empty());
        assert_eq!(available(Configuring), [10, 11, 12]);
        for state in LifecycleState::ALL {
            for id in 0..=99 {
                let mut machine = machine(state);
                let may_start = !state.is_transition() && available(state).contains(&id);
                assert_eq!(machine.start(Wanted::Id(id)).is_some(), may_start, "{state} {id}");
                assert_eq!(machine.current() == state, !may_start);
            }
        }
        assert_eq!(machine(Active).start(Wanted::Label("activate")), None);
        assert_eq!(machine(Active).start(Wanted::Label("shutdown")).map(|it| it.id), Some(7));
    }

    #[test]
    fn result_without_transition_is_ignored() {
        for state in [Unconfigured, Inactive, Active, Finalized] {
            let mut machine = machine(state);
            assert_eq!(machine.finish(Success), None);
            assert_eq!(machine.current(), state);
        }
    }
}
