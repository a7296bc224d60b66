//! Uses the generated types; fails if one differs from its definition.

runnel::include_interfaces!();

use my_msgs::action::{CountAction, CountActionGoal};
use my_msgs::msg::{Both, Everything, EverythingView, Inner, Nothing, OnlyNew};
use my_msgs::srv::{Ask, AskRequest};
use runnel::core::message::{Tail, write_with_tail};
use runnel::core::wire::{Encoding, Wire, cdr, decode, decode_view, encode};
use runnel::core::{Action, Message, Service};
use runnel::msgs::geometry_msgs::msg::Point;

fn defaults_are_those_of_the_file() {
    let value = Everything::default();
    assert_eq!((value.five, value.zero, value.yes, value.ratio), (5, 0, true, 0.5));
    assert_eq!((value.wide.as_str(), value.few.as_slice()), ("dé \"f\"", [1, 2].as_slice()));
    assert_eq!(value.texts, ["a", "b # c"]);
    assert_eq!(value.many, [0.0; 40]);
}

fn constants_are_those_of_the_file() {
    assert_eq!((Everything::LEVEL, Everything::MOST, Everything::LOWER_CASE), (-1, u64::MAX, -1));
    assert_eq!((Everything::INFINITE, Everything::PI), (f32::INFINITY, "3.14159".parse().unwrap()));
    assert_eq!((Everything::HASH, Everything::YES), ("a # b", true));
}

fn values_round_trip() {
    let inner = Inner { text: "t".into(), data: vec![1, 2] };
    let value = Everything {
        inners: vec![inner.clone(), Inner::default()],
        two: [Inner::default(), inner],
        plain: other_msgs::msg::Plain { a: 1, b: true },
        points: [Point { x: 1.0, y: 0.0, z: 0.0 }; 3],
        type_: "type".into(),
        self_: "self".into(),
        ..Everything::default()
    };
    let bytes = encode(&value);
    assert_eq!(decode::<Everything>(&bytes).unwrap(), value);
    let view: EverythingView<'_> = decode_view::<Everything>(&bytes).unwrap();
    assert_eq!(format!("{view:?}"), format!("{:?}", value.view()));
    assert_eq!(view.two.get(1).unwrap().text, "t");
    let error = decode::<Everything>(&bytes[..20]).unwrap_err();
    assert_eq!(error.to_string(), "field inner.data: message ends early: 4 bytes needed, 0 left");
}

fn sequences_of_empty_messages_are_bounded() {
    let nothings = vec![Nothing {}; 3];
    assert_eq!(decode::<Vec<Nothing>>(&encode(&nothings)).unwrap(), nothings);
    assert!(decode::<my_msgs::msg::String>(&[0xff; 4]).is_err());
}

fn last_array_is_filled_in_place() {
    let value = other_msgs::msg::Back::default();
    let mut memory = [7; 15];
    let with = write_with_tail(&value, Encoding::Ros1, 3, &mut memory).unwrap();
    assert_eq!((with.elements, with.len), (12..15, 15));
    assert_eq!(decode::<other_msgs::msg::Back>(&memory).unwrap().text.string.data, [7; 3]);
    assert_eq!(my_msgs::action::CountResult::TAIL, Some(Tail { element: 4, after: 0 }));
    assert_eq!((Everything::TAIL, Nothing::TAIL, AskRequest::TAIL.is_some()), (None, None, true));
}

fn one_type_serves_both_generations() {
    assert_eq!((Both::OLD, Both::NEW, Both::default().name.as_str()), (1u8, 2i32, "new"));
    let value = Both { speed: 7, old: 9, data: vec![1.5], inners: vec![Inner::default()], ..Both::default() };
    let ros1: Both = decode(&encode(&value)).unwrap();
    assert_eq!(ros1, Both { name: String::new(), inners: vec![], ..value.clone() });
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        let payload = cdr::encode(&value, encoding).unwrap();
        assert_eq!(cdr::decode::<Both>(&payload).unwrap(), Both { old: 0, ..value.clone() });
    }
    assert!(cdr::encode(&Both { name: "longer".into(), ..Both::default() }, Encoding::Xcdr1).is_err());
    assert_eq!((Both::ROS2_TYPE, Both::DDS_TYPE), ("my_msgs/msg/Both", "my_msgs::msg::dds_::Both_"));
    assert_eq!((AskRequest::ROS2_TYPE, Ask::ROS2_TYPE), ("my_msgs/srv/Ask_Request", "my_msgs/srv/Ask"));
    assert_eq!((Both::TAIL.is_some(), Both::ROS2_TAIL), (true, None));
    assert_eq!((OnlyNew::default().x, OnlyNew::RIHS01.len()), (-1, 7 + 64));
    // A wstring cannot be encoded in ROS 2.
    assert!(cdr::encode(&Everything::default(), Encoding::Xcdr1).is_err());
}

fn services_and_actions_have_their_parts() {
    assert_eq!((Ask::TYPE, AskRequest::TYPE), ("my_msgs/Ask", "my_msgs/AskRequest"));
    assert!(!<Ask as Service>::Response::default().success);
    assert_eq!((CountActionGoal::TYPE, CountActionGoal::HAS_HEADER), ("my_msgs/CountActionGoal", true));
    assert_eq!(CountActionGoal::default().goal.order, 0);
    assert_eq!(CountAction::NAME, "my_msgs/Count");
    assert_eq!(<CountAction as Action>::Goal::TYPE, "my_msgs/CountGoal");
    assert_eq!(<CountAction as Action>::ActionFeedback::TYPE, "my_msgs/CountActionFeedback");
    type SendGoal = <CountAction as Action>::SendGoal;
    assert_eq!(<SendGoal as Service>::ROS2_TYPE, "my_msgs/action/Count_SendGoal");
    assert_eq!(<SendGoal as Service>::Request::default().goal_id.uuid, [0; 16]);
    assert_eq!(<CountAction as Action>::FeedbackMessage::ROS2_TYPE, "my_msgs/action/Count_FeedbackMessage");
    assert_eq!((CountAction::ROS2_NAME, CountAction::ROS2_HASH.len()), ("my_msgs/action/Count", 7 + 64));
    assert_eq!(other_msgs::msg::Back::default().text.string.text, "");
}

fn main() {
    defaults_are_those_of_the_file();
    constants_are_those_of_the_file();
    values_round_trip();
    sequences_of_empty_messages_are_bounded();
    last_array_is_filled_in_place();
    one_type_serves_both_generations();
    services_and_actions_have_their_parts();
}
