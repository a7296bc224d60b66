//! Parameter values as messages.

use runnel_msgs::rcl_interfaces::msg;
use runnel_msgs::rcl_interfaces::msg::ParameterType as Type;

use super::Parameter;
use crate::parameters::parameter_value::ParameterValue;

/// Names of the types by their numbers.
const NAMES: [&str; 10] = [
    "not set",
    "boolean",
    "integer",
    "double",
    "string",
    "byte array",
    "boolean array",
    "integer array",
    "double array",
    "string array",
];

/// The number of a value's type; `None` for the kinds that only ROS 1 has.
pub(crate) fn type_of(value: &ParameterValue) -> Option<u8> {
    Some(match value {
        ParameterValue::Bool(_) => Type::PARAMETER_BOOL,
        ParameterValue::Integer(_) => Type::PARAMETER_INTEGER,
        ParameterValue::Double(_) => Type::PARAMETER_DOUBLE,
        ParameterValue::String(_) => Type::PARAMETER_STRING,
        ParameterValue::ByteArray(_) => Type::PARAMETER_BYTE_ARRAY,
        ParameterValue::BoolArray(_) => Type::PARAMETER_BOOL_ARRAY,
        ParameterValue::IntegerArray(_) => Type::PARAMETER_INTEGER_ARRAY,
        ParameterValue::DoubleArray(_) => Type::PARAMETER_DOUBLE_ARRAY,
        ParameterValue::StringArray(_) => Type::PARAMETER_STRING_ARRAY,
        ParameterValue::List(_) | ParameterValue::Map(_) | ParameterValue::DateTime(_) => return None,
    })
}

/// The name of a parameter type by its number in `rcl_interfaces/msg/ParameterType`, as `ros2 param describe` prints it:
/// `double`, `string array`. `unknown` for a number that is no type.
///
/// ```
/// assert_eq!(runnel::parameter_type_name(3), "double");
/// ```
pub fn parameter_type_name(number: u8) -> &'static str {
    NAMES.get(usize::from(number)).copied().unwrap_or("unknown")
}

/// The number of the type of a parameter's value.
pub(crate) fn declared_type(value: Option<&ParameterValue>) -> u8 {
    value.and_then(type_of).unwrap_or(Type::PARAMETER_NOT_SET)
}

/// The message of a value. One of a kind that only ROS 1 has is not set.
pub(crate) fn to_message(value: Option<&ParameterValue>) -> msg::ParameterValue {
    let mut message = msg::ParameterValue { type_: declared_type(value), ..Default::default() };
    match value {
        Some(ParameterValue::Bool(value)) => message.bool_value = *value,
        Some(ParameterValue::Integer(value)) => message.integer_value = *value,
        Some(ParameterValue::Double(value)) => message.double_value = *value,
        Some(ParameterValue::String(value)) => message.string_value.clone_from(value),
        Some(ParameterValue::ByteArray(value)) => {
            message.byte_array_value = value.iter().map(|byte| byte.cast_signed()).collect();
        }
        Some(ParameterValue::BoolArray(value)) => message.bool_array_value.clone_from(value),
        Some(ParameterValue::IntegerArray(value)) => message.integer_array_value.clone_from(value),
        Some(ParameterValue::DoubleArray(value)) => message.double_array_value.clone_from(value),
        Some(ParameterValue::StringArray(value)) => message.string_array_value.clone_from(value),
        Some(ParameterValue::List(_) | ParameterValue::Map(_) | ParameterValue::DateTime(_)) | None => {}
    }
    message
}

/// The value of a message; `None` if it is not set.
///
/// # Errors
/// The number of a type that does not exist.
pub(crate) fn from_message(message: &msg::ParameterValue) -> Result<Option<ParameterValue>, u8> {
    Ok(Some(match message.type_ {
        Type::PARAMETER_NOT_SET => return Ok(None),
        Type::PARAMETER_BOOL => ParameterValue::Bool(message.bool_value),
        Type::PARAMETER_INTEGER => ParameterValue::Integer(message.integer_value),
        Type::PARAMETER_DOUBLE => ParameterValue::Double(message.double_value),
        Type::PARAMETER_STRING => ParameterValue::String(message.string_value.clone()),
        Type::PARAMETER_BYTE_ARRAY => {
            let bytes = message.byte_array_value.iter().map(|byte| byte.cast_unsigned());
            ParameterValue::ByteArray(bytes.collect())
        }
        Type::PARAMETER_BOOL_ARRAY => ParameterValue::BoolArray(message.bool_array_value.clone()),
        Type::PARAMETER_INTEGER_ARRAY => ParameterValue::IntegerArray(message.integer_array_value.clone()),
        Type::PARAMETER_DOUBLE_ARRAY => ParameterValue::DoubleArray(message.double_array_value.clone()),
        Type::PARAMETER_STRING_ARRAY => ParameterValue::StringArray(message.string_array_value.clone()),
        unknown => return Err(unknown),
    }))
}

impl Parameter {
    /// The parameter as a message.
    pub fn to_message(&self) -> msg::Parameter {
        msg::Parameter { name: self.name.clone(), value: to_message(self.value.as_ref()) }
    }

    /// The parameter of a message.
    ///
    /// # Errors
    /// If the type of the value is none of those of ROS 2.
    pub fn from_message(message: &msg::Parameter) -> Result<Self, String> {
        let unknown =
            |number| format!("parameter {}: there is no type with the number {number}", message.name);
        Ok(Self { name: message.name.clone(), value: from_message(&message.value).map_err(unknown)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_every_type_survives_its_message() {
        let values = [
            true.into(),
            i64::MIN.into(),
            2.5.into(),
            "text".into(),
            vec![0_u8, 127, 128, 255].into(),
            vec![true, false].into(),
            vec![1, -1].into(),
            vec![1.5].into(),
            vec!["a", ""].into(),
        ];
        for (value, number) in values.into_iter().zip(1..) {
            let message = to_message(Some(&value));
            assert_eq!((message.type_, parameter_type_name(number)), (number, value.kind()));
            assert_eq!(from_message(&message), Ok(Some(value)));
        }
        assert_eq!((parameter_type_name(0), parameter_type_name(10)), ("not set", "unknown"));
        assert_eq!(from_message(&to_message(None)), Ok(None));
        assert_eq!(from_message(&msg::ParameterValue { type_: 10, ..Default::default() }), Err(10));
    }

    #[test]
    fn kinds_of_ros1_are_not_set() {
        for value in [ParameterValue::List(vec![]), ParameterValue::Map([].into())] {
            assert_eq!(to_message(Some(&value)).type_, 0);
        }
    }
}
