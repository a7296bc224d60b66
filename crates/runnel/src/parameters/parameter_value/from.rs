//! Conversions from Rust types to parameter values.

use std::collections::BTreeMap;

use super::ParameterValue;

/// Conversions without change of the value.
macro_rules! from {
    ($($type:ty => $variant:ident),* $(,)?) => {$(
        impl From<$type> for ParameterValue {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}
from! {
    bool => Bool,
    i8 => Integer, i16 => Integer, i32 => Integer, i64 => Integer,
    u8 => Integer, u16 => Integer, u32 => Integer,
    f32 => Double, f64 => Double,
    &str => String, String => String,
    Vec<u8> => ByteArray, &[u8] => ByteArray,
    Vec<bool> => BoolArray, Vec<i64> => IntegerArray, Vec<f64> => DoubleArray, Vec<String> => StringArray,
    BTreeMap<String, ParameterValue> => Map,
}

/// Conversions of arrays element by element.
macro_rules! from_elements {
    ($($element:ty => $variant:ident),* $(,)?) => {$(
        impl From<Vec<$element>> for ParameterValue {
            fn from(values: Vec<$element>) -> Self {
                Self::$variant(values.into_iter().map(Into::into).collect())
            }
        }
    )*};
}
from_elements!(i32 => IntegerArray, u16 => IntegerArray, u32 => IntegerArray, f32 => DoubleArray, &str => StringArray);

/// The typed array if all values are of one type that has arrays, else a list.
impl From<Vec<ParameterValue>> for ParameterValue {
    fn from(values: Vec<ParameterValue>) -> Self {
        match values.first() {
            Some(Self::Bool(_)) => array(values, Self::BoolArray, |value| match value {
                Self::Bool(truth) => Ok(truth),
                other => Err(other),
            }),
            Some(Self::Integer(_)) => array(values, Self::IntegerArray, |value| match value {
                Self::Integer(number) => Ok(number),
                other => Err(other),
            }),
            Some(Self::Double(_)) => array(values, Self::DoubleArray, |value| match value {
                Self::Double(number) => Ok(number),
                other => Err(other),
            }),
            Some(Self::String(_)) => array(values, Self::StringArray, |value| match value {
                Self::String(text) => Ok(text),
                other => Err(other),
            }),
            _ => Self::List(values),
        }
    }
}

/// The array that `wrap` makes if `element` accepts every value, else a list.
fn array<T: Into<ParameterValue>>(
    values: Vec<ParameterValue>,
    wrap: fn(Vec<T>) -> ParameterValue,
    element: fn(ParameterValue) -> Result<T, ParameterValue>,
) -> ParameterValue {
    let (mut elements, mut values) = (Vec::with_capacity(values.len()), values.into_iter());
    while let Some(value) = values.next() {
        match element(value) {
            Ok(value) => elements.push(value),
            Err(other) => {
                let before = elements.into_iter().map(Into::into);
                return ParameterValue::List(before.chain([other]).chain(values).collect());
            }
        }
    }
    wrap(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_one_kind_becomes_array() {
        let of = |values: Vec<ParameterValue>| ParameterValue::from(values);
        assert_eq!(of(vec![true.into(), false.into()]), ParameterValue::BoolArray(vec![true, false]));
        assert_eq!(of(vec![1.into(), 2.into()]), ParameterValue::IntegerArray(vec![1, 2]));
        assert_eq!(of(vec![1.5.into()]), ParameterValue::DoubleArray(vec![1.5]));
        assert_eq!(of(vec!["a".into(), "b".into()]), ParameterValue::from(vec!["a", "b"]));
    }

    #[test]
    fn other_lists_stay_lists_in_order() {
        for values in [
            vec![],
            vec![1.into(), 2.into(), 2.5.into(), 3.into()],
            vec![ParameterValue::from(vec![1]), vec![2].into()],
            vec![ParameterValue::from(vec![1_u8])],
            vec![BTreeMap::new().into()],
        ] {
            assert_eq!(ParameterValue::from(values.clone()), ParameterValue::List(values));
        }
    }
}
