//! What precedes goals, results and feedback in ROS 1 messages: a header, then a goal id or a goal status. The message of
//! the action's type follows.

use runnel_core::time::Time;
use runnel_core::wire::{Bytes, DecodeError, Reader, Sink, Wire};
use runnel_msgs::actionlib_msgs::msg::{GoalID, GoalStatus as WireStatus};
use runnel_msgs::std_msgs::msg::Header;

use crate::goal_status::{GoalId, GoalStatus};

/// Appends what precedes a goal in its message.
pub(super) fn write_goal_head(out: &mut dyn Sink, id: &GoalId, stamp: Time) {
    header(stamp).write(out);
    wire_id(id, stamp).write(out);
}

/// Appends what precedes a result or feedback in its message.
pub(super) fn write_status_head(out: &mut dyn Sink, now: Time, status: &WireStatus) {
    header(now).write(out);
    status.write(out);
}

/// Reads the id of a goal and returns the bytes of its content.
pub(super) fn read_goal(bytes: Bytes<'_>) -> Result<(GoalID, Bytes<'_>), DecodeError> {
    read_behind_header(bytes, "goal_id")
}

/// Reads the status of a goal and returns the bytes of the result or feedback.
pub(super) fn read_with_status(bytes: Bytes<'_>) -> Result<(WireStatus, Bytes<'_>), DecodeError> {
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

/// A header without a frame. The publisher sets its sequence number.
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
    fn encoding_matches_generated_messages() {
        let (id, stamp) = (GoalId::from("/n-1-2.3"), Time { sec: 2, nanosec: 3 });
        let goal = TwoIntsGoal { a: 4, b: 5 };
        let mut bytes = Vec::new();
        write_goal_head(&mut bytes, &id, stamp);
        goal.write(&mut bytes);
        let sent: TwoIntsActionGoal = decode(&bytes).unwrap();
        assert_eq!((sent.header, sent.goal_id, sent.goal), (header(stamp), wire_id(&id, stamp), goal));
        assert_eq!(
            read_goal(Bytes::from(&bytes)).unwrap(),
            (wire_id(&id, stamp), Bytes::from(&encode(&goal)))
        );

        let status = wire_status(&id, stamp, GoalStatus::Aborted, "no");
        let mut bytes = Vec::new();
        write_status_head(&mut bytes, stamp, &status);
        TwoIntsResult { sum: 9 }.write(&mut bytes);
        let sent: TwoIntsActionResult = decode(&bytes).unwrap();
        assert_eq!((sent.status.status, sent.result.sum), (WireStatus::ABORTED, 9));
        assert_eq!(read_with_status(Bytes::from(&bytes)).unwrap().0, status);
    }

    #[test]
    fn error_names_unreadable_field() {
        let mut bytes = Vec::new();
        write_goal_head(&mut bytes, &GoalId::from("x"), Time::default());
        let error = read_goal(Bytes::from(&bytes[..bytes.len() - 1])).unwrap_err();
        assert!(error.to_string().starts_with("field goal_id.id: "), "{error}");
        assert!(
            read_with_status(Bytes::from(&[1, 2])).unwrap_err().to_string().starts_with("field header.seq: ")
        );
    }
}
