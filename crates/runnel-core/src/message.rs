//! Traits of generated message, service and action types.

mod tail;

pub use tail::{Tail, TailError, WithTail, len_with_tail, write_with_tail};

use crate::wire::{Encoding, Wire};
use core::fmt::Debug;

/// A message type: serialization (by [`Wire`]) and type names.
///
/// Implemented by code generated from `.msg` files. One type serves both generations: fields that only one generation has
/// are skipped in the other's encoding.
pub trait Message: Wire + Clone + Debug + PartialEq + Default + Send + Sync + 'static {
    /// The ROS 1 type name, such as `std_msgs/String`.
    const TYPE: &'static str;
    /// ROS 1 MD5 sum, 32 lower-case hex digits.
    const MD5: &'static str;
    /// The ROS 1 definition with all it depends on, as connection headers carry it.
    const DEFINITION: &'static str;
    /// Whether the first field is a `std_msgs/Header`, whose `seq` a ROS 1 publisher counts up.
    const HAS_HEADER: bool;
    /// The ROS 2 type name, such as `std_msgs/msg/String`.
    const ROS2_TYPE: &'static str;
    /// The type's DDS name in ROS 2, such as `std_msgs::msg::dds_::String_`.
    const DDS_TYPE: &'static str;
    /// The ROS 2 type hash: `RIHS01_` and 64 lower-case hex digits.
    const RIHS01: &'static str;
    /// The ROS 2 definition with all it depends on, as bags carry it.
    const ROS2_DEFINITION: &'static str;
    /// The array of numbers that ends the message, if its last part of varying size is one, so that a publisher can
    /// lend memory for that array: see [`write_with_tail`].
    const TAIL: Option<Tail>;
    /// As [`Message::TAIL`], of the form that the message has in ROS 2.
    const ROS2_TAIL: Option<Tail>;

    /// Number of elements of the array at the end of the message in an encoding; 0 if it ends with no array.
    fn tail_len(&self, encoding: Encoding) -> usize;
}

/// A service type: a request and a response message.
pub trait Service: Send + Sync + 'static {
    /// The request of a call.
    type Request: Message;
    /// The response to a call.
    type Response: Message;
    /// The ROS 1 type name, such as `std_srvs/SetBool`.
    const TYPE: &'static str;
    /// ROS 1 MD5 sum, 32 lower-case hex digits.
    const MD5: &'static str;
    /// The ROS 2 type name, such as `std_srvs/srv/SetBool`.
    const ROS2_TYPE: &'static str;
    /// The ROS 2 type hash: `RIHS01_` and 64 lower-case hex digits.
    const RIHS01: &'static str;
}

/// An action type: goal, result and feedback.
///
/// Implemented by the type `XAction` that is generated from `X.action`, as actionlib names actions. It is not a message: ROS 1
/// sends goal, result and feedback, each after a header and a goal id or goal status. ROS 2 sends goal and result in
/// services, and the feedback in a message.
pub trait Action: Send + Sync + 'static {
    /// The goal.
    type Goal: Message;
    /// The result.
    type Result: Message;
    /// The feedback.
    type Feedback: Message;
    /// The goal as ROS 1 sends it: a header, a goal id and the goal.
    type ActionGoal: Message;
    /// The result as ROS 1 sends it: a header, a goal status and the result.
    type ActionResult: Message;
    /// The feedback as ROS 1 sends it: a header, a goal status and the feedback.
    type ActionFeedback: Message;
    /// The ROS 2 service that sends a goal with its id; the response is whether it is accepted.
    type SendGoal: Service;
    /// The ROS 2 service that returns the result.
    type GetResult: Service;
    /// The feedback as ROS 2 sends it: with the goal's id.
    type FeedbackMessage: Message;
    /// The action's name, such as `actionlib/TwoInts`.
    const NAME: &'static str;
    /// The action's name in ROS 2, such as `tf2_msgs/action/LookupTransform`.
    const ROS2_NAME: &'static str;
    /// The action's type hash in ROS 2: `RIHS01_` and 64 lower-case hex digits.
    const ROS2_HASH: &'static str;
}
