//! Every message of the standard packages through a running bridge, both ways, byte for byte.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use interop::{Server, TIMEOUT, is_full};
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Element, Field, Generation, Kind, Library, Primitive, Schema, TypeName};
use runnel::core::wire::Encoding;
use runnel::{DynamicPublisher, Graphs, QoS, RawMessage, Subscription};
use runnel_testkit::messages::distinct_message;
use runnel_testkit::process::deadline_in;

use crate::bridge_scene::{End, TwoGraphs};

/// Topics at a time.
const BATCH: usize = 25;

/// Of so many types one is tested without `--full`.
const SAMPLE: usize = 12;

/// A type that is carried in one direction.
struct Case {
    publisher: DynamicPublisher,
    message: DynamicMessage,
    target: Arc<Schema>,
    expected: Vec<u8>,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
    _subscription: Subscription,
}

fn encoding(schema: &Schema) -> Encoding {
    match schema.generation {
        Generation::Ros1 => Encoding::Ros1,
        Generation::Ros2 => Encoding::Xcdr1,
    }
}

impl Case {
    fn new([from, to]: [&End; 2], [source, target]: [Arc<Schema>; 2]) -> Self {
        let topic = format!("/all/{}", source.def.name);
        let message = distinct_message(&source);
        let expected = message.to_form(&target).unwrap().to_payload(encoding(&target)).unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let take =
            move |message: &RawMessage<'_>| into.lock().unwrap().push(message.bytes().try_to_vec().unwrap());
        let subscription = to.node.create_raw_subscription(&topic, Some(&target), QoS::keep_last(10), take);
        let publisher = from.node.create_dynamic_publisher(&topic, &source, 10).unwrap();
        Self { publisher, message, target, expected, received, _subscription: subscription.unwrap() }
    }

    fn has_arrived(&self) -> bool {
        !self.received.lock().unwrap().is_empty()
    }

    fn check(&self) {
        for received in &*self.received.lock().unwrap() {
            let name = &self.target.def.name;
            assert_eq!(
                self.without_number(received),
                self.expected,
                "{name} in {:?}",
                self.target.generation
            );
        }
    }

    /// The message without the number that the bridge's publisher in ROS 1 gives it.
    fn without_number(&self, bytes: &[u8]) -> Vec<u8> {
        let is_numbered = self.target.generation == Generation::Ros1
            && self.target.parts.first().and_then(Option::as_ref).is_some_and(|part| is_header(part));
        if !is_numbered {
            return bytes.to_vec();
        }
        let mut message = DynamicMessage::decode(&self.target, bytes).unwrap();
        message.set(&format!("{}.seq", self.target.def.fields[0].name), 0_u32).unwrap();
        message.to_payload(Encoding::Ros1).unwrap()
    }
}

fn is_header(schema: &Schema) -> bool {
    schema.def.name == TypeName::new("std_msgs", "Header")
}

/// Whether a type has a `wstring`, which ROS 1 does not have.
fn is_wide(schema: &Schema) -> bool {
    let wide = |field: &Field| matches!(field.element, Element::Primitive(Primitive::WString(_)));
    schema.def.fields.iter().any(wide) || schema.parts.iter().flatten().any(|part| is_wide(part))
}

/// The schemas in ROS 1 and ROS 2 of the types that are tested.
fn types(library: &Library) -> Vec<[Arc<Schema>; 2]> {
    let both = |name| Generation::ALL.map(|of| library.message_in(of, name).unwrap());
    // In ROS 2 the goal, the result and the feedback of an action are not messages of topics.
    let is_on_topics =
        |[ros1, ros2]: &[Arc<Schema>; 2]| !is_wide(ros1) && ros2.def.ros2_name.contains("/msg/");
    let all = library.names(Kind::Message).map(both).filter(is_on_topics);
    all.step_by(if is_full() { 1 } else { SAMPLE }).collect()
}

fn carry(graphs: &TwoGraphs, cases: &[Case]) {
    let missing = || cases.iter().filter(|case| !case.has_arrived());
    let deadline = deadline_in(TIMEOUT);
    while missing().next().is_some() {
        let names = missing().map(|case| case.target.def.name.to_string());
        let is_late = Instant::now() >= deadline;
        assert!(
            !is_late,
            "{:?} have not arrived: {:#?}",
            names.collect::<Vec<_>>(),
            graphs.reported("topics")
        );
        missing().for_each(|case| case.publisher.publish(&case.message).unwrap());
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn every_standard_message_is_carried_both_ways() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let (one, two) = (graphs.end(Graphs::Ros1, "one"), graphs.end(Graphs::Ros2, "two"));
    let types = types(&runnel::msgs::library());
    assert!(types.len() > if is_full() { 200 } else { 15 }, "{}", types.len());
    for batch in types.chunks(BATCH) {
        let there = batch.iter().map(|[ros1, ros2]| Case::new([&one, &two], [ros1.clone(), ros2.clone()]));
        let there: Vec<Case> = there.collect();
        carry(&graphs, &there);
        there.iter().for_each(Case::check);
        drop(there);
        let back = batch.iter().map(|[ros1, ros2]| Case::new([&two, &one], [ros2.clone(), ros1.clone()]));
        let back: Vec<Case> = back.collect();
        carry(&graphs, &back);
        back.iter().for_each(Case::check);
    }
}
