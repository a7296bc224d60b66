//! Conversions from parameter values to Rust types.

use std::any::type_name;
use std::collections::BTreeMap;

use super::ParameterValue;
use crate::error::WantedType;

/// A type as which a parameter can be read.
///
/// Numbers are read as the requested type if they fit it: an integer as any Rust integer, and also as a floating-point
/// number, since `1` in a launch file means `1.0` for a speed.
pub trait FromParameter: Sized {
    /// A value of this type in words, for errors: `a number`.
    const EXPECTED: &'static str = "a value of that type";
    /// A value of this type on a command line, for errors: `5`.
    const EXAMPLE: &'static str = "VALUE";

    /// The value as this type; `None` if it is of another type, or does not fit.
    fn from_parameter(value: &ParameterValue) -> Option<Self>;
}

/// The type that a program requests, for errors.
pub(crate) fn wanted_type<T: FromParameter>() -> Box<WantedType> {
    Box::new(WantedType { name: type_name::<T>(), expected: T::EXPECTED, example: T::EXAMPLE })
}

impl FromParameter for ParameterValue {
    fn from_parameter(value: &ParameterValue) -> Option<Self> {
        Some(value.clone())
    }
}

impl FromParameter for bool {
    const EXPECTED: &'static str = "true or false";
    const EXAMPLE: &'static str = "true";

    fn from_parameter(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Bool(truth) => Some(*truth),
            _ => None,
        }
    }
}

/// Integers, if they fit.
macro_rules! integers {
    ($($type:ty),*) => {$(
        impl FromParameter for $type {
            const EXPECTED: &'static str = "an integer within the type's range";
            const EXAMPLE: &'static str = "5";

            fn from_parameter(value: &ParameterValue) -> Option<Self> {
                match value {
                    ParameterValue::Integer(number) => (*number).try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl FromParameter for f64 {
    const EXPECTED: &'static str = "a number";
    const EXAMPLE: &'static str = "5";

    fn from_parameter(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Double(number) => Some(*number),
            ParameterValue::Integer(number) => Some(*number as f64),
            _ => None,
        }
    }
}

impl FromParameter for f32 {
    const EXPECTED: &'static str = "a number";
    const EXAMPLE: &'static str = "5";

    fn from_parameter(value: &ParameterValue) -> Option<Self> {
        f64::from_parameter(value).map(|number| number as f32)
    }
}

impl FromParameter for String {
    const EXPECTED: &'static str = "a string";
    const EXAMPLE: &'static str = "TEXT";

    fn from_parameter(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::String(text) => Some(text.clone()),
            _ => None,
        }
    }
}

/// For an array or a list whose elements can be read as `T`. Bytes are read as integers.
impl<T: FromParameter> FromParameter for Vec<T> {
    fn from_parameter(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::ByteArray(bytes) => elements(bytes),
            ParameterValue::BoolArray(truths) => elements(truths),
            ParameterValue::IntegerArray(numbers) => elements(numbers),
            ParameterValue::DoubleArray(numbers) => elements(numbers),
            ParameterValue::StringArray(texts) => elements(texts),
            ParameterValue::List(values) => values.iter().map(T::from_parameter).collect(),
            _ => None,
        }
    }
}

fn elements<E: Clone + Into<ParameterValue>, T: FromParameter>(values: &[E]) -> Option<Vec<T>> {
    values.iter().map(|value| T::from_parameter(&value.clone().into())).collect()
}

/// For a namespace whose parameters can all be read as `T`.
impl<T: FromParameter> FromParameter for BTreeMap<String, T> {
    fn from_parameter(value: &ParameterValue) -> Option<Self> {
        let ParameterValue::Map(members) = value else { return None };
        members.iter().map(|(name, value)| Some((name.clone(), T::from_parameter(value)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_is_read_if_it_fits() {
        let read = ParameterValue::from(300);
        assert_eq!(u8::from_parameter(&read), None);
        assert_eq!(u16::from_parameter(&read), Some(300));
        assert_eq!(i64::from_parameter(&ParameterValue::Integer(1 << 40)), Some(1 << 40));
        assert_eq!(i32::from_parameter(&ParameterValue::Integer(1 << 40)), None);
        assert_eq!(f32::from_parameter(&read), Some(300.0));
        assert_eq!(u64::from_parameter(&(-1).into()), None);
        assert_eq!(i32::from_parameter(&1.0.into()), None);
    }

    #[test]
    fn arrays_and_lists_are_read_by_their_elements() {
        let mixed = ParameterValue::from(vec![ParameterValue::from(1), 2.5.into()]);
        assert_eq!(Vec::from_parameter(&mixed), Some(vec![1.0, 2.5]));
        assert_eq!(Vec::<i32>::from_parameter(&mixed), None);
        assert_eq!(Vec::from_parameter(&vec![1, 2].into()), Some(vec![1_u8, 2]));
        assert_eq!(Vec::from_parameter(&vec![1_u8, 2].into()), Some(vec![1_u8, 2]));
        assert_eq!(Vec::<String>::from_parameter(&ParameterValue::List(vec![])), Some(vec![]));
        let nested = ParameterValue::from(vec![ParameterValue::from(vec![1]), vec![2, 3].into()]);
        assert_eq!(Vec::from_parameter(&nested), Some(vec![vec![1], vec![2, 3]]));
    }

    #[test]
    fn map_is_read_if_all_its_members_are() {
        let members = [("left", 1), ("right", 2)].map(|(name, value)| (name.to_owned(), value));
        let map: BTreeMap<String, ParameterValue> =
            members.clone().map(|(name, value)| (name, value.into())).into();
        assert_eq!(BTreeMap::from_parameter(&map.clone().into()), Some(BTreeMap::from(members)));
        assert_eq!(BTreeMap::<String, bool>::from_parameter(&map.into()), None);
    }
}
