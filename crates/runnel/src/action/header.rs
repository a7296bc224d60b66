//! Goals, results and feedback as ROS 1 sends them: a header, then a goal id or a goal status, then what the action's
//! type says, which is left as bytes here.

use runnel_core::time::Time;
use runnel_core::wire::{Bytes, DecodeError, Reader, Sink, Wire};
use runnel_msgs::actionlib_msgs::msg::{GoalID, GoalStatus as WireStatus};
use runnel_msgs::std_msgs::msg::Header;

use crate::goal_status::{GoalId, GoalStatus};

/// Appends a goal as it is sent.
pub(super) fn write_goal<S: Sink>(out: &mut S, id: &GoalId, stamp: Time, goal: impl FnOnce(&mut S)) {
    header(stamp).write(out);
    wire_id(id, stamp).write(out);
    goal(out);
}

/// Appends a result or feedback as it is sent.
pub(super) fn write_about<S: Sink>(
    out: &mut S,
    now: Time,
    status: &WireStatus,
    content: impl FnOnce(&mut S),
) {
    header(now).write(out);
    status.write(out);
    content(out);
}

/// The id of a goal and the bytes of what is asked for.
pub(super) fn read_goal(bytes: Bytes<'_>) -> Result<(GoalID, Bytes<'_>), DecodeError> {
    read_behind_header(bytes, "goal_id")
}

/// The status of a goal and the bytes of the result or feedback.
pub(super) fn read_about(bytes: Bytes<'_>) -> Result<(WireStatus, Bytes<'_>), DecodeError> {
    read_behind_header(bytes, "status")
}

fn read_behind_header<'a, T: Wire + Default>(
    bytes: Bytes<'a>,
    field: &'static str,
) -> Result<(T, Bytes<'a>), DecodeError> {
    let mut reader = Reader::new(bytes);
    let (mut header, mut value) = (Header::default(), T::default());
    header.read_into(&mut reader).map_err(|error| error.within("header"))?;
    value.read_into(&mut reader).map_err(|error| error.within(field))?;
    Ok((value, reader.rest()))
}

/// A header without a frame; its number is the publisher's.
pub(super) fn header(stamp: Time) -> Header {
    Header { seq: 0, stamp, frame_id: String::new() }
}

pub(super) fn wire_id(id: &GoalId, stamp: Time) -> GoalID {
    GoalID { stamp, id: id.to_string() }
}

pub(super) fn wire_status(id: &GoalId, stamp: Time, status: GoalStatus, text: &str) -> WireStatus {
    WireStatus { goal_id: wire_id(id, stamp), status: status.number(), text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::wire::{decode, encode};
    use runnel_msgs::actionlib::action::{
        TwoIntsActionGoal, TwoIntsActionResult, TwoIntsGoal, TwoIntsResult,
    };

    #[test]
    fn what_is_sent_is_what_the_generated_messages_are() {
        let (id, stamp) = (GoalId::from("/n-1-2.3"), Time { sec: 2, nanosec: 3 });
        let goal = TwoIntsGoal { a: 4, b: 5 };
        let mut bytes = Vec::new();
        write_goal(&mut bytes, &id, stamp, |out| goal.write(out));
        let sent: TwoIntsActionGoal = decode(&bytes).unwrap();
        assert_eq!((sent.header, sent.goal_id, sent.goal), (header(stamp), wire_id(&id, stamp), goal));
        assert_eq!(
            read_goal(Bytes::from(&bytes)).unwrap(),
            (wire_id(&id, stamp), Bytes::from(&encode(&goal)))
        );

        let status = wire_status(&id, stamp, GoalStatus::Aborted, "no");
        let mut bytes = Vec::new();
        write_about(&mut bytes, stamp, &status, |out| TwoIntsResult { sum: 9 }.write(out));
        let sent: TwoIntsActionResult = decode(&bytes).unwrap();
        assert_eq!((sent.status.status, sent.result.sum), (WireStatus::ABORTED, 9));
        assert_eq!(read_about(Bytes::from(&bytes)).unwrap().0, status);
    }

    #[test]
    fn an_error_names_the_part_that_cannot_be_read() {
        let mut bytes = Vec::new();
        write_goal(&mut bytes, &GoalId::from("x"), Time::default(), |_| {});
        let error = read_goal(Bytes::from(&bytes[..bytes.len() - 1])).unwrap_err();
        assert!(error.to_string().starts_with("field goal_id.id: "), "{error}");
        assert!(read_about(Bytes::from(&[1, 2])).unwrap_err().to_string().starts_with("field header.seq: "));
    }
}
