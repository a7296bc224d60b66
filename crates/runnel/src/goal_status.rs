//! Identity and status of an action's goal.

mod goal_id;

use std::fmt;

use runnel_msgs::action_msgs::msg::GoalStatus as Ros2Wire;
use runnel_msgs::actionlib_msgs::msg::GoalStatus as Wire;

pub use goal_id::GoalId;

/// The status of a goal, as reported by its server. The names are those of actionlib; ROS 2 has fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GoalStatus {
    /// The server has not accepted it yet.
    Pending,
    /// The server works on it. In ROS 2: ACCEPTED or EXECUTING.
    Active,
    /// A cancel request arrived before it was accepted. Only in ROS 1.
    Recalling,
    /// A cancel request arrived while the server works on it. In ROS 2: CANCELING.
    Preempting,
    /// The server has completed it.
    Succeeded,
    /// The server has given up on it.
    Aborted,
    /// The server did not accept it.
    Rejected,
    /// It was canceled before it was accepted. Only in ROS 1.
    Recalled,
    /// It was canceled while the server worked on it. In ROS 2: CANCELED.
    Preempted,
    /// The server does not know it any more, has not reported it for 30 s, has not sent its result for 30 s, or has
    /// sent something that cannot be read.
    Lost,
}

/// An action of a server on a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Accept,
    Reject,
    /// A client requests cancellation.
    RequestCancel,
    Cancel,
    Abort,
    Succeed,
    /// The server abandons it.
    Abandon,
}

impl Step {
    /// The resulting status.
    pub(crate) fn wanted(self) -> &'static str {
        match self {
            Self::Accept => "active",
            Self::Reject => "rejected",
            Self::RequestCancel | Self::Cancel => "canceled",
            Self::Abort | Self::Abandon => "aborted",
            Self::Succeed => "succeeded",
        }
    }
}

impl GoalStatus {
    /// Every status with its number in ROS 1.
    const NUMBERS: [(Self, u8); 10] = [
        (Self::Pending, Wire::PENDING),
        (Self::Active, Wire::ACTIVE),
        (Self::Preempted, Wire::PREEMPTED),
        (Self::Succeeded, Wire::SUCCEEDED),
        (Self::Aborted, Wire::ABORTED),
        (Self::Rejected, Wire::REJECTED),
        (Self::Preempting, Wire::PREEMPTING),
        (Self::Recalling, Wire::RECALLING),
        (Self::Recalled, Wire::RECALLED),
        (Self::Lost, Wire::LOST),
    ];

    /// The statuses that ROS 2 has, with their numbers there.
    const ROS2_NUMBERS: [(Self, i8); 5] = [
        (Self::Active, Ros2Wire::STATUS_EXECUTING),
        (Self::Preempting, Ros2Wire::STATUS_CANCELING),
        (Self::Succeeded, Ros2Wire::STATUS_SUCCEEDED),
        (Self::Preempted, Ros2Wire::STATUS_CANCELED),
        (Self::Aborted, Ros2Wire::STATUS_ABORTED),
    ];

    /// True if the status is final.
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Active | Self::Recalling | Self::Preempting)
    }

    /// True after a cancel request, until the goal is canceled.
    pub fn is_cancel_requested(self) -> bool {
        matches!(self, Self::Recalling | Self::Preempting)
    }

    pub(crate) fn of_number(number: u8) -> Option<Self> {
        Self::NUMBERS.iter().find(|(_, other)| *other == number).map(|(status, _)| *status)
    }

    pub(crate) fn number(self) -> u8 {
        Self::NUMBERS.iter().find(|(other, _)| *other == self).map_or(Wire::LOST, |(_, number)| *number)
    }

    /// The status of this number in ROS 2; `None` if there is none, as of goals that the server does not know.
    pub(crate) fn of_ros2_number(number: i8) -> Option<Self> {
        if number == Ros2Wire::STATUS_ACCEPTED {
            return Some(Self::Active);
        }
        Self::ROS2_NUMBERS.iter().find(|(_, other)| *other == number).map(|(status, _)| *status)
    }

    /// The number in ROS 2; `None` for a goal that was not accepted, which ROS 2 does not list.
    pub(crate) fn ros2_number(self) -> Option<i8> {
        Self::ROS2_NUMBERS.iter().find(|(other, _)| *other == self).map(|(_, number)| *number)
    }

    /// The status after a step; `None` if the status does not allow it.
    pub(crate) fn after(self, step: Step) -> Option<Self> {
        let accepted = match self {
            Self::Pending | Self::Recalling => false,
            Self::Active | Self::Preempting => true,
            _ => return None,
        };
        match (step, accepted) {
            (Step::Accept, false) if self == Self::Recalling => Some(Self::Preempting),
            (Step::Accept, false) => Some(Self::Active),
            (Step::Reject | Step::Abandon, false) => Some(Self::Rejected),
            (Step::RequestCancel, _) if self.is_cancel_requested() => None,
            (Step::RequestCancel, false) => Some(Self::Recalling),
            (Step::RequestCancel, true) => Some(Self::Preempting),
            (Step::Cancel, false) => Some(Self::Recalled),
            (Step::Cancel, true) => Some(Self::Preempted),
            (Step::Abort | Step::Abandon, true) => Some(Self::Aborted),
            (Step::Succeed, true) => Some(Self::Succeeded),
            (Step::Accept | Step::Reject, true) | (Step::Abort | Step::Succeed, false) => None,
        }
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

#[cfg(test)]
mod tests {
    use super::GoalStatus::*;
    use super::*;

    #[test]
    fn goal_takes_only_steps_that_its_status_allows() {
        use Step::*;
        let steps = [Accept, Reject, RequestCancel, Cancel, Abort, Succeed, Abandon];
        let table = [
            (
                Pending,
                [Some(Active), Some(Rejected), Some(Recalling), Some(Recalled), None, None, Some(Rejected)],
            ),
            (Recalling, [Some(Preempting), Some(Rejected), None, Some(Recalled), None, None, Some(Rejected)]),
            (
                Active,
                [
                    None,
                    None,
                    Some(Preempting),
                    Some(Preempted),
                    Some(Aborted),
                    Some(Succeeded),
                    Some(Aborted),
                ],
            ),
            (Preempting, [None, None, None, Some(Preempted), Some(Aborted), Some(Succeeded), Some(Aborted)]),
        ];
        for (from, expected) in table {
            assert!(!from.is_terminal());
            assert_eq!(steps.map(|step| from.after(step)), expected, "{from}");
        }
        for end in [Succeeded, Aborted, Rejected, Recalled, Preempted, Lost] {
            assert!(end.is_terminal());
            assert_eq!(steps.map(|step| end.after(step)), [None; 7], "{end}");
        }
    }

    #[test]
    fn every_status_has_distinct_number() {
        for number in 0..10 {
            assert_eq!(GoalStatus::of_number(number).map(GoalStatus::number), Some(number));
        }
        assert_eq!(GoalStatus::of_number(10), None);
    }

    #[test]
    fn ros2_numbers_are_those_of_action_msgs() {
        let statuses = (-1..=7).map(GoalStatus::of_ros2_number);
        let expected = [
            None,
            None,
            Some(Active),
            Some(Active),
            Some(Preempting),
            Some(Succeeded),
            Some(Preempted),
            Some(Aborted),
            None,
        ];
        assert!(statuses.eq(expected));
        for (status, number) in [(Active, 2), (Preempting, 3), (Succeeded, 4), (Preempted, 5), (Aborted, 6)] {
            assert_eq!(status.ros2_number(), Some(number));
        }
        for unlisted in [Pending, Recalling, Rejected, Recalled, Lost] {
            assert_eq!(unlisted.ros2_number(), None, "{unlisted}");
        }
    }
}
