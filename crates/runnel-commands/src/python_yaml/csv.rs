//! Messages as lines of CSV, as rosidl_runtime_py writes them.

use runnel::core::dynamic::{DynamicMessage, Value, ValueRef};
use runnel::core::schema::{Arity, Field};
use runnel::core::yaml::python_float;

use super::{PrintOptions, array_type, byte_char, is_byte, python_text, seconds, shortened};

/// All values of a message, separated by commas. Texts are not quoted.
pub fn to_csv(message: &DynamicMessage, options: PrintOptions) -> String {
    let cell = |(field, value): (&Field, &Value)| match value.view() {
        ValueRef::Array(array) if options.no_arr => array_type(field, array),
        value => cells(value, field, options),
    };
    message.fields().map(cell).collect::<Vec<_>>().join(",")
}

fn cells(value: ValueRef<'_>, field: &Field, options: PrintOptions) -> String {
    match value {
        ValueRef::Message(message) => to_csv(message, options),
        ValueRef::String(text) => shortened(text, options),
        ValueRef::Int(number) if is_byte(field) => format!("b'{}'", byte_text(number)),
        ValueRef::Time(_) | ValueRef::Duration(_) => {
            let parts = seconds(value, options.generation).into_iter();
            parts.map(|(_, number)| number).collect::<Vec<_>>().join(",")
        }
        // NumPy prints these with the digits of their own width.
        ValueRef::F32(number) if matches!(field.arity, Arity::Fixed(_)) => {
            number.to_string().parse().map_or_else(|_| number.to_string(), python_float)
        }
        ValueRef::Array(array) => {
            let most = options.truncate.unwrap_or(usize::MAX);
            let shown = array.iter().take(most).map(|item| cells(item, field, options));
            let rest = (array.len() > most).then(|| "...".to_owned());
            shown.chain(rest).collect::<Vec<_>>().join(",")
        }
        value => python_text(value),
    }
}

/// A byte within Python's `b'..'`.
fn byte_text(number: i64) -> String {
    match byte_char(number) {
        '\\' => "\\\\".to_owned(),
        '\'' => "\\'".to_owned(),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        c @ ' '..='~' => c.to_string(),
        c => format!("\\x{:02x}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::message;
    use super::*;

    /// As rosidl_runtime_py writes these.
    #[test]
    fn line_reads_as_in_ros2() {
        let options = PrintOptions::default();
        let expected = "1,2,map,0.10000000149011612,b'\\x05',b'\\x01',1.0,2.0,a,bcdefg,True,1,2,3";
        assert_eq!(to_csv(&message(), options), expected);
        let options = PrintOptions { truncate: Some(1), no_str: true, ..options };
        let expected = "1,2,<string length: <3>>,0.10000000149011612,b'\\x05',b'\\x01',1.0,...,<string length: <1>>,...,\
                        True,1,...";
        assert_eq!(to_csv(&message(), options), expected);
    }
}
