use super::super::types::{Arity, Element, Literal, Primitive};
use super::*;
use proptest::prelude::*;

fn name() -> TypeName {
    TypeName::new("pkg", "Foo")
}

fn message(text: &str) -> MessageDef {
    parse_message(&name(), text, "Foo.msg").unwrap()
}

fn error(text: &str) -> String {
    parse_message(&name(), text, "Foo.msg").unwrap_err().to_string()
}

/// Element and arity of a type.
fn parsed_type(spelling: &str) -> (Element, Arity) {
    let def = message(&format!("{spelling} x"));
    let field = def.fields.into_iter().next().unwrap();
    assert_eq!((field.name.as_str(), field.spelling.as_str()), ("x", spelling));
    (field.element, field.arity)
}

fn other(package: &str, name: &str) -> Element {
    Element::Message(TypeName::new(package, name))
}

/// The value of a constant with this type and text.
fn constant(type_name: &str, text: &str) -> Literal {
    let def = message(&format!("{type_name} X={text}"));
    let constant = def.constants.into_iter().next().unwrap();
    assert_eq!(constant.name, "X");
    constant.value
}

fn default(type_name: &str, text: &str) -> Literal {
    let def = message(&format!("{type_name} x {text}"));
    def.fields.into_iter().next().unwrap().default.unwrap()
}

#[test]
fn primitives_are_known_by_both_generations_names() {
    for (spelling, primitive) in [
        ("bool", Primitive::Bool),
        ("int8", Primitive::I8),
        ("byte", Primitive::I8),
        ("uint8", Primitive::U8),
        ("char", Primitive::U8),
        ("int16", Primitive::I16),
        ("uint16", Primitive::U16),
        ("int32", Primitive::I32),
        ("uint32", Primitive::U32),
        ("int64", Primitive::I64),
        ("uint64", Primitive::U64),
        ("float32", Primitive::F32),
        ("float64", Primitive::F64),
        ("time", Primitive::Time),
        ("builtin_interfaces/Time", Primitive::Time),
        ("duration", Primitive::Duration),
        ("builtin_interfaces/msg/Duration", Primitive::Duration),
        ("string", Primitive::String(None)),
        ("string<=10", Primitive::String(Some(10))),
        ("wstring", Primitive::WString(None)),
        ("wstring<=5", Primitive::WString(Some(5))),
    ] {
        assert_eq!(parsed_type(spelling), (Element::Primitive(primitive), Arity::One), "{spelling}");
    }
}

#[test]
fn messages_are_found_in_the_package_that_is_meant() {
    assert_eq!(parsed_type("Bar"), (other("pkg", "Bar"), Arity::One));
    assert_eq!(parsed_type("Header"), (other("std_msgs", "Header"), Arity::One));
    assert_eq!(parsed_type("a/Header"), (other("a", "Header"), Arity::One));
    assert_eq!(parsed_type("geometry_msgs/Point[]"), (other("geometry_msgs", "Point"), Arity::Unbounded));
    assert_eq!(parsed_type("geometry_msgs/msg/Point[2]"), (other("geometry_msgs", "Point"), Arity::Fixed(2)));
}

#[test]
fn arrays_have_every_kind_of_size() {
    let byte = || Element::Primitive(Primitive::U8);
    assert_eq!(parsed_type("uint8[]"), (byte(), Arity::Unbounded));
    assert_eq!(parsed_type("uint8[16777216]"), (byte(), Arity::Fixed(1 << 24)));
    assert_eq!(parsed_type("uint8[<=3]"), (byte(), Arity::Bounded(3)));
    let text = Element::Primitive(Primitive::String(Some(4)));
    assert_eq!(parsed_type("string<=4[<=3]"), (text, Arity::Bounded(3)));
}

#[test]
fn constants_have_the_value_of_their_type() {
    assert_eq!(constant("int8", "-128"), Literal::Int(-128));
    assert_eq!(constant("uint64", "18446744073709551615"), Literal::Int(u64::MAX.into()));
    assert_eq!(constant("int64", "-9223372036854775808"), Literal::Int(i64::MIN.into()));
    assert_eq!(constant("uint16", " 0xFF # hex"), Literal::Int(255));
    assert_eq!(constant("int32", "-0b101"), Literal::Int(-5));
    assert_eq!(constant("byte", "255"), Literal::Int(-1));
    assert_eq!(constant("char", "255"), Literal::Int(255));
    assert_eq!(constant("bool", "True"), Literal::Bool(true));
    assert_eq!(constant("bool", "0"), Literal::Bool(false));
    assert_eq!(constant("float32", "-1.5e3"), Literal::Float(-1500.0));
    assert_eq!(constant("float64", "inf"), Literal::Float(f64::INFINITY));
}

#[test]
fn string_constant_takes_the_rest_of_the_line() {
    assert_eq!(constant("string", " a # b = c "), Literal::Text("a # b = c".into()));
    assert_eq!(constant("string", ""), Literal::Text(String::new()));
    assert_eq!(constant("string", "\"a # b\"  # c"), Literal::Text("a # b".into()));
    assert_eq!(constant("string", "'it\\'s'"), Literal::Text("it's".into()));
    assert_eq!(constant("string", "\"a\" and \"b\""), Literal::Text("\"a\" and \"b\"".into()));
    assert_eq!(message("string X= \"a\" # c").constants[0].text, "\"a\" # c");
}

#[test]
fn defaults_have_the_value_of_their_type() {
    assert_eq!(default("int32", "5 # five"), Literal::Int(5));
    assert_eq!(default("string", "\"a # b\" # c"), Literal::Text("a # b".into()));
    assert_eq!(default("string", "bare # c"), Literal::Text("bare".into()));
    let list = Literal::List(vec![Literal::Int(1), Literal::Int(-2)]);
    assert_eq!(default("int32[]", "[1, -2]"), list);
    assert_eq!(default("int8[2]", "[ 1 ,-2 ]#"), list);
    assert_eq!(default("string[<=3]", "[]"), Literal::List(vec![]));
    let texts = Literal::List(vec![Literal::Text("a, b]".into()), Literal::Text("c".into())]);
    assert_eq!(default("string[]", "['a, b]', c]"), texts);
}

#[test]
fn line_ends_tabs_byte_order_marks_and_comments_are_ignored() {
    let def = message("\u{feff}# c\r\n\r\n\tint32\t x#c\r\n  int32 X = 1 \r\nint32 y");
    let names: Vec<&str> = def.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!((names, def.constants.len()), (vec!["x", "y"], 1));
    assert_eq!(def.text, "# c\n\n\tint32\t x#c\n  int32 X = 1 \nint32 y");
}

#[test]
fn empty_file_is_empty_message() {
    assert_eq!(message("").fields, []);
    assert_eq!(message("\n # nothing\n").fields, []);
}

#[test]
fn field_and_constant_may_share_name() {
    let def = message("int8 a=1\nint8 a");
    assert_eq!((def.constants.len(), def.fields.len()), (1, 1));
}

#[test]
fn errors_name_place_and_reason() {
    for (text, expected) in [
        ("int32", "Foo.msg:1:6: expected a field name, found the end of the line"),
        ("int32 # x", "Foo.msg:1:7: expected a field name, found the end of the line"),
        ("\nint32 x\n  int32 9x", "Foo.msg:3:9: expected a field name, found \"9x\""),
        ("int32 \u{e4}", "Foo.msg:1:7: expected a field name, found \"\u{e4}\""),
        ("\u{e4}nt32 x", "Foo.msg:1:1: expected a type, found \"\u{e4}nt32\""),
        ("pkg//Foo x", "Foo.msg:1:1: expected a type, found \"pkg//Foo\""),
        ("---", "Foo.msg:1:1: expected a type, found \"---\""),
        ("int32<=5 x", "Foo.msg:1:6: expected no bound (only strings have one), found \"<=5\""),
        ("string<5 x", "Foo.msg:1:7: expected a space, found \"<5\""),
        ("string<=x y", "Foo.msg:1:9: expected a size of at most 16777216, found \"x\""),
        ("int8[16777217] x", "Foo.msg:1:6: expected a size of at most 16777216, found \"16777217]\""),
        (
            "int8[99999999999999999999999] x",
            "Foo.msg:1:6: expected a size of at most 16777216, found \"99999999999999999999999]\"",
        ),
        ("int8[-1] x", "Foo.msg:1:6: expected a size of at most 16777216, found \"-1]\""),
        ("int8[<=] x", "Foo.msg:1:8: expected a size of at most 16777216, found \"]\""),
        ("int8[3 x", "Foo.msg:1:7: expected \"]\", found \"x\""),
        ("int8[][] x", "Foo.msg:1:7: expected a space, found \"[]\""),
        ("uint8 X=256", "Foo.msg:1:9: expected an integer from 0 to 255, found \"256\""),
        ("int8 X=128", "Foo.msg:1:8: expected an integer from -128 to 127, found \"128\""),
        ("int8 X= --1", "Foo.msg:1:9: expected an integer from -128 to 127, found \"--1\""),
        ("uint64 X=-1", "Foo.msg:1:10: expected an integer from 0 to 18446744073709551615, found \"-1\""),
        (
            "int32 X=",
            "Foo.msg:1:9: expected an integer from -2147483648 to 2147483647, found the end of the line",
        ),
        ("bool X=yes", "Foo.msg:1:8: expected true, false, 1 or 0, found \"yes\""),
        ("float64 X=1,5", "Foo.msg:1:11: expected a number, found \"1,5\""),
        ("float32 X=1e39", "Foo.msg:1:11: expected a number within the range of float32, found \"1e39\""),
        ("string<=2 X=abc", "Foo.msg:1:13: expected at most 2 bytes, found \"abc\""),
        ("wstring<=1 x \"ab\"", "Foo.msg:1:14: expected at most 1 UTF-16 units, found \"\\\"ab\\\"\""),
        ("  time X=1", "Foo.msg:1:3: expected a number type, bool or string for a constant, found \"time\""),
        (
            "int8[] X=1",
            "Foo.msg:1:1: expected a number type, bool or string for a constant, found \"int8[]\"",
        ),
        ("Bar X=1", "Foo.msg:1:1: expected a number type, bool or string for a constant, found \"Bar\""),
        ("int8 X-Y=1", "Foo.msg:1:6: expected a constant name, found \"X-Y=1\""),
        ("int8 x y", "Foo.msg:1:8: expected an integer from -128 to 127, found \"y\""),
        ("string x \"a\" b", "Foo.msg:1:14: expected the end of the line, found \"b\""),
        ("Bar x 1", "Foo.msg:1:7: expected the end of the line (a message has no default), found \"1\""),
        ("time x 1", "Foo.msg:1:8: expected the end of the line (a time has no default), found \"1\""),
        ("int8[] x 1", "Foo.msg:1:10: expected \"[\" and a list of values, found \"1\""),
        ("int8[] x [1 2]", "Foo.msg:1:11: expected an integer from -128 to 127, found \"1\""),
        ("int8[] x [1", "Foo.msg:1:12: expected \",\" or \"]\", found the end of the line"),
        ("string[] x ['a' 'b']", "Foo.msg:1:17: expected \",\" or \"]\", found \"'b']\""),
        (
            "int8[3] x [1]",
            "Foo.msg:1:14: expected as many values as the array has, found the end of the line",
        ),
        (
            "int8[<=1] x [1,2]",
            "Foo.msg:1:18: expected as many values as the array has, found the end of the line",
        ),
        ("int8 a\nint16 a", "Foo.msg:2:7: expected a new field name, found \"a\""),
        ("int8 A=1\nint8 A=1", "Foo.msg:2:6: expected a new constant name, found \"A=1\""),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn sizes_are_limited() {
    let long = format!("int8 {}", "x".repeat(255));
    assert_eq!(message(&long).fields.len(), 1);
    assert!(error(&format!("{long}x")).ends_with(&format!("found \"{}\"", "x".repeat(60))));
    let large = "#".repeat(MAX_FILE_LEN + 1);
    assert_eq!(error(&large), "Foo.msg:1:1: expected at most 1048576 bytes, found \"1048577 bytes\"");
    let many: String = (0..=MAX_DECLARATIONS).map(|index| format!("int8 x{index}\n")).collect();
    assert!(error(&many).starts_with("Foo.msg:10001:6: expected at most 10000 fields and constants"));
}

#[test]
fn service_has_two_parts() {
    let def = parse_service(&name(), "int8 a\n---\nint8 b\n", "Foo.srv").unwrap();
    assert_eq!(
        (def.request.name, def.response.name),
        (TypeName::new("pkg", "FooRequest"), TypeName::new("pkg", "FooResponse"))
    );
    assert_eq!((def.request.text.as_str(), def.response.text.as_str()), ("int8 a\n", "int8 b\n\n"));
    let empty = parse_service(&name(), "---", "Foo.srv").unwrap();
    assert_eq!((empty.request.fields, empty.response.fields), (vec![], vec![]));
}

#[test]
fn action_has_three_parts() {
    let def = parse_action(&name(), "int8 a\n---\r\nint8 b\n---\nint8 c", "Foo.action").unwrap();
    let names = [def.goal, def.result, def.feedback].map(|part| part.fields[0].name.clone());
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn errors_in_parts_count_lines_from_the_top() {
    let service = |text| parse_service(&name(), text, "Foo.srv").unwrap_err().to_string();
    assert_eq!(service("int8 a\n---\nint8 b\n?"), "Foo.srv:4:1: expected a type, found \"?\"");
    assert_eq!(service("---\n---"), "Foo.srv:2:1: expected at most 1 separators, found \"---\"");
    assert_eq!(service("int8 a\n"), "Foo.srv:2:1: expected a separator \"---\", found the end of the line");
    let action = parse_action(&name(), "---\nint8 a", "Foo.action").unwrap_err().to_string();
    assert_eq!(action, "Foo.action:2:1: expected a separator \"---\", found the end of the line");
}

proptest! {
    #[test]
    fn random_text_never_panics(text in any::<String>()) {
        let _ = parse_message(&name(), &text, "Foo.msg");
        let _ = parse_service(&name(), &text, "Foo.srv");
        let _ = parse_action(&name(), &text, "Foo.action");
    }

    #[test]
    fn definition_like_text_never_panics(
        text in r#"((int8|string|wstring|bool|float32|Bar|a/b|time)(<=?[0-9]{0,2})?(\[(<=)?[0-9]?\]?)? [a-zä_=]{0,3}( ?=| )['"\\\[\],#0-9a-ü-]{0,9}\n?(---\n)?){0,4}"#
    ) {
        let _ = parse_message(&name(), &text, "Foo.msg");
        let _ = parse_service(&name(), &text, "Foo.srv");
    }

    #[test]
    fn every_whole_number_is_read_as_it_is_written(value in any::<i64>()) {
        prop_assert_eq!(constant("int64", &value.to_string()), Literal::Int(value.into()));
    }
}
