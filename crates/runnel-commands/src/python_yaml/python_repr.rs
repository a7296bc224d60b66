//! Messages as Python's `repr` prints them, which ros2 does in `service call` and `topic pub`.

use runnel::core::dynamic::{Array, DynamicMessage, Value, ValueRef};
use runnel::core::schema::{Arity, Field};
use runnel::core::yaml::python_float;

/// The message as rosidl's Python classes print it: `std_msgs.msg.String(data='a')`.
pub fn python_repr(message: &DynamicMessage) -> String {
    let class = message.schema().def.ros2_name.replace('/', ".");
    let fields =
        message.fields().map(|(field, value)| format!("{}={}", field.name, field_text(field, value)));
    format!("{class}({})", fields.collect::<Vec<_>>().join(", "))
}

fn field_text(field: &Field, value: &Value) -> String {
    match value.view() {
        ValueRef::Array(array) if matches!(field.arity, Arity::Fixed(_)) => fixed_array(field, array),
        ValueRef::Array(array) => listed(array.iter().map(|item| item_text(field, item))),
        item => item_text(field, item),
    }
}

/// An array of fixed length: one of numbers is an array of NumPy.
fn fixed_array(field: &Field, array: &Array) -> String {
    let dtype = match array {
        Array::I8(_) if is_byte(field) => None,
        Array::I8(_) => Some(", dtype=int8"),
        Array::U8(_) => Some(", dtype=uint8"),
        Array::I16(_) => Some(", dtype=int16"),
        Array::U16(_) => Some(", dtype=uint16"),
        Array::I32(_) => Some(", dtype=int32"),
        Array::U32(_) => Some(", dtype=uint32"),
        Array::U64(_) => Some(", dtype=uint64"),
        Array::F32(_) => Some(", dtype=float32"),
        // The types that NumPy takes numbers for.
        Array::I64(_) | Array::F64(_) => Some(""),
        _ => None,
    };
    let Some(dtype) = dtype else {
        return listed(array.iter().map(|item| item_text(field, item)));
    };
    let items = array.iter().map(|item| match item {
        ValueRef::F32(number) => numpy_float(number.to_string()),
        ValueRef::F64(number) => numpy_float(number.to_string()),
        item => item_text(field, item),
    });
    format!("array({}{dtype})", listed(aligned(items.collect()).into_iter()))
}

/// A number with a point, and without a digit after it if it is whole.
fn numpy_float(text: String) -> String {
    match text.as_str() {
        "NaN" => "nan".to_owned(),
        short if short.contains(['.', 'i']) => text,
        _ => text + ".",
    }
}

/// Numbers aligned at their points, as NumPy prints them.
fn aligned(numbers: Vec<String>) -> Vec<String> {
    let point = |number: &String| number.find('.').unwrap_or(number.len());
    let before = numbers.iter().map(point).max().unwrap_or_default();
    let after = numbers.iter().map(|number| number.len() - point(number)).max().unwrap_or_default();
    let pad = |number: &String| {
        let (whole, rest) = number.split_at(point(number));
        format!("{whole:>before$}{rest:<after$}")
    };
    numbers.iter().map(pad).collect()
}

fn item_text(field: &Field, item: ValueRef<'_>) -> String {
    match item {
        ValueRef::Bool(truth) => if truth { "True" } else { "False" }.to_owned(),
        ValueRef::Int(number) if is_byte(field) => bytes_text(number),
        ValueRef::Int(number) => number.to_string(),
        ValueRef::UInt(number) => number.to_string(),
        ValueRef::F32(number) => python_float(f64::from(number)),
        ValueRef::F64(number) => python_float(number),
        ValueRef::String(text) => string_text(text),
        ValueRef::Time(time) => stamp("Time", i64::from(time.sec), i64::from(time.nanosec)),
        ValueRef::Duration(time) => stamp("Duration", i64::from(time.sec), i64::from(time.nanosec)),
        ValueRef::Message(message) => python_repr(message),
        ValueRef::Array(array) => listed(array.iter().map(|item| item_text(field, item))),
    }
}

fn stamp(class: &str, seconds: i64, nanoseconds: i64) -> String {
    format!("builtin_interfaces.msg.{class}(sec={seconds}, nanosec={nanoseconds})")
}

fn listed(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn is_byte(field: &Field) -> bool {
    field.spelling.starts_with("byte")
}

fn bytes_text(byte: i64) -> String {
    let byte = byte.to_le_bytes()[0];
    match byte {
        b'\'' => "b\"'\"".to_owned(),
        b'"' => "b'\"'".to_owned(),
        other => format!("b'{}'", other.escape_ascii()),
    }
}

/// Text in the quotes that Python chooses.
fn string_text(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut shown = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            letter if letter == quote => shown.extend(['\\', letter]),
            letter if letter.is_control() && u32::from(letter) < 0x100 => {
                shown.push_str(&format!("\\x{:02x}", u32::from(letter)));
            }
            letter => shown.push(letter),
        }
    }
    shown.push(quote);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::typed_message;
    use runnel::core::schema::{Generation, Kind, Library, TypeName};

    const TEXT: &str = "bool a\nbyte b\nint32 c\nfloat64 d\nstring e\nfloat64[2] f\nuint8[] g\nstring[] h\n\
                        uint8[2] i\nfloat32[2] j\np/Part[] k\nbyte[2] l\nfloat64[] m\n";

    #[test]
    fn message_is_printed_as_by_python() {
        let mut library = Library::new();
        for (name, text) in [("Whole", TEXT), ("Part", "int8 x\n")] {
            library.add_text(Kind::Message, TypeName::new("p", name), text, name);
        }
        let schema = library.message_in(Generation::Ros2, &TypeName::new("p", "Whole")).expect("a good text");
        let values = "{a: true, b: 1, c: -5, d: 1, e: \"it's\\n\", f: [1, 2.5], g: [1, 2], h: [a, b], \
                      i: [3, 40], j: [0.5, 1], k: [{x: 7}], l: [0, 65], m: [1]}";
        let message = typed_message(&schema, &[values.to_owned()]).expect("good values");
        let expected = "p.msg.Whole(a=True, b=b'\\x01', c=-5, d=1.0, e=\"it's\\n\", f=array([1. , 2.5]), \
                        g=[1, 2], h=['a', 'b'], i=array([ 3, 40], dtype=uint8), \
                        j=array([0.5, 1. ], dtype=float32), k=[p.msg.Part(x=7)], l=[b'\\x00', b'A'], m=[1.0])";
        assert_eq!(python_repr(&message), expected);
    }
}
