//! Messages of ROS 2 actions: requests and responses of their services, feedback, and the status list. Goals, results
//! and feedback are [`Content`] behind a goal id or a status.
//!
//! Source: the ROS 2 design article "Actions"; action_msgs.

use std::sync::Arc;

use runnel_core::bounds::{LengthBeyondLimit, MAX_MESSAGE};
use runnel_core::time::Time;
use runnel_core::wire::{Bytes, DecodeError, Encoding, GrowingSink, Sink, Wire, cdr, try_write};
use runnel_msgs::action_msgs::msg::{GoalInfo, GoalStatus as StatusEntry, GoalStatusArray};
use runnel_msgs::action_msgs::srv::{CancelGoalRequest, CancelGoalResponse};
use runnel_msgs::unique_identifier_msgs::msg::UUID;

use super::content::{Content, ReceivedContent, message_reader, read};
use crate::error::{ConversionError, Error};

/// The encoding of requests and responses.
pub(super) const SERVICE_ENCODING: Encoding = Encoding::Xcdr1;

/// Bytes of a UUID, which precede the content of goals and feedback.
const UUID_LEN: usize = 16;

/// Bytes of the status, which precedes the content of a result.
const STATUS_LEN: usize = 1;

/// Number of the status of a goal that the server does not know.
pub(super) const STATUS_UNKNOWN: i8 = StatusEntry::STATUS_UNKNOWN;

/// A goal's UUID in its wire form.
type Uuid = [u8; UUID_LEN];

/// Appends content behind a UUID: a request to `send_goal`, or feedback.
pub(super) fn write_with_uuid(
    uuid: Uuid,
    content: &dyn Content,
    encoding: Encoding,
    out: &mut GrowingSink,
) -> Result<(), ConversionError> {
    content.encode(encoding, &|out: &mut dyn Sink| out.put(&uuid), out)
}

/// Reads content behind a UUID.
pub(super) fn read_with_uuid(
    encoding: Encoding,
    bytes: Bytes<'_>,
) -> Result<(Uuid, ReceivedContent), DecodeError> {
    let uuid = message_reader(encoding, bytes)?.array().map_err(|error| error.within("goal_id"))?;
    Ok((uuid, ReceivedContent::new(bytes, encoding, UUID_LEN)))
}

/// A response to `get_result`.
///
/// # Errors
/// When the result has no form in ROS 2, is too long, or there is no memory for it. `action` names the action.
pub(super) fn result_response(status: i8, result: &dyn Content, action: &str) -> Result<Arc<[u8]>, Error> {
    let head = |out: &mut dyn Sink| status.write(out);
    payload(action, |out| result.encode(SERVICE_ENCODING, &head, out)).map(Arc::from)
}

/// Reads a response to `get_result`.
pub(super) fn read_result_response(bytes: &[u8]) -> Result<(i8, ReceivedContent), DecodeError> {
    let [status] = cdr::reader(bytes)?.array().map_err(|error| error.within("status"))?;
    Ok((i8::from_le_bytes([status]), ReceivedContent::new(Bytes::from(bytes), SERVICE_ENCODING, STATUS_LEN)))
}

/// A request to `send_goal`.
///
/// # Errors
/// As [`result_response`].
pub(super) fn goal_request(uuid: Uuid, goal: &dyn Content, action: &str) -> Result<Vec<u8>, Error> {
    payload(action, |out| write_with_uuid(uuid, goal, SERVICE_ENCODING, out))
}

/// Appends with a limit on the length.
fn payload(
    action: &str,
    write: impl FnOnce(&mut GrowingSink) -> Result<(), ConversionError>,
) -> Result<Vec<u8>, Error> {
    let (mut bytes, mut written) = (Vec::new(), Ok(()));
    let memory = try_write(&mut bytes, |out| written = write(out));
    written.and(memory.map_err(Into::into)).map_err(|why| Error::conversion(action.to_owned(), why))?;
    let checked = LengthBeyondLimit::check(bytes.len(), MAX_MESSAGE);
    checked.map_err(|length| Error::TooLong { topic: action.to_owned(), length })?;
    Ok(bytes)
}

/// A response to `send_goal`: whether the goal is accepted, and when.
pub(super) fn goal_response(stamp: Option<Time>) -> Vec<u8> {
    fixed(|out| {
        stamp.is_some().write(out);
        stamp.unwrap_or_default().write(out);
    })
}

/// Reads a response to `send_goal`: when the goal was accepted; `None` if it was rejected.
pub(super) fn read_goal_response(bytes: &[u8]) -> Result<Option<Time>, DecodeError> {
    let mut reader = cdr::reader(bytes)?;
    let (mut accepted, mut stamp) = (false, Time::default());
    accepted.read_into(&mut reader).map_err(|error| error.within("accepted"))?;
    stamp.read_into(&mut reader).map_err(|error| error.within("stamp"))?;
    Ok(accepted.then_some(stamp))
}

/// A request to `get_result`.
pub(super) fn result_request(uuid: Uuid) -> Vec<u8> {
    fixed(|out| out.put(&uuid))
}

/// Reads a request to `get_result`.
pub(super) fn read_result_request(encoding: Encoding, bytes: &[u8]) -> Result<Uuid, DecodeError> {
    message_reader(encoding, Bytes::from(bytes))?.array().map_err(|error| error.within("goal_id"))
}

/// A request to `cancel_goal`: the goal with this UUID, those accepted at this stamp or earlier, or (with neither) all.
pub(super) fn cancel_request(uuid: Option<Uuid>, stamp: Time) -> Vec<u8> {
    let request = CancelGoalRequest { goal_info: info(uuid.unwrap_or_default(), stamp) };
    fixed(|out| request.write(out))
}

/// Reads a request to `cancel_goal`.
pub(super) fn read_cancel_request(encoding: Encoding, bytes: &[u8]) -> Result<(Uuid, Time), String> {
    let reader = message_reader(encoding, Bytes::from(bytes)).map_err(|error| error.to_string())?;
    let CancelGoalRequest { goal_info: GoalInfo { goal_id, stamp } } = read(reader)?;
    Ok((goal_id.uuid, stamp))
}

/// A response to `cancel_goal`.
pub(super) fn cancel_response(return_code: i8, goals: &[(Uuid, Time)]) -> Vec<u8> {
    let goals_canceling = goals.iter().map(|(uuid, stamp)| info(*uuid, *stamp)).collect();
    let response = CancelGoalResponse { return_code, goals_canceling };
    fixed(|out| response.write(out))
}

/// Whether a response to `cancel_goal` says that the request for one goal was refused. Servers in Python give the return
/// code 0 then, too, and leave out the goal.
pub(super) fn is_cancel_refused(bytes: &[u8], uuid: Uuid) -> Result<bool, DecodeError> {
    let CancelGoalResponse { return_code, goals_canceling } = cdr::decode(bytes)?;
    let is_canceling = goals_canceling.iter().any(|goal| goal.goal_id.uuid == uuid);
    Ok(match return_code {
        CancelGoalResponse::ERROR_NONE => !is_canceling,
        code => code == CancelGoalResponse::ERROR_REJECTED,
    })
}

/// A status list.
pub(super) fn status_list(goals: impl Iterator<Item = (Uuid, Time, i8)>) -> GoalStatusArray {
    let entry = |(uuid, stamp, status)| StatusEntry { goal_info: info(uuid, stamp), status };
    GoalStatusArray { status_list: goals.map(entry).collect() }
}

fn info(uuid: Uuid, stamp: Time) -> GoalInfo {
    GoalInfo { goal_id: UUID { uuid }, stamp }
}

/// A payload whose content always has a form in ROS 2.
fn fixed(write: impl Fn(&mut dyn Sink)) -> Vec<u8> {
    let mut bytes = Vec::new();
    cdr::write_payload(SERVICE_ENCODING, &mut bytes, &|out| write(out));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::Message;
    use runnel_core::message::{Action, Service};
    use runnel_msgs::actionlib::action::{
        TwoIntsAction, TwoIntsFeedback, TwoIntsGoal, TwoIntsResult, TwoIntsSendGoalRequest,
    };

    type Request<S> = <S as Service>::Request;
    type Response<S> = <S as Service>::Response;

    const ID: Uuid = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    const STAMP: Time = Time { sec: 7, nanosec: 8 };
    const GOAL: TwoIntsGoal = TwoIntsGoal { a: 4, b: 5 };

    fn generated<M: Message>(bytes: &[u8]) -> M {
        cdr::decode(bytes).unwrap()
    }

    #[test]
    fn goal_messages_match_generated_types() {
        let bytes = goal_request(ID, &GOAL, "/x").unwrap();
        let request: TwoIntsSendGoalRequest = generated(&bytes);
        assert_eq!((request.goal_id.uuid, request.goal), (ID, GOAL));
        let (uuid, content) = read_with_uuid(SERVICE_ENCODING, Bytes::from(&bytes)).unwrap();
        assert_eq!((uuid, read(content.reader().unwrap())), (ID, Ok(GOAL)));
        for stamp in [Some(STAMP), None] {
            let bytes = goal_response(stamp);
            let response: Response<<TwoIntsAction as Action>::SendGoal> = generated(&bytes);
            assert_eq!((response.accepted, response.stamp), (stamp.is_some(), stamp.unwrap_or_default()));
            assert_eq!(read_goal_response(&bytes), Ok(stamp));
        }
    }

    #[test]
    fn result_messages_match_generated_types() {
        let bytes = result_request(ID);
        let request: Request<<TwoIntsAction as Action>::GetResult> = generated(&bytes);
        assert_eq!((request.goal_id.uuid, read_result_request(SERVICE_ENCODING, &bytes)), (ID, Ok(ID)));
        let result = TwoIntsResult { sum: -6 };
        let bytes = result_response(4, &result, "/x").unwrap();
        let response: Response<<TwoIntsAction as Action>::GetResult> = generated(&bytes);
        assert_eq!((response.status, response.result), (4, result));
        let (status, content) = read_result_response(&bytes).unwrap();
        assert_eq!((status, read(content.reader().unwrap())), (4, Ok(result)));
    }

    #[test]
    fn feedback_matches_generated_type() {
        let mut bytes = Vec::new();
        let feedback = TwoIntsFeedback {};
        try_write(&mut bytes, |out| write_with_uuid(ID, &feedback, Encoding::Xcdr1, out).unwrap()).unwrap();
        let message: <TwoIntsAction as Action>::FeedbackMessage = generated(&bytes);
        assert_eq!(message.goal_id.uuid, ID);
        assert_eq!(bytes.len(), 4 + 16 + 1, "an empty message is one byte");
    }

    #[test]
    fn cancel_messages_match_generated_types() {
        for (uuid, stamp) in [(Some(ID), STAMP), (None, Time::default())] {
            let bytes = cancel_request(uuid, stamp);
            let request: CancelGoalRequest = generated(&bytes);
            assert_eq!(request.goal_info, info(uuid.unwrap_or_default(), stamp));
            let read = read_cancel_request(SERVICE_ENCODING, &bytes);
            assert_eq!(read, Ok((uuid.unwrap_or_default(), stamp)));
        }
        let bytes = cancel_response(2, &[(ID, STAMP)]);
        let response: CancelGoalResponse = generated(&bytes);
        assert_eq!((response.return_code, response.goals_canceling), (2, vec![info(ID, STAMP)]));
        for (code, goals, is_refused) in
            [(0, &[(ID, STAMP)][..], false), (0, &[], true), (1, &[], true), (2, &[], false), (3, &[], false)]
        {
            assert_eq!(is_cancel_refused(&cancel_response(code, goals), ID), Ok(is_refused), "code {code}");
        }
    }

    #[test]
    fn truncated_message_names_its_field() {
        let within = |error: DecodeError, field: &str| {
            assert!(error.to_string().starts_with(&format!("field {field}: ")), "{error}");
        };
        within(read_with_uuid(SERVICE_ENCODING, Bytes::from(&[0, 1, 0, 0, 1])).unwrap_err(), "goal_id");
        within(read_result_request(SERVICE_ENCODING, &[0, 1, 0, 0]).unwrap_err(), "goal_id");
        within(read_goal_response(&[0, 1, 0, 0, 1, 0]).unwrap_err(), "stamp");
        within(read_result_response(&[0, 1, 0, 0]).unwrap_err(), "status");
        let error = read_cancel_request(SERVICE_ENCODING, &[0, 1, 0, 0]).unwrap_err();
        assert!(error.starts_with("field goal_info.goal_id.uuid: "), "{error}");
    }
}
