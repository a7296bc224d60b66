//! Renamed, reordered and nested fields.

use std::sync::Arc;

use runnel_bridge::{CompileError, Plan, Rules};
use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::{Generation, Kind, Schema, TypeName};
use runnel_core::wire::{Bytes, Encoding};

fn schemas(ros1: &str, ros2: &str) -> [Arc<Schema>; 2] {
    let [one, two] = ["one", "two"].map(|package| TypeName::new(package, "T"));
    let mut library = runnel_msgs::library();
    library.add_text(Kind::Message, one.clone(), ros1.to_owned(), "one/T.msg");
    library.add_text(Kind::Message, two.clone(), ros2.to_owned(), "two/T.msg");
    [library.message_in(Generation::Ros1, &one).unwrap(), library.message_in(Generation::Ros2, &two).unwrap()]
}

fn rules(fields: &str) -> Rules {
    let mut rules = Rules::default();
    let text = format!(
        "- ros1_package_name: one\n  ros2_package_name: two\n  ros1_message_name: T\n  ros2_message_name: T\n  \
         fields_1_to_2: {{{fields}}}\n"
    );
    rules.add(&text).unwrap();
    rules
}

/// Converts a message to the other generation and back.
fn round_trip(
    message: &DynamicMessage,
    [ros1, ros2]: &[Arc<Schema>; 2],
    rules: &Rules,
) -> [DynamicMessage; 2] {
    let there = Plan::compile(ros1, ros2, rules).unwrap();
    let back = Plan::compile(ros2, ros1, rules).unwrap();
    let (mut one, mut two) = (Vec::new(), Vec::new());
    there.convert(Bytes::from(&message.to_bytes()), Encoding::Ros1, &mut one).unwrap();
    back.convert(Bytes::from(&one), Encoding::Xcdr1, &mut two).unwrap();
    [DynamicMessage::decode_payload(ros2, &one).unwrap(), DynamicMessage::decode(ros1, &two).unwrap()]
}

#[test]
fn fields_in_another_order_find_each_other() {
    let schemas = schemas("int8 a\nstring b\nfloat64 c", "float64 c\nint8 a\nstring b");
    let mut message = DynamicMessage::default_of(&schemas[0]).unwrap();
    message.set("a", 3_i8).unwrap();
    message.set("b", "text").unwrap();
    message.set("c", 1.5).unwrap();
    let [there, back] = round_trip(&message, &schemas, &Rules::none());
    assert_eq!((there.get("a").unwrap().as_f64(), there.get("c").unwrap().as_f64()), (Some(3.0), Some(1.5)));
    assert_eq!(there.get("b").unwrap().as_str(), Some("text"));
    assert_eq!(back, message);
}

/// In lower case both names of ROS 1 are the one of ROS 2.
#[test]
fn fields_with_the_same_source_get_the_same_value() {
    let schemas = schemas("int8 fooBar\nint8 foo_bar\nint16 after", "int8 foo_bar\nint16 after");
    let plan = Plan::compile(&schemas[1], &schemas[0], &Rules::none()).unwrap();
    let mut message = DynamicMessage::default_of(&schemas[1]).unwrap();
    message.set("foo_bar", 5_i8).unwrap();
    message.set("after", 7_i16).unwrap();
    let mut converted = Vec::new();
    let bytes = message.to_payload(Encoding::Xcdr1).unwrap();
    plan.convert(Bytes::from(&bytes), Encoding::Xcdr1, &mut converted).unwrap();
    assert_eq!(converted, [5, 5, 7, 0]);
}

#[test]
fn rule_selects_nested_fields_both_ways() {
    let schemas = schemas(
        "geometry_msgs/Vector3 v\nstd_msgs/Header header\nstring[] names",
        "float64 w\nbuiltin_interfaces/Time stamp\nfloat64 x\nstring[] labels\nint32 extra 7",
    );
    let rules = rules("v.x: x, v.z: w, header.stamp: stamp, names: labels");
    let mut message = DynamicMessage::default_of(&schemas[0]).unwrap();
    message.set("v.x", 1.0).unwrap();
    message.set("v.z", 3.0).unwrap();
    message.set("header.stamp", runnel_core::time::Time { sec: 5, nanosec: 6 }).unwrap();
    let [there, back] = round_trip(&message, &schemas, &rules);
    let number = |path: &str| there.get(path).unwrap().as_f64();
    assert_eq!((number("w"), number("x"), number("extra")), (Some(3.0), Some(1.0), Some(7.0)));
    assert_eq!(back, message);
}

#[test]
fn field_of_one_side_only_gets_its_default() {
    let schemas = schemas("int8 a", "int8 a\nstring text \"x\"\nfloat64[2] pair\nint32[] list");
    let plan = Plan::compile(&schemas[0], &schemas[1], &Rules::none()).unwrap();
    assert_eq!(plan.defaulted(), ["two/T.text", "two/T.pair", "two/T.list"]);
    let message = DynamicMessage::default_of(&schemas[0]).unwrap();
    let [there, _] = round_trip(&message, &schemas, &Rules::none());
    assert_eq!(there, DynamicMessage::default_of(&schemas[1]).unwrap());
    let back = Plan::compile(&schemas[1], &schemas[0], &Rules::none()).unwrap();
    assert_eq!(back.dropped(), plan.defaulted());
}

#[test]
fn fields_without_counterpart_on_both_sides_are_refused() {
    let [ros1, ros2] = schemas("int8 a\nint8 old", "int8 a\nint8 new");
    let error = Plan::compile(&ros1, &ros2, &Rules::none()).unwrap_err();
    assert!(matches!(error, CompileError::NoCounterpart { .. }) && error.to_string().contains("one/T.old"));
    assert!(Plan::compile(&ros1, &ros2, &rules("a: a, old: new")).is_ok());
    let error = Plan::compile(&ros1, &ros2, &rules("a: a, old: newer")).unwrap_err();
    assert!(error.to_string().contains("newer"), "{error}");
}

#[test]
fn fields_of_different_types_are_refused() {
    for (one, two) in
        [("int8 a", "int16 a"), ("int8 a", "int8[] a"), ("int8[2] a", "int8[3] a"), ("string a", "time a")]
    {
        let [ros1, ros2] = schemas(one, two);
        let error = Plan::compile(&ros1, &ros2, &Rules::none()).unwrap_err();
        assert!(matches!(error, CompileError::FieldTypes { .. }), "{one} {two}: {error}");
    }
}

fn standard(generation: Generation, name: &str) -> Arc<Schema> {
    runnel_msgs::library().message_in(generation, &TypeName::parse(name).unwrap()).unwrap()
}

#[test]
fn log_line_keeps_its_level_and_time() {
    let [ros1, ros2] =
        [standard(Generation::Ros1, "rosgraph_msgs/Log"), standard(Generation::Ros2, "rcl_interfaces/Log")];
    for (one, two) in [(1_i8, 10), (2, 20), (4, 30), (8, 40), (16, 50)] {
        let mut line = DynamicMessage::default_of(&ros1).unwrap();
        line.set("level", one).unwrap();
        line.set("msg", "text").unwrap();
        line.set("header.stamp", runnel_core::time::Time { sec: 5, nanosec: 6 }).unwrap();
        let [there, back] = round_trip(&line, &[ros1.clone(), ros2.clone()], &Rules::default());
        assert_eq!(there.get("level").unwrap().as_f64(), Some(f64::from(two)));
        assert_eq!(back, line);
    }
}

#[test]
fn time_of_std_msgs_is_that_of_builtin_interfaces() {
    let [ros1, ros2] =
        [standard(Generation::Ros1, "std_msgs/Time"), standard(Generation::Ros2, "builtin_interfaces/Time")];
    let mut message = DynamicMessage::default_of(&ros1).unwrap();
    message.set("data", runnel_core::time::Time { sec: 5, nanosec: 6 }).unwrap();
    let [there, back] = round_trip(&message, &[ros1, ros2], &Rules::default());
    assert_eq!(there.get("sec").unwrap().as_f64(), Some(5.0));
    assert_eq!(back, message);
}
