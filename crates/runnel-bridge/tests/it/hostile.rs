//! Bytes of faulty and hostile peers.

use runnel_bridge::{CompileError, ConvertErrorKind, Plan, Rules};
use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::{Generation, Kind, Library, TypeName};
use runnel_core::wire::{Bytes, DecodeErrorKind, Encoding};

fn plans(text: &str) -> [Plan; 2] {
    let name = TypeName::new("a", "B");
    let mut library = Library::new();
    library.add_text(Kind::Message, TypeName::new("a", "E"), "", "E.msg");
    library.add_text(Kind::Message, name.clone(), text.to_owned(), "B.msg");
    let [ros1, ros2] = Generation::ALL.map(|of| library.message_in(of, &name).unwrap());
    [(&ros1, &ros2), (&ros2, &ros1)].map(|(from, to)| Plan::compile(from, to, &Rules::none()).unwrap())
}

fn kind(plan: &Plan, bytes: &[u8], encoding: Encoding) -> ConvertErrorKind {
    plan.convert(Bytes::from(bytes), encoding, &mut Vec::new()).unwrap_err().kind().clone()
}

#[test]
fn every_truncated_message_is_refused() {
    let library = runnel_msgs::library();
    for name in
        ["sensor_msgs/Imu", "visualization_msgs/Marker", "nav_msgs/Path", "diagnostic_msgs/DiagnosticArray"]
    {
        let name = TypeName::parse(name).unwrap();
        let [ros1, ros2] = Generation::ALL.map(|of| library.message_in(of, &name).unwrap());
        let plan = Plan::compile(&ros1, &ros2, &Rules::default()).unwrap();
        let whole = DynamicMessage::default_of(&ros1).unwrap().to_bytes();
        for len in 0..whole.len() {
            assert!(plan.convert(Bytes::from(&whole[..len]), Encoding::Ros1, &mut Vec::new()).is_err());
        }
        let longer = [&whole[..], &[0]].concat();
        assert!(plan.convert(Bytes::from(&longer), Encoding::Ros1, &mut Vec::new()).is_err());
    }
}

#[test]
fn false_count_reserves_no_memory() {
    let claim = [0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4];
    for text in ["uint8[] a", "float64[] a", "string a", "string[] a", "E[] a", "time[] a", "bool[] a"] {
        let [to_ros2, _] = plans(text);
        let mut out = Vec::new();
        assert!(to_ros2.convert(Bytes::from(&claim), Encoding::Ros1, &mut out).is_err(), "{text}");
        assert!(out.capacity() < 1 << 20, "{text}");
    }
}

#[test]
fn false_truth_value_is_refused() {
    for text in ["bool a", "bool[1] a", "int8 x\nbool a"] {
        let [to_ros2, _] = plans(text);
        let bytes: &[u8] = if text.starts_with("int8") { &[1, 7] } else { &[7] };
        let refused = ConvertErrorKind::Bytes(DecodeErrorKind::NotABool { byte: 7 });
        assert_eq!(kind(&to_ros2, bytes, Encoding::Ros1), refused);
    }
    let [to_ros2, _] = plans("bool[] a");
    let error = to_ros2.convert(Bytes::from(&[1, 0, 0, 0, 7]), Encoding::Ros1, &mut Vec::new()).unwrap_err();
    assert_eq!(error.path(), "a");
}

#[test]
fn length_beyond_bound_is_refused() {
    let two = [2, 0, 0, 0, b'x', b'y'];
    for text in ["string<=1 a", "uint8[<=1] a"] {
        let [to_ros2, _] = plans(text);
        assert_eq!(kind(&to_ros2, &two, Encoding::Ros1), ConvertErrorKind::BeyondBound { len: 2 }, "{text}");
    }
}

#[test]
fn unknown_encapsulation_is_refused() {
    let [_, to_ros1] = plans("int32 a");
    let identifier = 0x0100;
    let refused = ConvertErrorKind::Bytes(DecodeErrorKind::UnknownEncapsulation { identifier });
    assert_eq!(kind(&to_ros1, &[1, 0, 0, 0, 1, 0, 0, 0], Encoding::Xcdr1), refused);
}

/// A definition from a peer that names its parts over and over.
#[test]
fn repeated_parts_take_bounded_work() {
    let mut library = Library::new();
    let mut add = |name: &str, text: String| {
        library.add_text(Kind::Message, TypeName::parse(name).unwrap(), text, "T.msg");
    };
    add("a/T0", "string text\nint8 x".into());
    for level in 1..50 {
        let part = format!("T{}", level - 1);
        add(&format!("a/T{level}"), format!("{part} a\n{part} b"));
    }
    let name = TypeName::new("a", "T49");
    let [ros1, ros2] = Generation::ALL.map(|of| library.message_in(of, &name).unwrap());
    assert!(Plan::compile(&ros1, &ros2, &Rules::none()).is_ok());
}

#[test]
fn wide_text_is_not_converted() {
    let name = TypeName::new("a", "B");
    let mut library = Library::new();
    library.add_text(Kind::Message, name.clone(), "wstring[] a", "B.msg");
    let [ros1, ros2] = Generation::ALL.map(|of| library.message_in(of, &name).unwrap());
    let error = Plan::compile(&ros1, &ros2, &Rules::none()).unwrap_err();
    assert_eq!(error, CompileError::WideText { field: "a".into() });
}
