use runnel::core::schema::Generation;
use runnel_bag::SchemaLanguage;

use super::*;
use crate::bag::record::sink::arrival::Content;

fn ros1(publisher: &'static str, definition: &'static str) -> Source<'static> {
    Source {
        generation: Generation::Ros1,
        type_name: "std_msgs/String",
        sum: "992ce8a1687cec8c8bd883ec73ca41d1",
        definition,
        publisher,
        is_latching: false,
    }
}

fn ros2(publisher: &'static str) -> Source<'static> {
    let sum = "RIHS01_ab";
    Source {
        generation: Generation::Ros2,
        type_name: "a/msg/B",
        sum,
        definition: "",
        publisher,
        is_latching: true,
    }
}

fn arrival<'a>(source: Source<'a>, data: &'a [u8]) -> Arrival<'a> {
    let content = Content { log_time: 1, publish_time: 1, sequence: 0, data: data.into() };
    Arrival { source, number: None, content }
}

fn schema(text: &str) -> Schema {
    Schema { language: SchemaLanguage::Ros2Msg, data: text.into() }
}

#[test]
fn each_ros1_publisher_has_a_channel() {
    let mut channels = Channels::default();
    let topic = channels.add_topic("/a");
    let mut place = |source| channels.place(topic, &arrival(source, b"x"));
    assert_eq!(place(ros1("/one", "string data\n")), Place::Channel(0));
    assert_eq!(place(ros1("/two", "string data\n")), Place::Channel(1));
    assert_eq!(place(ros1("/one", "string data\n")), Place::Channel(0));
    let latched = Source { is_latching: true, ..ros1("/one", "string data\n") };
    assert_eq!(place(latched), Place::Channel(2));
    assert!(channels.channels()[2].latching && !channels.channels()[0].latching);
    assert_eq!(channels.channels()[0].publisher.as_deref(), Some("/one"));
    assert!(channels.take_questions().is_empty());
}

#[test]
fn ros2_messages_wait_for_definition_and_qos() {
    let mut channels = Channels::default();
    let topic = channels.add_topic("/a");
    for publisher in ["/one", "/two"] {
        assert_eq!(channels.place(topic, &arrival(ros2(publisher), b"x")), Place::Waits(vec![]));
    }
    let questions = channels.take_questions();
    assert_eq!(questions.len(), 1, "it is asked for once: {questions:?}");
    channels.define(questions[0].0.clone(), schema("int8 x"));
    assert!(channels.take_waited().is_empty(), "the QoS is not known");
    channels.set_offered_qos(topic, "- depth: 1\n".to_owned());
    let waited: Vec<_> = channels.take_waited().iter().map(|one| one.origin.channel).collect();
    assert_eq!(waited, [0, 0], "all publishers have one channel");
    assert_eq!(channels.place(topic, &arrival(ros2("/three"), b"x")), Place::Channel(0));
    let channel = &channels.channels()[0];
    assert_eq!((channel.type_hash.as_deref(), &channel.schema), (Some("RIHS01_ab"), &schema("int8 x")));
    assert_eq!((channel.offered_qos.as_deref(), &channel.publisher), (Some("- depth: 1\n"), &None));
}

#[test]
fn messages_of_a_publisher_that_is_gone_are_recorded_without_qos() {
    let mut channels = Channels::default();
    let topic = channels.add_topic("/a");
    channels.place(topic, &arrival(ros2("/one"), b"x"));
    let questions = channels.take_questions();
    channels.define(questions[0].0.clone(), schema("int8 x"));
    let start = Instant::now();
    channels.stop_waiting_for_qos(start);
    channels.stop_waiting_for_qos(start + QOS_TIMEOUT / 2);
    assert!(channels.take_waited().is_empty(), "the graph may be late");
    channels.stop_waiting_for_qos(start + QOS_TIMEOUT);
    assert_eq!(channels.take_waited().len(), 1);
    assert_eq!(channels.channels()[0].offered_qos, None);
}

#[test]
fn unknown_types_are_recorded_as_bytes() {
    let mut channels = Channels::default();
    let topic = channels.add_topic("/a");
    channels.place(topic, &arrival(ros2("/one"), b"x"));
    channels.place(topic, &arrival(ros1("/one", ""), b"y"));
    channels.stop_asking();
    assert_eq!(channels.take_waited().len(), 2);
    let [first, second] = channels.channels() else { panic!("two channels") };
    assert_eq!((&first.schema, first.type_hash.as_deref()), (&Schema::default(), Some("RIHS01_ab")));
    assert_eq!(second.md5.as_deref(), Some("992ce8a1687cec8c8bd883ec73ca41d1"));
}

#[test]
fn sources_are_bounded() {
    let mut channels = Channels::default();
    let topic = channels.add_topic("/a");
    let names: Vec<String> = (0..MOST_CHANNELS).map(|number| format!("/{number}")).collect();
    for publisher in &names {
        let source = Source { publisher, ..ros1("", "string data\n") };
        assert!(matches!(channels.place(topic, &arrival(source, b"x")), Place::Channel(_)));
    }
    assert_eq!(channels.place(topic, &arrival(ros1("/last", "string data\n"), b"x")), Place::Nowhere);
    assert_eq!(channels.place(topic, &arrival(ros1("/0", "string data\n"), b"x")), Place::Channel(0));
}
