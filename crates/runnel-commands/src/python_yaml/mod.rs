//! Messages as ros2 prints them: YAML as PyYAML writes it, lines of CSV, and messages and values as Python's `repr` and
//! `str` print them.

mod csv;
mod dump;
mod python_repr;

use runnel::core::dynamic::{Array, DynamicMessage, Value, ValueRef};
use runnel::core::schema::{Arity, Element, Field, Generation, Primitive};
use runnel::core::yaml::{python_float, value_to_json, yaml_float};
use serde_json::Value as Json;

pub use csv::to_csv;
pub use dump::Tree;
pub use python_repr::python_repr;

/// How much of a message is printed, and how.
#[derive(Clone, Copy, Debug)]
pub struct PrintOptions {
    /// The generation whose names the parts of times have.
    pub generation: Generation,
    /// Most elements of an array and characters of a text.
    pub truncate: Option<usize>,
    /// Leave out the elements of arrays.
    pub no_arr: bool,
    /// Leave out texts.
    pub no_str: bool,
}

/// All, in ROS 2.
impl Default for PrintOptions {
    fn default() -> Self {
        Self { generation: Generation::Ros2, truncate: None, no_arr: false, no_str: false }
    }
}

/// A message as a document.
pub fn tree(message: &DynamicMessage, options: PrintOptions) -> Tree {
    let member = |(field, value): (&Field, &Value)| {
        let value = match value.view() {
            ValueRef::Array(array) if options.no_arr => Tree::Text(array_type(field, array)),
            value => part_tree(value, is_byte(field), options),
        };
        (field.name.clone(), value)
    };
    Tree::Map(message.fields().map(member).collect())
}

/// A part of a message as a document.
pub fn value_tree(value: ValueRef<'_>, options: PrintOptions) -> Tree {
    part_tree(value, false, options)
}

/// The same. Bytes are texts in Python.
fn part_tree(value: ValueRef<'_>, is_byte: bool, options: PrintOptions) -> Tree {
    match value {
        ValueRef::Bool(truth) => Tree::Plain(truth.to_string()),
        ValueRef::Int(number) if is_byte => Tree::Text(byte_char(number).into()),
        ValueRef::Int(number) => Tree::Plain(number.to_string()),
        ValueRef::UInt(number) => Tree::Plain(number.to_string()),
        ValueRef::F32(number) => Tree::Plain(yaml_float(number.into())),
        ValueRef::F64(number) => Tree::Plain(yaml_float(number)),
        ValueRef::String(text) => Tree::Text(shortened(text, options)),
        ValueRef::Time(_) | ValueRef::Duration(_) => {
            let parts = seconds(value, options.generation).into_iter();
            Tree::Map(parts.map(|(name, number)| (name, Tree::Plain(number))).collect())
        }
        ValueRef::Message(message) => tree(message, options),
        ValueRef::Array(array) => {
            let most = options.truncate.unwrap_or(usize::MAX);
            let shown = array.iter().take(most).map(|item| part_tree(item, is_byte, options));
            let rest = (array.len() > most).then(|| Tree::Text("...".into()));
            Tree::List(shown.chain(rest).collect())
        }
    }
}

/// Names and values of a time's parts.
fn seconds(value: ValueRef<'_>, generation: Generation) -> Vec<(String, String)> {
    match value_to_json(generation, value) {
        Json::Object(parts) => parts.into_iter().map(|(name, number)| (name, number.to_string())).collect(),
        _ => Vec::new(),
    }
}

fn shortened(text: &str, options: PrintOptions) -> String {
    let length = text.chars().count();
    match options.truncate {
        _ if options.no_str => format!("<string length: <{length}>>"),
        Some(most) if length > most => text.chars().take(most).chain("...".chars()).collect(),
        _ => text.to_owned(),
    }
}

fn is_byte(field: &Field) -> bool {
    field.spelling.starts_with("byte")
}

fn byte_char(number: i64) -> char {
    char::from(number.to_le_bytes()[0])
}

/// What stands for an array whose elements are left out.
fn array_type(field: &Field, array: &Array) -> String {
    let (element, length) = (element_type(field), array.len());
    match field.arity {
        Arity::Fixed(count) => format!("<array type: {element}[{count}]>"),
        Arity::Bounded(most) => format!("<sequence type: {element}[{most}], length: {length}>"),
        Arity::One | Arity::Unbounded => format!("<sequence type: {element}, length: {length}>"),
    }
}

/// The type of an element, as IDL spells it.
fn element_type(field: &Field) -> String {
    let primitive = match &field.element {
        Element::Message(name) => return format!("{}/msg/{}", name.package, name.name),
        Element::Primitive(primitive) => primitive,
    };
    let name = match primitive {
        Primitive::I8 if is_byte(field) => "octet",
        Primitive::Bool => "boolean",
        Primitive::I8 => "int8",
        Primitive::U8 => "uint8",
        Primitive::I16 => "int16",
        Primitive::U16 => "uint16",
        Primitive::I32 => "int32",
        Primitive::U32 => "uint32",
        Primitive::I64 => "int64",
        Primitive::U64 => "uint64",
        Primitive::F32 => "float",
        Primitive::F64 => "double",
        Primitive::Time => "builtin_interfaces/msg/Time",
        Primitive::Duration => "builtin_interfaces/msg/Duration",
        Primitive::String(_) => "string",
        Primitive::WString(_) => "wstring",
    };
    name.to_owned()
}

/// A value that is no message as Python's `str` prints it.
pub fn python_text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Bool(true) => "True".to_owned(),
        ValueRef::Bool(false) => "False".to_owned(),
        ValueRef::Int(number) => number.to_string(),
        ValueRef::UInt(number) => number.to_string(),
        ValueRef::F32(number) => python_float(number.into()),
        ValueRef::F64(number) => python_float(number),
        ValueRef::String(text) => text.to_owned(),
        ValueRef::Array(array) => array_text(array),
        ValueRef::Message(message) => python_repr(message),
        ValueRef::Time(_) | ValueRef::Duration(_) => {
            let parts = seconds(value, Generation::Ros2);
            parts.iter().map(|(name, number)| format!("{name}: {number}\n")).collect()
        }
    }
}

/// Numbers are an `array.array` in Python, anything else a list.
fn array_text(array: &Array) -> String {
    let code = match array {
        Array::I8(_) => Some('b'),
        Array::U8(_) => Some('B'),
        Array::I16(_) => Some('h'),
        Array::U16(_) => Some('H'),
        Array::I32(_) => Some('i'),
        Array::U32(_) => Some('I'),
        Array::I64(_) => Some('q'),
        Array::U64(_) => Some('Q'),
        Array::F32(_) => Some('f'),
        Array::F64(_) => Some('d'),
        _ => None,
    };
    let item = |item: ValueRef<'_>| match item {
        ValueRef::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        item => python_text(item),
    };
    let items = format!("[{}]", array.iter().map(item).collect::<Vec<_>>().join(", "));
    match code {
        Some(code) if array.is_empty() => format!("array('{code}')"),
        Some(code) => format!("array('{code}', {items})"),
        None => items,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel::core::schema::{Kind, Library, Schema, TypeName};
    use runnel::core::yaml::from_yaml;
    use std::sync::Arc;

    const DEFINITION: &str = "std_msgs/Header header\nfloat32 f\nbyte b\nbyte[] bs\nfloat64[2] two\nstring[<=3] names\n\
        bool ok\nuint8[] data\n\n\
        ================================================================================\n\
        MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n";

    pub fn message() -> DynamicMessage {
        let name = TypeName::new("p", "All");
        let schema: Arc<Schema> =
            Schema::from_full_text_in(Generation::Ros2, &name, DEFINITION).expect("sound");
        let text = "{header: {stamp: {sec: 1, nanosec: 2}, frame_id: map}, f: 0.1, b: 5, bs: [1], two: [1, 2], \
                    names: [a, bcdefg], ok: true, data: [1, 2, 3]}";
        from_yaml(&schema, text, runnel::Time::default()).expect("sound")
    }

    /// As rosidl_runtime_py writes these.
    #[test]
    fn message_reads_as_in_ros2() {
        let all = tree(&message(), PrintOptions::default()).block();
        let expected = "header:\n  stamp:\n    sec: 1\n    nanosec: 2\n  frame_id: map\nf: 0.10000000149011612\n\
                        b: \"\\x05\"\nbs:\n- \"\\x01\"\ntwo:\n- 1.0\n- 2.0\nnames:\n- a\n- bcdefg\nok: true\ndata:\n- 1\n\
                        - 2\n- 3\n";
        assert_eq!(all, expected);
        let short = tree(&message(), PrintOptions { truncate: Some(2), ..PrintOptions::default() });
        let short = short.block_with_flow_lists();
        let expected = "header:\n  stamp:\n    sec: 1\n    nanosec: 2\n  frame_id: ma...\nf: 0.10000000149011612\n\
                        b: \"\\x05\"\nbs: [\"\\x01\"]\ntwo: [1.0, 2.0]\nnames: [a, bc...]\nok: true\ndata: [1, 2, '...']\n";
        assert_eq!(short, expected);
        let bare =
            tree(&message(), PrintOptions { no_arr: true, no_str: true, ..PrintOptions::default() }).block();
        for line in [
            "  frame_id: '<string length: <3>>'\n",
            "bs: '<sequence type: octet, length: 1>'\n",
            "two: '<array type: double[2]>'\n",
            "names: '<sequence type: string[3], length: 2>'\n",
            "data: '<sequence type: uint8, length: 3>'\n",
        ] {
            assert!(bare.contains(line), "{line}{bare}");
        }
    }

    /// As printed by rosidl_runtime_py of Kilted.
    #[test]
    fn empty_and_nested_parts_read_as_in_ros2() {
        let text = "bool a\nbyte b\nfloat32 c\nstring d\nint32[] e\np/Part[] f\np/Part g\np/Empty h\n\
                    builtin_interfaces/Time i\nuint8[2] j\nstring[] k\n";
        let mut library = Library::new();
        for (name, text) in [("Whole", text), ("Part", "int8 x\nstring y\n"), ("Empty", "")] {
            library.add_text(Kind::Message, TypeName::new("p", name), text, name);
        }
        let schema = library.message_in(Generation::Ros2, &TypeName::new("p", "Whole")).expect("a good text");
        let values = "{a: true, b: 65, c: 0.1, d: '5', e: [1, 2], f: [{x: 1, y: z}, {}], g: {y: 'a: b'}, \
                      i: {sec: 1, nanosec: 2}, k: ['', é]}";
        let message = from_yaml(&schema, values, runnel::Time::default()).expect("good values");
        let expected = "a: true\nb: A\nc: 0.10000000149011612\nd: '5'\ne:\n- 1\n- 2\nf:\n- x: 1\n  y: z\n- x: 0\n  y: ''\n\
                        g:\n  x: 0\n  y: 'a: b'\nh: {}\ni:\n  sec: 1\n  nanosec: 2\nj:\n- 0\n- 0\nk:\n- ''\n- é\n";
        assert_eq!(tree(&message, PrintOptions::default()).block(), expected);
    }

    #[test]
    fn single_values_read_as_in_python() {
        let message = message();
        let text = |path: &str| python_text(message.get(path).expect("it is there"));
        assert_eq!(["header.frame_id", "ok", "f"].map(text), ["map", "True", "0.10000000149011612"]);
        assert_eq!(text("data"), "array('B', [1, 2, 3])");
        assert_eq!(text("names"), "['a', 'bcdefg']");
        assert_eq!(text("header.stamp"), "sec: 1\nnanosec: 2\n");
    }
}
