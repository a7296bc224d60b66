//! Parameter values of the ROS 1 parameter server, as XML-RPC values.

use runnel_ros1::xmlrpc::Value;

use super::ParameterValue;

/// An integer beyond the 32 bits of XML-RPC.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfRange {
    /// Its place in the value: `` for the value itself, `/left` for a member, `[3]` for an element.
    pub(crate) at: String,
    pub(crate) number: i64,
}

impl OutOfRange {
    fn new(number: i64) -> Self {
        Self { at: String::new(), number }
    }

    /// The error with the place of the inner value prepended.
    fn within(self, outer: &str) -> Self {
        Self { at: format!("{outer}{}", self.at), ..self }
    }
}

impl From<Value> for ParameterValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Int(number) => Self::Integer(number.into()),
            Value::Bool(value) => Self::Bool(value),
            Value::String(text) => Self::String(text),
            Value::Double(number) => Self::Double(number),
            Value::DateTime(text) => Self::DateTime(text),
            Value::Binary(bytes) => Self::ByteArray(bytes),
            Value::Array(values) => values.into_iter().map(Self::from).collect::<Vec<_>>().into(),
            Value::Struct(members) => {
                Self::Map(members.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

impl ParameterValue {
    /// The value as the ROS 1 parameter server holds it.
    pub(crate) fn into_ros1(self) -> Result<Value, OutOfRange> {
        Ok(match self {
            Self::Bool(value) => Value::Bool(value),
            Self::Integer(number) => Value::Int(number.try_into().map_err(|_| OutOfRange::new(number))?),
            Self::Double(number) => Value::Double(number),
            Self::String(text) => Value::String(text),
            Self::DateTime(text) => Value::DateTime(text),
            Self::ByteArray(bytes) => Value::Binary(bytes),
            Self::BoolArray(values) => array(values)?,
            Self::IntegerArray(numbers) => array(numbers)?,
            Self::DoubleArray(numbers) => array(numbers)?,
            Self::StringArray(texts) => array(texts)?,
            Self::List(values) => array(values)?,
            Self::Map(members) => {
                let member = |(name, value): (String, Self)| match value.into_ros1() {
                    Ok(value) => Ok((name, value)),
                    Err(error) => Err(error.within(&format!("/{name}"))),
                };
                Value::Struct(members.into_iter().map(member).collect::<Result<_, _>>()?)
            }
        })
    }
}

fn array(values: Vec<impl Into<ParameterValue>>) -> Result<Value, OutOfRange> {
    let element = |(index, value): (usize, ParameterValue)| {
        value.into_ros1().map_err(|error| error.within(&format!("[{index}]")))
    };
    Ok(Value::Array(values.into_iter().map(Into::into).enumerate().map(element).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn value_of_every_kind_survives_the_parameter_server() {
        let map = BTreeMap::from([("left".to_owned(), ParameterValue::from(1.5))]);
        let values = [
            true.into(),
            5.into(),
            2.5.into(),
            "text".into(),
            ParameterValue::ByteArray(vec![1, 2]),
            vec![true, false].into(),
            vec![1_i64, 2].into(),
            vec![1.0, 2.0].into(),
            vec!["a", "b"].into(),
            ParameterValue::List(vec![]),
            vec![ParameterValue::from(1), "two".into(), map.clone().into()].into(),
            map.into(),
            ParameterValue::DateTime("20261127T00:00:00".into()),
        ];
        for value in values {
            assert_eq!(value.clone().into_ros1().map(ParameterValue::from), Ok(value));
        }
    }

    #[test]
    fn integer_beyond_32_bits_is_named_by_its_place() {
        for number in [i64::from(i32::MAX) + 1, i64::from(i32::MIN) - 1] {
            let refused = ParameterValue::Integer(number).into_ros1();
            assert_eq!(refused, Err(OutOfRange { at: String::new(), number }));
            let list = ParameterValue::from(vec![ParameterValue::from("a"), vec![1, number].into()]);
            let map = ParameterValue::from(BTreeMap::from([("wheels".to_owned(), list)]));
            let refused = map.into_ros1().unwrap_err();
            assert_eq!(refused, OutOfRange { at: "/wheels[1][1]".into(), number });
        }
        assert_eq!(ParameterValue::from(i32::MIN).into_ros1(), Ok(Value::Int(i32::MIN)));
    }
}
