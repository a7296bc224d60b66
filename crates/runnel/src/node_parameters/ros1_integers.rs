//! Integers at the ROS 1 parameter server, which has none beyond 32 bits.

use runnel_ros1::xmlrpc::Value;

use super::params::ros1_value;
use crate::parameters::parameter_value::ParameterValue;

/// A value of the master with integers beyond 32 bits, which ROS 1 has as doubles.
pub(super) fn with_large_integers(value: ParameterValue) -> ParameterValue {
    match value {
        ParameterValue::Double(number) => large_integer(number).map_or(value, ParameterValue::Integer),
        ParameterValue::DoubleArray(numbers) => {
            let integers: Option<Vec<i64>> = numbers.iter().map(|number| large_integer(*number)).collect();
            integers.map_or(ParameterValue::DoubleArray(numbers), ParameterValue::IntegerArray)
        }
        ParameterValue::List(values) => {
            let integer = |value: &ParameterValue| match value {
                ParameterValue::Integer(number) => Some(*number),
                ParameterValue::Double(number) => large_integer(*number),
                _ => None,
            };
            let integers: Option<Vec<i64>> = values.iter().map(integer).collect();
            let integers = integers.filter(|integers| !integers.is_empty());
            integers.map_or(ParameterValue::List(values), ParameterValue::IntegerArray)
        }
        value => value,
    }
}

/// The integer beyond 32 bits that a double is, as far as doubles hold all integers.
fn large_integer(number: f64) -> Option<i64> {
    let is_large =
        number.abs() > f64::from(i32::MAX) && number.abs() <= (1_i64 << f64::MANTISSA_DIGITS) as f64;
    (is_large && number.fract() == 0.0).then_some(number as i64)
}

/// Whether two values are the same to ROS 1, which has no 64-bit integers and no typed arrays.
pub(super) fn is_same_in_ros1(left: &ParameterValue, right: &ParameterValue) -> bool {
    let [left, right]: [Value; 2] = [left, right].map(|value| ros1_value(value.clone()));
    left == right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integer_is_same_as_its_double() {
        let large = ParameterValue::Integer(1 << 40);
        assert!(is_same_in_ros1(&large, &((1_i64 << 40) as f64).into()));
        assert!(is_same_in_ros1(&ParameterValue::IntegerArray(vec![]), &ParameterValue::List(vec![])));
        assert!(!is_same_in_ros1(&1.into(), &1.0.into()));
    }

    #[test]
    fn integers_beyond_32_bits_come_back_from_the_master() {
        let large = 5_000_000_000_i64;
        let back = |value: ParameterValue| with_large_integers(ros1_value(value).into());
        for value in [large.into(), (-large).into(), ParameterValue::IntegerArray(vec![1, large])] {
            assert_eq!(back(value.clone()), value);
        }
        assert_eq!(back(ParameterValue::IntegerArray(vec![large, large])).clone(), vec![large, large].into());
        for value in [2.5.into(), 3.0.into(), 1e300.into(), ParameterValue::DoubleArray(vec![2.5, 1e10])] {
            assert_eq!(back(value.clone()), value);
        }
    }
}
