use super::*;
use crate::schema::{Arity, Element, Generation, MAX_MESSAGE_DEPTH, Primitive, TypeName};
use crate::time::{Duration, Time};
use crate::wire::{DecodeErrorKind, EncodeErrorKind, Encoding, encode};
use crate::yaml::{YamlErrorKind, from_yaml};

/// The schema of a full text, whose first message is called `name`.
pub(crate) fn schema(name: &str, text: &str) -> Arc<Schema> {
    Schema::from_full_text(&TypeName::parse(name).unwrap(), text).unwrap()
}

pub(crate) const RULE: &str =
    "\n================================================================================\nMSG: ";

pub(crate) fn pose_stamped() -> Arc<Schema> {
    let parts = [
        "std_msgs/Header header\nPose pose",
        "std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id",
        "geometry_msgs/Pose\nPoint position\nQuaternion orientation",
        "geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z",
        "geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    ];
    schema("geometry_msgs/PoseStamped", &parts.join(RULE))
}

/// A schema with every kind of field.
pub(crate) fn everything() -> Arc<Schema> {
    let parts = [
        "string[2] s\nbool[] b\nbool[2] b2\nbyte[3] y\nchar[] c\nint8[2] i\nuint8[2] u\ntime[] t\nduration[1] d\n\
         E e\nE[] es\nint64[] l\nfloat32[] f\nstring[] ss\nbool one\nint16 i16\nuint64 u64\nfloat32 f32\n\
         duration length\nP[] ps\nP[2] p2\nuint16[] u16s\nuint32[] u32s\nint16[] i16s\nint32[] i32s\nuint64[] u64s\n\
         float64[] f64s",
        "a/E\n",
        "a/P\nint32 x\nstring[] names\nbyte[] bytes",
    ];
    schema("a/X", &parts.join(RULE))
}

#[test]
fn message_is_decoded_and_encoded_to_the_same_bytes() {
    let schema = pose_stamped();
    let mut bytes = encode(&7u32);
    bytes.extend(encode(&Time { sec: 1, nanosec: 2 }));
    bytes.extend(encode(&String::from("map")));
    bytes.extend(encode(&[1.0f64, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]));
    let message = DynamicMessage::decode(&schema, &bytes).unwrap();
    assert_eq!(message.get("header.seq"), Ok(ValueRef::UInt(7)));
    assert_eq!(message.get("header.stamp"), Ok(ValueRef::Time(Time { sec: 1, nanosec: 2 })));
    assert_eq!(message.get("/header/frame_id").unwrap().as_str(), Some("map"));
    assert_eq!(message.get("pose.position.z").unwrap().as_f64(), Some(3.0));
    assert_eq!(message.to_bytes(), bytes);
}

#[test]
fn every_kind_of_field_survives_encoding() {
    let schema = everything();
    let mut message = DynamicMessage::default_of(&schema).unwrap();
    let text = |text: &str| text.to_owned();
    message.set("s", Array::String(vec![text("a"), text("é")])).unwrap();
    message.set("b", Array::Bool(vec![true, false, true])).unwrap();
    message.set("y", Array::I8(vec![-1, 0, 127])).unwrap();
    message.set("c", Array::U8(vec![255])).unwrap();
    message.set("t", Array::Time(vec![Time { sec: -1, nanosec: 5 }])).unwrap();
    message.set("d[0]", Duration { sec: -1, nanosec: 5 }).unwrap();
    message.set("l", Array::I64(vec![i64::MIN, i64::MAX])).unwrap();
    message.set("f", Array::F32(vec![0.1, -0.0])).unwrap();
    message.set("u64", u64::MAX).unwrap();
    message.set("i16", -300).unwrap();
    message.set("p2[1].names", Array::String(vec![text("x"), text("")])).unwrap();
    message.set("f64s", Array::F64(vec![f64::MAX])).unwrap();
    assert_eq!(DynamicMessage::decode(&schema, &message.to_bytes()).unwrap(), message);
    assert_eq!(message.get("p2[1].names[0]").unwrap().as_str(), Some("x"));
    assert_eq!(message.get("i16"), Ok(ValueRef::Int(-300)));
}

#[test]
fn numbers_change_width_only_without_loss() {
    let mut message = DynamicMessage::default_of(&everything()).unwrap();
    message.set("i16", 32_767u64).unwrap();
    message.set("f32", 3).unwrap();
    message.set("u16s", Array::I64(vec![0, 65_535])).unwrap();
    assert_eq!(message.field("u16s"), Some(&Value::Array(Array::U16(vec![0, 65_535]))));
    let errors = [
        ("i16", Value::UInt(32_768), "field i16: 32768 is out of the range of int16"),
        ("u64", Value::Int(-1), "field u64: -1 is out of the range of uint64"),
        ("f32", Value::F64(1e300), "field f32: 1e300 is out of the range of float32"),
        ("i16", Value::F64(1.0), "field i16: expected int16, found the number 1.0"),
        ("one", Value::Int(1), "field one: expected bool, found the number 1"),
        ("u16s", Array::I64(vec![0, 65_536]).into(), "field u16s[1]: 65536 is out of the range of uint16"),
        ("u16s", Value::Int(1), "field u16s: expected uint16[], found the number 1"),
        ("s", Array::String(vec![]).into(), "field s: 0 elements, where there should be 2"),
    ];
    for (path, value, expected) in errors {
        assert_eq!(message.set(path, value).unwrap_err().to_string(), expected);
    }
    assert_eq!(message.get("i16"), Ok(ValueRef::Int(32_767)), "unchanged after an error");
}

#[test]
fn invalid_path_is_named_with_the_fields_there() {
    let message = DynamicMessage::default_of(&pose_stamped()).unwrap();
    let table = [
        ("pose.position.q", "field pose.position.q: no such field; geometry_msgs/Point has x, y, z"),
        ("pose.position.x.y", "field pose.position.x.y: has no fields or elements: it is the number 0.0"),
        ("pose[0]", "field pose[0]: has no fields or elements: it is geometry_msgs/Pose"),
        ("", "not a path such as pose.position.x or ranges[3]"),
        ("pose..x", "field pose..x: not a path such as pose.position.x or ranges[3]"),
        ("pose[x]", "field pose[x]: not a path such as pose.position.x or ranges[3]"),
        ("pose[0", "field pose[0: not a path such as pose.position.x or ranges[3]"),
    ];
    for (path, expected) in table {
        assert_eq!(message.get(path).unwrap_err().to_string(), expected);
        let mut copy = message.clone();
        assert!(copy.set(path, 1).is_err());
    }
    let message = DynamicMessage::default_of(&everything()).unwrap();
    assert_eq!(message.get("s[2]").unwrap_err().to_string(), "field s[2]: no such element; the array has 2");
}

#[test]
fn broken_bytes_are_refused_with_the_field() {
    let schema = everything();
    let good = DynamicMessage::default_of(&schema).unwrap().to_bytes();
    for len in 0..good.len() {
        assert!(DynamicMessage::decode(&schema, &good[..len]).is_err(), "{len} bytes");
    }
    let mut long = good.clone();
    long.push(0);
    let error = DynamicMessage::decode(&schema, &long).unwrap_err();
    assert_eq!(*error.kind(), DynamicErrorKind::Bytes(DecodeErrorKind::TrailingBytes { count: 1 }));
    let mut bad = good;
    bad[0] = 200;
    let error = DynamicMessage::decode(&schema, &bad).unwrap_err();
    assert_eq!(error.path(), "s");
}

#[test]
fn invalid_utf_8_is_read_with_replacements() {
    let schema = schema("a/T", "string one\nstring[] more\nuint8 after");
    let bytes = [2, 0, 0, 0, b'h', 0xe9, 1, 0, 0, 0, 1, 0, 0, 0, 0xff, 7];
    let message = DynamicMessage::decode(&schema, &bytes).unwrap();
    assert_eq!(message.get("one"), Ok(ValueRef::String("h\u{fffd}")));
    assert_eq!(message.get("more[0]"), Ok(ValueRef::String("\u{fffd}")));
    assert_eq!(message.get("after"), Ok(ValueRef::UInt(7)));
}

#[test]
fn message_has_bytes_in_each_encoding() {
    let schema =
        schema("a/L", &["uint8 a\ntime t\nE e\nP[1] ps\nfloat64[] d", "a/E\n", "a/P\nint16 x"].join(RULE));
    let mut message = DynamicMessage::default_of(&schema).unwrap();
    message.set("a", 1).unwrap();
    message.set("t", Time { sec: 2, nanosec: 3 }).unwrap();
    message.set("ps[0].x", 4).unwrap();
    message.set("d", Array::F64(vec![0.0])).unwrap();
    let start = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0];
    let ros1 = [&[1, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 1, 0, 0, 0][..], &[0; 8]].concat();
    let xcdr1 = [&[0, 1, 0, 0][..], &start, &[4, 0, 1, 0, 0, 0, 0, 0, 0, 0], &[0; 8]].concat();
    let xcdr2 = [&[0, 7, 0, 0][..], &start, &[0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0], &[0; 8]].concat();
    assert_eq!(message.to_payload(Encoding::Ros1).unwrap(), ros1);
    for (encoding, expected) in [(Encoding::Xcdr1, xcdr1), (Encoding::Xcdr2, xcdr2)] {
        let payload = message.to_payload(encoding).unwrap();
        assert_eq!(payload, expected, "{encoding:?}");
        assert_eq!(DynamicMessage::decode_payload(&schema, &payload).as_ref(), Ok(&message));
        for len in 0..payload.len() {
            assert!(DynamicMessage::decode_payload(&schema, &payload[..len]).is_err(), "{encoding:?} {len}");
        }
    }
}

#[test]
fn wrong_length_header_is_refused() {
    let schema = schema("a/L", &["P[] ps\nstring[] texts", "a/P\nint32 x"].join(RULE));
    let payload = DynamicMessage::default_of(&schema).unwrap().to_payload(Encoding::Xcdr2).unwrap();
    for at in [4, 12] {
        let mut wrong = payload.clone();
        wrong[at] = 5;
        assert!(DynamicMessage::decode_payload(&schema, &wrong).is_err());
    }
}

#[test]
fn wstring_has_no_form_in_ros_2() {
    let schema = schema("a/L", &["P[] ps", "a/P\nwstring x"].join(RULE));
    let mut message = DynamicMessage::default_of(&schema).unwrap();
    let part = DynamicMessage::default_of(schema.parts[0].as_ref().unwrap()).unwrap();
    message.set("ps", Array::Message(vec![part])).unwrap();
    let error = message.to_payload(Encoding::Xcdr1).unwrap_err();
    assert_eq!((error.path(), error.kind()), ("ps.x", &DynamicErrorKind::NoForm(EncodeErrorKind::WideText)));
    let payload = [0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let error = DynamicMessage::decode_payload(&schema, &payload).unwrap_err();
    assert_eq!(
        (error.path(), error.kind()),
        ("ps[0].x", &DynamicErrorKind::NoForm(EncodeErrorKind::WideText))
    );
}

#[test]
fn count_beyond_message_is_refused_before_allocation() {
    let schema = schema("a/L", &["P[] ps", "a/P\nint32 x"].join(RULE));
    let error = DynamicMessage::decode(&schema, &[0xff, 0xff, 0xff, 0xff, 1]).unwrap_err();
    assert_eq!(error.to_string(), "field ps: 4294967295 elements claimed, but only 1 bytes left");
    let error = DynamicMessage::decode(&schema, &[2, 0, 0, 0, 1, 0, 0, 0]).unwrap_err();
    assert_eq!(error.path(), "ps[1].x");
}

#[test]
fn elements_without_bytes_are_counted() {
    let schema = schema("a/L", &["E[] es", "a/E\n"].join(RULE));
    let decode = |count: u32| DynamicMessage::decode(&schema, &count.to_le_bytes());
    assert!(decode(65_536).unwrap().get("es[65535]").is_ok());
    assert!(decode(65_537).is_err());
}

#[test]
fn fixed_array_may_hold_empty_elements() {
    let schema = schema("a/L", &["E[65537] es", "a/E\n"].join(RULE));
    let message = DynamicMessage::default_of(&schema).unwrap();
    assert_eq!(DynamicMessage::decode(&schema, &message.to_bytes()), Ok(message));
}

#[test]
fn texts_without_bytes_count_as_memory() {
    let empty_texts = |count: u32| [&count.to_le_bytes()[..], &vec![0; 4 * count as usize]].concat();
    let texts = schema("a/T", "string[] texts");
    assert!(DynamicMessage::decode(&texts, &empty_texts(1 << 20)).is_ok());
    let error = DynamicMessage::decode(&texts, &empty_texts(16 << 20)).unwrap_err();
    assert_eq!((error.path(), error.kind()), ("texts", &DynamicErrorKind::TooLarge));
    let two = schema("a/T", "string[<=2] texts");
    let error = DynamicMessage::decode(&two, &empty_texts(16 << 20)).unwrap_err();
    assert_eq!(*error.kind(), DynamicErrorKind::BeyondBound { len: 16 << 20, bound: 2 });
}

fn joined(fields: Vec<Field>, parts: Vec<Option<Arc<Schema>>>) -> Arc<Schema> {
    let name = TypeName::new("a", "T");
    let def = crate::schema::MessageDef {
        name,
        ros2_name: String::new(),
        constants: Vec::new(),
        fields,
        text: String::new(),
    };
    Arc::new(Schema {
        generation: Generation::Ros1,
        def,
        parts,
        md5: String::new(),
        full_text: String::new(),
    })
}

fn fixed(element: Element, count: usize) -> Field {
    Field { name: "t".into(), element, arity: Arity::Fixed(count), default: None, spelling: "T".into() }
}

/// Messages nested `levels` deep, each with `fan` nested ones.
fn tower(levels: usize, fan: usize) -> Arc<Schema> {
    let mut top = joined(Vec::new(), Vec::new());
    for _ in 0..levels {
        top = joined(vec![fixed(Element::Message(TypeName::new("a", "T")), fan)], vec![Some(top)]);
    }
    top
}

#[test]
fn schema_beyond_memory_limit_is_refused() {
    let explosion = tower(30, 6000);
    assert_eq!(*DynamicMessage::default_of(&explosion).unwrap_err().kind(), DynamicErrorKind::TooLarge);
    assert_eq!(*DynamicMessage::decode(&explosion, &[]).unwrap_err().kind(), DynamicErrorKind::TooLarge);
    let deep = tower(MAX_MESSAGE_DEPTH, 1);
    assert_eq!(*DynamicMessage::default_of(&deep).unwrap_err().kind(), DynamicErrorKind::TooDeep);
    assert_eq!(*DynamicMessage::decode(&deep, &[]).unwrap_err().kind(), DynamicErrorKind::TooDeep);
    let wide = joined(vec![fixed(Element::Primitive(Primitive::F64), 1 << 30)], vec![None]);
    assert_eq!(*DynamicMessage::default_of(&wide).unwrap_err().kind(), DynamicErrorKind::TooLarge);
    assert!(DynamicMessage::decode(&wide, &[0; 100]).is_err());
    assert!(DynamicMessage::default_of(&tower(MAX_MESSAGE_DEPTH - 1, 1)).is_ok());
}

#[test]
fn defaults_that_a_definition_gives_count_as_memory() {
    let text = "x".repeat(4096);
    for given in [format!("string s \"{text}\""), format!("string[] s [\"{text}\"]")] {
        let many =
            |count: usize| schema("a/L", &[format!("P[{count}] ps"), format!("a/P\n{given}")].join(RULE));
        assert!(DynamicMessage::default_of(&many(10)).is_ok());
        let error = DynamicMessage::default_of(&many(MAX_MEMORY / text.len())).unwrap_err();
        assert_eq!(*error.kind(), DynamicErrorKind::TooLarge);
        let error = from_yaml(&many(MAX_MEMORY / text.len()), "{}", Time::default()).unwrap_err();
        assert_eq!(*error.kind(), YamlErrorKind::Message(DynamicErrorKind::TooLarge));
    }
}

#[test]
fn numbers_that_a_definition_gives_count_as_memory() {
    let mut budget = Budget::new();
    let numbers = Value::from(Array::I64(vec![0; MAX_MEMORY / 16 + 1]));
    assert_eq!(budget.take_held(&numbers), Ok(()));
    assert_eq!(budget.take_held(&numbers), Err(DynamicErrorKind::TooLarge));
    assert_eq!(budget.take_held(&Value::Int(1)), Ok(()));
}

#[test]
fn defaults_and_bounds_of_ros_2_definitions_hold() {
    let schema = schema(
        "a/D",
        "int32 n 5\nstring<=3 s \"ab\"\nfloat64[<=2] f [1.5, 2]\nuint8[2] u [1, 2]\nbool b true",
    );
    let mut message = DynamicMessage::default_of(&schema).unwrap();
    assert_eq!(message.get("n"), Ok(ValueRef::Int(5)));
    assert_eq!(message.get("s"), Ok(ValueRef::String("ab")));
    assert_eq!(message.field("f"), Some(&Value::Array(Array::F64(vec![1.5, 2.0]))));
    assert_eq!(message.field("u"), Some(&Value::Array(Array::U8(vec![1, 2]))));
    assert_eq!(message.get("b"), Ok(ValueRef::Bool(true)));
    let error = message.set("s", "four").unwrap_err();
    assert_eq!(error.to_string(), "field s: length 4, where 3 is the most allowed");
    assert!(message.set("f", Array::F64(vec![0.0; 3])).is_err());
    let mut bytes = encode(&5i32);
    bytes.extend(encode(&String::from("four")));
    assert_eq!(DynamicMessage::decode(&schema, &bytes).unwrap_err().path(), "s");
}

#[test]
fn message_of_other_type_is_refused() {
    let mut message = DynamicMessage::default_of(&pose_stamped()).unwrap();
    let other = DynamicMessage::default_of(&everything()).unwrap();
    let error = message.set("pose.position", other).unwrap_err();
    assert_eq!(error.to_string(), "field pose.position: expected geometry_msgs/Point, found a/X");
    let Ok(ValueRef::Message(point)) = message.get("pose.position") else { panic!("no point") };
    let mut point = point.clone();
    point.set("x", 4).unwrap();
    message.set("pose.position", point).unwrap();
    assert_eq!(message.get("pose.position.x").unwrap().as_f64(), Some(4.0));
}

#[test]
fn names_of_types_are_those_of_definitions() {
    assert_eq!(element_name(&Element::Primitive(Primitive::F32), Arity::Bounded(3)), "float32[<=3]");
    assert_eq!(element_name(&Element::Message(TypeName::new("a", "B")), Arity::Fixed(2)), "a/B[2]");
    assert_eq!(element_name(&Element::Primitive(Primitive::WString(None)), Arity::One), "wstring");
}
