use super::*;
use crate::dynamic::tests::{RULE, everything, pose_stamped, schema};
use crate::dynamic::{Array, DynamicMessage, Value, ValueRef};
use crate::schema::{Generation, Schema};
use crate::time::{Duration, Time};
use std::sync::Arc;

const NOW: Time = Time { sec: 100, nanosec: 5 };

fn read(schema: &Arc<Schema>, text: &str) -> DynamicMessage {
    from_yaml(schema, text, NOW).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refused(schema: &Arc<Schema>, text: &str) -> String {
    from_yaml(schema, text, NOW).unwrap_err().to_string()
}

fn one(definition: &str) -> Arc<Schema> {
    schema("a/One", definition)
}

#[test]
fn error_names_field_and_place() {
    let pose = pose_stamped();
    let table = [
        (
            "pose: {position: {x: a}}",
            r#"pose.position.x: expected float64, found the string "a" (line 1, column 22)"#,
        ),
        (
            "pose:\n  position:\n    q: 1",
            "pose.position.q: no such field; geometry_msgs/Point has x, y, z (line 3, column 5)",
        ),
        ("header: {seq: -1}", "header.seq: -1 is out of the range of uint32 (line 1, column 15)"),
        ("header: {seq: 1, seq: 2}", "header.seq: set twice (line 1, column 18)"),
        (
            "header: {frame_id: [a]}",
            "header.frame_id: expected string, found something else (line 1, column 20)",
        ),
        (
            "header: {stamp: then}",
            r#"header.stamp: expected time, found the string "then" (line 1, column 17)"#,
        ),
        (
            "header: {stamp: {secs: -1}}",
            "header.stamp.secs: -1 is out of the range of uint32 (line 1, column 24)",
        ),
        (
            "header: {stamp: {q: 1}}",
            "header.stamp.q: no such field; a time has secs, nsecs (line 1, column 18)",
        ),
        ("pose: 5", "pose: expected geometry_msgs/Pose, found the number 5 (line 1, column 7)"),
        (
            "pose: {position: [1, 2]}",
            "pose.position: 2 values without names, but geometry_msgs/Point has 3 fields (line 1, column 18)",
        ),
        ("{}\n---\n{}", "more than one YAML document"),
    ];
    for (text, expected) in table {
        assert_eq!(refused(&pose, text), expected);
    }
    let error = refused(&pose, "pose: [");
    assert!(error.contains("line 2, column 1") || error.contains("line 1, column 8"), "{error}");
}

#[test]
fn error_in_array_names_element() {
    let schema = everything();
    let table = [
        ("b: [true, 2]", "b[1]: expected bool, found the number 2 (line 1, column 11)"),
        ("s: [a]", "s: 1 elements, where there should be 2 (line 1, column 4)"),
        ("ps: [{}, {x: 1.5}]", "ps[1].x: expected int32, found the number 1.5 (line 1, column 14)"),
        ("b: true", "b: expected bool[], found the truth value true (line 1, column 4)"),
        ("b: {a: 1}", "b: expected bool[], found a mapping (line 1, column 4)"),
        ("one: [1]", "one: expected bool, found a list (line 1, column 6)"),
        ("one:", "one: expected bool, found nothing (line 1, column 4)"),
    ];
    for (text, expected) in table {
        assert_eq!(refused(&schema, text), expected);
    }
}

#[test]
fn more_spellings_are_read_than_rostopic_reads() {
    let text = one("string data");
    for (yaml, expected) in
        [("123", "123"), ("data: yes", "yes"), ("", ""), ("~", ""), ("[a]", "a"), ("data: é", "é")]
    {
        assert_eq!(read(&text, yaml).get("data"), Ok(ValueRef::String(expected)), "{yaml}");
    }
    let float = one("float32 data");
    for (yaml, expected) in
        [("1e5", 1e5), ("inf", f32::INFINITY), ("017", 15.0), ("[2]", 2.0), ("1e+16", 1e16)]
    {
        assert_eq!(read(&float, yaml).get("data"), Ok(ValueRef::F32(expected)), "{yaml}");
    }
    assert_eq!(read(&one("int32 data"), "0o17").get("data"), Ok(ValueRef::Int(15)));
    let pose = read(&pose_stamped(), "[{stamp: {sec: 1, nanosec: 2}}, [[1, 2, 3], [0, 0, 0, 1]]]");
    assert_eq!(pose.get("pose.position.z"), Ok(ValueRef::F64(3.0)));
    assert_eq!(pose.get("header.stamp"), Ok(ValueRef::Time(Time { sec: 1, nanosec: 2 })));
}

#[test]
fn values_that_rostopic_takes_by_accident_are_refused() {
    let table = [
        ("int32 data", "true"),
        ("int32 data", "12:30"),
        ("float32 data", "true"),
        ("bool data", "2"),
        ("duration data", "now"),
        ("uint8[] data", "data: !!binary AQID"),
        ("int32 data", "{data: 1, data: 2}"),
        ("int32 data", "{<<: {data: 1}}"),
        ("int32 data", "!local 1"),
    ];
    for (definition, text) in table {
        assert!(from_yaml(&one(definition), text, NOW).is_err(), "{definition}: {text}");
    }
}

#[test]
fn now_and_auto_stand_for_the_time_in_both_generations() {
    let stamp = Ok(ValueRef::Time(NOW));
    assert_eq!(read(&pose_stamped(), "header: auto").get("header.stamp"), stamp);
    assert_eq!(read(&pose_stamped(), "header: {stamp: now}").get("header.stamp"), stamp);
    let parts = [
        "std_msgs/Header header\nbuiltin_interfaces/Time time",
        "std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id",
    ];
    let message = read(&schema("a/Stamped", &parts.join(RULE)), "{header: auto, time: now}");
    assert_eq!(message.get("header.stamp"), stamp);
    assert_eq!(message.get("time"), stamp);
}

#[test]
fn bounds_of_ros_2_definitions_hold() {
    let schema = one("string<=3 s\nint8[<=2] n\nwstring<=2 w");
    assert!(from_yaml(&schema, "{s: abc, n: [1, 2], w: éé}", NOW).is_ok());
    assert_eq!(refused(&schema, "{s: abcd}"), "s: length 4, where 3 is the most allowed (line 1, column 5)");
    assert_eq!(
        refused(&schema, "{n: [1, 2, 3]}"),
        "n: length 3, where 2 is the most allowed (line 1, column 5)"
    );
    assert_eq!(refused(&schema, "{w: abc}"), "w: length 3, where 2 is the most allowed (line 1, column 5)");
}

#[test]
fn several_arguments_give_one_field_each() {
    let schema = one("int32 a\nstring[] b");
    let message = from_yaml_args(&schema, &["1", "[x, y]"], NOW).unwrap();
    assert_eq!(message.get("b[1]"), Ok(ValueRef::String("y")));
    let error = |arguments: &[&str]| from_yaml_args(&schema, arguments, NOW).unwrap_err().to_string();
    assert_eq!(error(&["1", "2", "3"]), "3 values without names, but a/One has 2 fields");
    assert_eq!(error(&["1", "2"]), "b: expected string[], found the number 2 (line 1, column 1)");
    assert_eq!(
        from_yaml_args(&schema, &[], NOW),
        DynamicMessage::default_of(&schema).map_err(|_| unreachable!())
    );
}

#[test]
fn message_of_text_is_bounded() {
    let schema = one("string[] data");
    let long = "x".repeat(MAX_TEXT + 1);
    assert!(refused(&schema, &long).ends_with("bytes of text, where 16777216 are allowed"));
    // A megabyte named a thousand times.
    let aliases = format!("[&a {}{}]", "x".repeat(1 << 20), ", *a".repeat(1000));
    assert!(refused(&schema, &aliases).contains("message would take up more than"));
    let laughs = one("int32[] data");
    let mut text = String::from("data: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    text.push_str(&"x: [*a, *a, *a, *a, *a, *a]\n".repeat(10));
    assert!(from_yaml(&laughs, &text, NOW).is_err());
    for depth in [1000, 100_000] {
        for (open, close) in [("[", "]"), ("{data: ", "}")] {
            let nested = format!("{}{}", open.repeat(depth), close.repeat(depth));
            assert!(from_yaml(&schema, &nested, NOW).is_err());
            assert!(from_json(&schema, &nested, NOW).is_err());
        }
    }
    assert!(refused(&schema, &"[".repeat(129)).contains("may be nested more than 128 deep"));
}

#[test]
fn recursive_alias_is_refused() {
    for text in ["data: &a [*a]", "&a {data: *a}", "&a [*a]", "{data: *a}"] {
        assert!(from_yaml(&one("string[] data"), text, NOW).is_err(), "{text}");
    }
}

#[test]
fn long_arrays_and_texts_are_cut_as_ros2_topic_echo_cuts_them() {
    let options = EchoOptions { truncate: Some(2), ..EchoOptions::default() };
    let parts = ["int8[] n\nstring t\nstring[] s\nE[] e", "a/E\nint8 x"];
    let schema = schema("a/Cut", &parts.join(RULE));
    let text = "{n: [1, 2, 3], t: äöü, s: [a, bcd, c], e: [[1], [2], [3]]}";
    let message = read(&schema, text);
    let expected = "n: [1, 2, '...']\nt: \"\\xE4\\xF6...\"\ns: \n  - a\n  - bc...\n  - '...'\n\
                    e: \n  - \n    x: 1\n  - \n    x: 2\n  - '...'";
    assert_eq!(to_yaml(&message, &options), expected);
    let all = EchoOptions { truncate: Some(3), ..options };
    assert_eq!(to_yaml(&message, &all), to_yaml(&message, &EchoOptions::default()));
    let none = EchoOptions { truncate: Some(0), ..options };
    assert!(to_yaml(&message, &none).starts_with("n: ['...']\nt: \"...\"\ns: \n  - '...'\n"));
}

#[test]
fn field_is_printed_by_its_path() {
    let mut message = DynamicMessage::default_of(&everything()).unwrap();
    message.set("u16s", Array::U16(vec![1, 2])).unwrap();
    let options = EchoOptions::default();
    let print = |path: &str| value_to_yaml(message.get(path).unwrap(), &options);
    assert_eq!(print("u16s"), "[1, 2]");
    assert_eq!(print("u16s[1]"), "2");
    assert_eq!(print("s[0]"), "''");
    assert_eq!(print("d"), "\n- \n  secs: 0\n  nsecs:         0");
    assert_eq!(print("p2[1]"), "x: 0\nnames: []\nbytes: []");
    assert_eq!(value_to_csv(message.get("u16s").unwrap(), &options), "1,2");
    let json = value_to_json(Generation::Ros1, message.get("u16s").unwrap());
    assert_eq!(json.to_string(), "[1,2]");
}

#[test]
fn bytes_of_characters_are_a_list() {
    let mut message = DynamicMessage::default_of(&one("char[] c\nchar[2] d")).unwrap();
    message.set("c", Array::U8(vec![65, 200])).unwrap();
    assert_eq!(to_yaml(&message, &EchoOptions::default()), "c: [65, 200]\nd: [0, 0]");
}

#[test]
fn json_keeps_the_order_of_fields_and_every_number() {
    let schema = one("uint64 z\nfloat64[] f\nstring s\ntime t\nbool b");
    let mut message = DynamicMessage::default_of(&schema).unwrap();
    message.set("z", u64::MAX).unwrap();
    message.set("f", Array::F64(vec![1.5, f64::NAN, f64::NEG_INFINITY])).unwrap();
    message.set("s", "\"é\n").unwrap();
    let json =
        r#"{"z":18446744073709551615,"f":[1.5,"nan","-inf"],"s":"\"é\n","t":{"secs":0,"nsecs":0},"b":false}"#;
    assert_eq!(to_json(&message).to_string(), json);
    let read = from_json(&schema, json, NOW).unwrap();
    assert_eq!(read.to_bytes(), message.to_bytes());
    let error = from_json(&schema, r#"{"s": 5}"#, NOW).unwrap_err();
    assert_eq!((error.path(), error.place()), ("s", Some((1, 7))));
    assert!(from_json(&schema, "{} x", NOW).is_err());
    assert!(from_json(&schema, "{", NOW).is_err());
}

#[test]
fn csv_is_flat_and_quotes_separators() {
    let schema = one("string s\nbool b\nint8[] n\ntime t\nstring e\nfloat32 f");
    let mut message = DynamicMessage::default_of(&schema).unwrap();
    message.set("s", "a,\"b\"").unwrap();
    message.set("n", Array::I8(vec![1, 2, 3])).unwrap();
    message.set("t", Value::Time(NOW)).unwrap();
    let print = |options: &EchoOptions| to_csv(&message, options);
    assert_eq!(print(&EchoOptions::default()), "\"a,\"\"b\"\"\",False,1,2,3,100,5,,0.0");
    let cut = EchoOptions { truncate: Some(2), ..EchoOptions::default() };
    assert_eq!(print(&cut), "\"a,...\",False,1,2,...,100,5,,0.0");
    let short = EchoOptions { no_arr: true, no_str: true, ..EchoOptions::default() };
    let expected = "<string length: 5>,False,\"<array type: int8, length: 3>\",100,5,<string length: 0>,0.0";
    assert_eq!(print(&short), expected);
}

#[test]
fn numbers_have_columns_and_times_an_offset() {
    let mut message = DynamicMessage::default_of(&everything()).unwrap();
    message.set("f64s", Array::F64(vec![-1.5, 123_456.0, f64::NAN])).unwrap();
    message.set("i16", Value::Int(-7)).unwrap();
    let options = EchoOptions { width: Some(4), ..EchoOptions::default() };
    let printed = |path: &str| value_to_yaml(message.get(path).unwrap(), &options);
    assert_eq!(printed("f64s"), "[-1.5, 123456, nan]");
    assert_eq!(printed("i16"), "  -7");
    assert_eq!(printed("length"), "\nsecs:    0\nnsecs:    0");
    let stamped = |since| {
        let options = EchoOptions { since: Some(since), ..EchoOptions::default() };
        let time = ValueRef::Time(Time { sec: 5, nanosec: 1 });
        (value_to_yaml(time, &options), plot_row(time, Time { sec: 5, nanosec: 1 }, &options))
    };
    let (text, row) = stamped(Time { sec: 6, nanosec: 2 });
    assert_eq!(text, "\nsecs: -2\nnsecs: 999999999");
    assert_eq!(row, "-1000000001,-1000000001");
}

#[test]
fn times_have_the_names_of_their_generation() {
    let mut message = DynamicMessage::default_of(&one("time t\nduration d\nstring s")).unwrap();
    message.set("t", Value::Time(Time { sec: -2, nanosec: 5 })).unwrap();
    let options = EchoOptions { generation: Generation::Ros2, ..EchoOptions::default() };
    let expected = "t: \n  sec: -2\n  nanosec: 5\nd: \n  sec: 0\n  nanosec: 0\ns: ''";
    assert_eq!(to_yaml(&message, &options).replace("\"\"", "''"), expected);
    assert_eq!(to_csv(&message, &options), "-2,5,0,0,");
    let json = r#"{"t":{"sec":-2,"nanosec":5},"d":{"sec":0,"nanosec":0},"s":""}"#;
    assert_eq!(to_json_in(Generation::Ros2, &message).to_string(), json);
    assert_eq!(value_to_json(Generation::Ros2, message.get("t.nanosec").unwrap()), 5);
}

#[test]
fn time_parts_have_names_of_both_generations() {
    let mut message = DynamicMessage::default_of(&one("time t\nduration d")).unwrap();
    message.set("t", Value::Time(Time { sec: -2, nanosec: 5 })).unwrap();
    message.set("d", Value::Duration(Duration { sec: -1, nanosec: -5i32 as u32 })).unwrap();
    let print = |path: &str| value_to_yaml(message.get(path).unwrap(), &EchoOptions::default());
    let parts = ["t.secs", "t.sec", "t.nsecs", "t/nanosec", "d.secs", "d.sec", "d.nsecs", "d.nanosec"];
    let expected = ["4294967294", "-2", "5", "5", "-1", "-1", "-5", "4294967291"];
    assert_eq!(parts.map(print), expected);
    assert!(message.get("t.seconds").is_err() && message.get("t[0]").is_err());
}
