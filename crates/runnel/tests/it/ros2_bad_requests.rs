//! Requests and replies in ROS 2 that no correct peer sends. They cost their sender an error, and others are served.

use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use crate::common::{LONG, wait_until};
use crate::logged::{is_logged, keep_log, wait_logged};
use crate::ros2_action_scene::{Scene, end, wait_for_status};
use crate::ros2_pair::{context, new_domain};
use crate::scene::result;
use crate::spinning::Spinning;
use runnel::core::message::Action;
use runnel::msgs::action_msgs::msg::GoalInfo;
use runnel::msgs::action_msgs::srv::{CancelGoal, CancelGoalRequest, CancelGoalResponse};
use runnel::msgs::actionlib::action::TestAction;
use runnel::msgs::rcl_interfaces::msg::{self, ParameterType, ParameterValue};
use runnel::msgs::rcl_interfaces::srv::{SetParameters, SetParametersRequest};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::msgs::unique_identifier_msgs::msg::UUID;
use runnel::{Error, Responder};
use runnel_rtps::wire::{EntityId, Guid};
use runnel_testkit::loopback_participant::LoopbackParticipant;

type GetResult = <TestAction as Action>::GetResult;
type ResultRequest = <GetResult as runnel::core::message::Service>::Request;

const REQUESTS: [&str; 2] = ["rq/powerRequest", "std_srvs::srv::dds_::SetBool_Request_"];
const REPLIES: [&str; 2] = ["rr/powerReply", "std_srvs::srv::dds_::SetBool_Response_"];

fn ask(data: bool) -> SetBoolRequest {
    SetBoolRequest { data }
}

fn said(success: bool, message: &str) -> SetBoolResponse {
    SetBoolResponse { success, message: message.into() }
}

/// The payload of a request or a reply among participants of Runnel: the client's id and its number of the request.
fn framed(client: u64, number: i64, message: &[u8]) -> Vec<u8> {
    [&[0, 1, 0, 0], &client.to_le_bytes()[..], &number.to_le_bytes(), message].concat()
}

/// The response `{success: true, message: forged}`.
const FORGED: &[u8] = b"\x01\0\0\0\x07\0\0\0forged\0";

/// A client or a server of `/power` that writes what it likes.
struct RawEnd {
    peer: LoopbackParticipant,
    reader: EntityId,
    writer: EntityId,
}

impl RawEnd {
    fn new(domain: u16, read: [&str; 2], written: [&str; 2]) -> Self {
        let mut peer = LoopbackParticipant::new(domain, 0x0f, 4, "");
        let (reader, writer) = peer.create_service_ends(read, written);
        Self { peer, reader, writer }
    }

    #[track_caller]
    fn poll_until<T>(&mut self, what: &str, mut found: impl FnMut(&Self) -> Option<T>) -> T {
        let until = Instant::now() + LONG;
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            assert!(Instant::now() < until, "timed out: {what}");
            self.peer.poll_once();
        }
    }

    /// The reader at the other end.
    fn matched(&mut self) -> Guid {
        self.poll_until("the other end is matched", |end| end.peer.participant.matched(end.writer).pop())
    }

    /// Writes samples to the other end, and waits until it has received them.
    fn write(&mut self, payloads: impl IntoIterator<Item = Vec<u8>>) {
        let to = self.matched();
        for payload in payloads {
            self.peer.write_to(self.writer, to, payload).unwrap();
        }
        self.poll_until("they are acknowledged", |end| {
            (end.peer.participant.unacknowledged_by(end.writer, to) == 0).then_some(())
        });
    }
}

/// A participant that knows the id of a client, and the number of its call, answers the call before its server does.
#[test]
fn forged_replies_answer_no_call() {
    keep_log();
    let domain = new_domain();
    let asking = Spinning::new(domain);
    let client = asking.node("asker").create_client::<SetBool>("power").unwrap();
    let call = || -> Receiver<Result<SetBoolResponse, Error>> {
        let (sender, response) = channel();
        client.call_with(&ask(true), None, move |response| sender.send(response).unwrap()).unwrap();
        response
    };
    let response = call();
    let mut forger = RawEnd::new(domain, REQUESTS, REPLIES);
    let request = forger.poll_until("a request", |end| end.peer.samples.first().cloned()).2;
    let id = u64::from_le_bytes(request[4..12].try_into().unwrap());
    forger.write([framed(id, 1, FORGED)]);
    assert_eq!(response.recv_timeout(LONG).unwrap().unwrap(), said(true, "forged"), "it has that request");
    // It is no server any more, but its replies arrive.
    forger.peer.remove_endpoint(forger.reader);
    forger.poll_until("the client has no server", |_| (!client.service_is_ready().unwrap()).then_some(()));
    let serving = Spinning::new(domain);
    let (sender, responders) = channel();
    let serve = move |_: SetBoolRequest, responder: Responder<SetBool>| sender.send(responder).unwrap();
    let _server = serving.node("server").create_deferred_service::<SetBool>("power", serve).unwrap();
    let response = call();
    let responder = forger.poll_until("the server has the call", |_| responders.try_recv().ok());
    let numbers = [2, -2, 0, 3, i64::MIN, i64::MAX];
    let forged = numbers.map(|number| framed(id, number, FORGED));
    forger.write(forged.into_iter().chain([framed(id + 1, 2, FORGED), vec![0, 1, 0, 0], Vec::new()]));
    responder.respond(&said(false, "genuine"));
    assert_eq!(response.recv_timeout(LONG).unwrap().unwrap(), said(false, "genuine"));
    wait_logged(&["service /power: a reply of", "answers no pending call; such replies: 8"]);
}

#[test]
fn unreadable_requests_reach_no_callback() {
    keep_log();
    let domain = new_domain();
    let serving = Spinning::new(domain);
    let serve = |request: &SetBoolRequest| Ok::<_, String>(said(request.data, "genuine"));
    let _server = serving.node("server").create_service::<SetBool, _>("power", serve).unwrap();
    let mut raw = RawEnd::new(domain, REPLIES, REQUESTS);
    raw.write([vec![0, 1, 0, 0], Vec::new(), framed(7, 1, &[]), framed(7, 2, &[2]), framed(7, 3, &[1])]);
    let answers = raw
        .poll_until("three replies", |end| (end.peer.samples.len() == 3).then(|| end.peer.samples.clone()));
    let number = |payload: &[u8]| i64::from_le_bytes(payload[12..20].try_into().unwrap());
    let numbers: Vec<i64> = answers.iter().map(|(_, _, payload)| number(payload)).collect();
    assert_eq!(numbers, [-1, -2, 3], "two failures");
    for (_, _, failure) in &answers[..2] {
        let text = String::from_utf8_lossy(failure);
        assert!(text.contains("the request cannot be read"), "{text}");
    }
    assert!(is_logged(&["service /power: a request of client", "has no header"]));
    let other = context(domain, false).create_node("other").unwrap();
    let client = other.create_client::<SetBool>("power").unwrap();
    assert_eq!(client.call_timeout(&ask(true), LONG).unwrap(), said(true, "genuine"));
}

#[test]
fn unknown_goal_ids_are_answered_at_once() {
    let scene = Scene::new();
    let (sent, arrived) = scene.send(1);
    arrived.accept().unwrap();
    wait_for_status(&sent, runnel::GoalStatus::Active);
    let asker = scene.far.create_node("asker").unwrap();
    let results = asker.create_client::<GetResult>("/test/_action/get_result").unwrap();
    let cancels = asker.create_client::<CancelGoal>("/test/_action/cancel_goal").unwrap();
    for number in 1..=200 {
        let goal_id = UUID { uuid: [number; 16] };
        let request = ResultRequest { goal_id: goal_id.clone() };
        let response = results.call_timeout(&request, LONG).unwrap();
        assert_eq!((response.status, response.result), (0, result(0)));
        let goal_info = GoalInfo { goal_id, ..GoalInfo::default() };
        let response = cancels.call_timeout(&CancelGoalRequest { goal_info }, LONG).unwrap();
        let is_unknown = response.return_code == CancelGoalResponse::ERROR_UNKNOWN_GOAL_ID;
        assert!(is_unknown && response.goals_canceling.is_empty(), "{response:?}");
    }
    arrived.succeed(&result(3), "").unwrap();
    assert_eq!(end(&sent), (runnel::GoalStatus::Succeeded, Some(3)));
}

/// A request with a value of this type, whose fields for the other types are filled, too.
fn parameter(name: &str, type_: u8) -> msg::Parameter {
    let value = ParameterValue {
        type_,
        bool_value: true,
        integer_value: 5,
        double_value: f64::NAN,
        string_value: "x".into(),
        integer_array_value: vec![5],
        ..ParameterValue::default()
    };
    msg::Parameter { name: name.into(), value }
}

#[test]
fn parameter_values_of_wrong_type_are_refused() {
    let domain = new_domain();
    let serving = Spinning::new(domain);
    let node = serving.node("arm");
    node.declare_parameter("rate", 10.0).unwrap();
    node.declare_parameter("limited", runnel::ParameterDeclaration::new(2.0).range(1.0..=3.0)).unwrap();
    let far = context(domain, false);
    let other = far.create_node("other").unwrap().create_parameter_client("/arm").unwrap();
    let raw = far.create_node("raw").unwrap().create_client::<SetParameters>("/arm/set_parameters").unwrap();
    let refused = [
        (
            "rate",
            ParameterType::PARAMETER_BOOL,
            "rate is of type double, setting it to the boolean true is not allowed",
        ),
        (
            "rate",
            ParameterType::PARAMETER_INTEGER,
            "rate is of type double, setting it to the integer 5 is not allowed",
        ),
        (
            "rate",
            ParameterType::PARAMETER_STRING,
            "rate is of type double, setting it to the string \"x\" is not allowed",
        ),
        ("rate", ParameterType::PARAMETER_INTEGER_ARRAY, "rate is of type double"),
        ("rate", ParameterType::PARAMETER_NOT_SET, "parameter rate"),
        ("rate", 10, "rate: there is no type with the number 10"),
        ("rate", 255, "rate: there is no type with the number 255"),
        ("limited", ParameterType::PARAMETER_DOUBLE, "parameter limited"),
        ("nope", ParameterType::PARAMETER_DOUBLE, "nope is not declared"),
        ("", ParameterType::PARAMETER_DOUBLE, "the name of a parameter is empty"),
    ];
    let parameters = refused.iter().map(|(name, type_, _)| parameter(name, *type_)).collect();
    let results = raw.call_timeout(&SetParametersRequest { parameters }, LONG).unwrap().results;
    assert_eq!(results.len(), refused.len());
    for (result, (_, _, why)) in results.iter().zip(refused) {
        assert!(!result.successful && result.reason.contains(why), "{why:?}: {result:?}");
    }
    assert_eq!(node.get_parameter::<f64>("rate").unwrap(), 10.0);
    other.set_parameters(&[runnel::Parameter::new("rate", 20.0)]).unwrap().remove(0).unwrap();
    wait_until("another client is served", || node.get_parameter::<f64>("rate").unwrap() == 20.0);
}
