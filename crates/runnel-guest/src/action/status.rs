//! Status of a goal.

use std::fmt;

use runnel_msgs::action_msgs::msg::GoalStatus as Number;

use crate::abi;

/// The status of a goal. The names are those of actionlib; ROS 2 has fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GoalStatus {
    /// The server has not accepted it yet.
    Pending,
    /// The server works on it.
    Active,
    /// A cancel request arrived before it was accepted.
    Recalling,
    /// A cancel request arrived while the server works on it.
    Preempting,
    /// The server has completed it.
    Succeeded,
    /// The server has given up on it.
    Aborted,
    /// The server did not accept it.
    Rejected,
    /// It was canceled before it was accepted.
    Recalled,
    /// It was canceled while the server worked on it.
    Preempted,
    /// The server does not know it any more, or has sent something that cannot be read.
    Lost,
}

impl GoalStatus {
    /// True if the status is final.
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Active | Self::Recalling | Self::Preempting)
    }

    /// True after a cancel request, until the goal is canceled.
    pub fn is_cancel_requested(self) -> bool {
        matches!(self, Self::Recalling | Self::Preempting)
    }

    /// The status after a cancel request. One that is final stays.
    pub(super) fn canceling(self) -> Self {
        match self {
            Self::Pending => Self::Recalling,
            Self::Active => Self::Preempting,
            other => other,
        }
    }

    /// The final status of this number in `action_msgs/GoalStatus`, or of the error with which the host says that there is
    /// no result.
    pub(super) fn of_number(number: i32) -> Self {
        match i8::try_from(number) {
            _ if number == abi::Error::FAILED.0 => Self::Rejected,
            Ok(Number::STATUS_SUCCEEDED) => Self::Succeeded,
            Ok(Number::STATUS_CANCELED) => Self::Preempted,
            Ok(Number::STATUS_ABORTED) => Self::Aborted,
            _ => Self::Lost,
        }
    }

    /// The number of a final status in `action_msgs/GoalStatus`.
    pub(super) fn number(self) -> i32 {
        i32::from(match self {
            Self::Succeeded => Number::STATUS_SUCCEEDED,
            Self::Preempted | Self::Recalled => Number::STATUS_CANCELED,
            _ => Number::STATUS_ABORTED,
        })
    }
}

/// In capital letters, as in actionlib.
impl fmt::Display for GoalStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "PENDING",
            Self::Active => "ACTIVE",
            Self::Recalling => "RECALLING",
            Self::Preempting => "PREEMPTING",
            Self::Succeeded => "SUCCEEDED",
            Self::Aborted => "ABORTED",
            Self::Rejected => "REJECTED",
            Self::Recalled => "RECALLED",
            Self::Preempted => "PREEMPTED",
            Self::Lost => "LOST",
        })
    }
}
