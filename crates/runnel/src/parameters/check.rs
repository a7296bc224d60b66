//! Check of a value against the descriptor of its parameter.

use std::fmt;

use runnel_msgs::rcl_interfaces::msg::{FloatingPointRange, IntegerRange, ParameterDescriptor};

use super::message::{parameter_type_name, type_of};
use crate::error::ParameterError;
use crate::parameters::parameter_value::ParameterValue;

/// Relative tolerance of floating-point ranges and steps, as in rclcpp: 100 units in the last place.
const TOLERANCE: f64 = 100.0 * f64::EPSILON;

/// Checks type and range of a value.
///
/// # Errors
/// [`ParameterError::NoRos2Type`], [`ParameterError::WrongType`] or [`ParameterError::OutOfRange`].
pub(super) fn check(descriptor: &ParameterDescriptor, value: &ParameterValue) -> Result<(), ParameterError> {
    let name = || descriptor.name.clone();
    let Some(given) = type_of(value) else {
        return Err(ParameterError::NoRos2Type { name: name(), kind: value.kind(), origin: None });
    };
    if !descriptor.dynamic_typing && descriptor.type_ != given {
        let declared = parameter_type_name(descriptor.type_);
        return Err(ParameterError::WrongType {
            name: name(),
            declared,
            given: text_of(value),
            origin: None,
        });
    }
    check_range(descriptor, value)
}

fn check_range(descriptor: &ParameterDescriptor, value: &ParameterValue) -> Result<(), ParameterError> {
    let refused = |value: &dyn fmt::Debug, range: String| ParameterError::OutOfRange {
        name: descriptor.name.clone(),
        value: format!("{value:?}"),
        range,
        origin: None,
    };
    if let Some(range) = descriptor.integer_range.first() {
        let numbers = match value {
            ParameterValue::Integer(number) => std::slice::from_ref(number),
            ParameterValue::IntegerArray(numbers) => numbers,
            _ => &[],
        };
        if let Some(outside) = numbers.iter().find(|number| !has_integer(range, **number)) {
            return Err(refused(outside, text_of_integers(range)));
        }
    }
    if let Some(range) = descriptor.floating_point_range.first() {
        let numbers = match value {
            ParameterValue::Double(number) => std::slice::from_ref(number),
            ParameterValue::DoubleArray(numbers) => numbers,
            _ => &[],
        };
        if let Some(outside) = numbers.iter().find(|number| !has_double(range, **number)) {
            return Err(refused(outside, text_of_doubles(range)));
        }
    }
    Ok(())
}

/// Whether an integer is in a range. Both ends are, whatever the step.
fn has_integer(range: &IntegerRange, number: i64) -> bool {
    let &IntegerRange { from_value, to_value, step } = range;
    if number == from_value || number == to_value {
        return true;
    }
    let distance = i128::from(number) - i128::from(from_value);
    (from_value..=to_value).contains(&number) && (step == 0 || distance % i128::from(step) == 0)
}

/// Whether a number is in a range, within the tolerance. Both ends are, whatever the step.
fn has_double(range: &FloatingPointRange, number: f64) -> bool {
    let &FloatingPointRange { from_value, to_value, step } = range;
    if is_close(number, from_value) || is_close(number, to_value) {
        return true;
    }
    // NaN is in no range.
    if !(from_value..=to_value).contains(&number) {
        return false;
    }
    step == 0.0 || is_close(number, ((number - from_value) / step).round().mul_add(step, from_value))
}

fn is_close(left: f64, right: f64) -> bool {
    let distance = (left - right).abs();
    // The tolerance of an infinity would be infinite.
    left == right || (distance.is_finite() && distance <= TOLERANCE * (left + right).abs())
}

fn text_of_integers(range: &IntegerRange) -> String {
    let steps = if range.step == 0 { String::new() } else { format!(" in steps of {}", range.step) };
    format!("integer range {} to {}{steps}", range.from_value, range.to_value)
}

fn text_of_doubles(range: &FloatingPointRange) -> String {
    let steps = if range.step == 0.0 { String::new() } else { format!(" in steps of {:?}", range.step) };
    format!("floating point range {:?} to {:?}{steps}", range.from_value, range.to_value)
}

/// The kind of a value and, if it is a single one, the value.
pub(super) fn text_of(value: &ParameterValue) -> String {
    value.short_text().map_or_else(|| value.kind().to_owned(), |text| format!("{} {text}", value.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(from_value: i64, to_value: i64, step: u64) -> ParameterDescriptor {
        let range = IntegerRange { from_value, to_value, step };
        ParameterDescriptor {
            name: "n".into(),
            type_: 2,
            integer_range: vec![range],
            ..ParameterDescriptor::default()
        }
    }

    fn doubles(from_value: f64, to_value: f64, step: f64) -> ParameterDescriptor {
        let range = FloatingPointRange { from_value, to_value, step };
        let floating_point_range = vec![range];
        ParameterDescriptor {
            name: "x".into(),
            type_: 3,
            floating_point_range,
            ..ParameterDescriptor::default()
        }
    }

    fn why(descriptor: &ParameterDescriptor, value: impl Into<ParameterValue>) -> String {
        check(descriptor, &value.into()).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn integer_must_be_in_range_and_on_step() {
        let range = integers(0, 10, 3);
        for (number, expected) in
            [(0, true), (3, true), (9, true), (10, true), (4, false), (-3, false), (12, false)]
        {
            assert_eq!(check(&range, &number.into()).is_ok(), expected, "{number}");
        }
        assert_eq!(why(&range, 4), "parameter n: 4 does not comply with integer range 0 to 10 in steps of 3");
        assert_eq!(why(&integers(1, 2, 0), 3), "parameter n: 3 does not comply with integer range 1 to 2");
        let widest = integers(i64::MIN, i64::MAX, u64::MAX);
        assert!(why(&widest, i64::MAX).is_empty() && !why(&widest, 0).is_empty());
    }

    #[test]
    fn every_element_of_array_must_be_in_range() {
        let range = ParameterDescriptor { type_: 7, ..integers(0, 10, 0) };
        assert_eq!(
            why(&range, vec![1, 11, 12]),
            "parameter n: 11 does not comply with integer range 0 to 10"
        );
        let range = ParameterDescriptor { type_: 8, ..doubles(0.0, 1.0, 0.0) };
        assert_eq!(
            why(&range, vec![0.5, -0.5]),
            "parameter x: -0.5 does not comply with floating point range 0.0 to 1.0"
        );
    }

    #[test]
    fn double_may_miss_step_by_rounding() {
        let range = doubles(0.0, 1.0, 0.1);
        for (number, expected) in [(0.1 + 0.2, true), (0.7, true), (0.75, false), (1.000_000_1, false)] {
            assert_eq!(check(&range, &number.into()).is_ok(), expected, "{number}");
        }
        assert_eq!(
            why(&range, 0.75),
            "parameter x: 0.75 does not comply with floating point range 0.0 to 1.0 in steps of 0.1"
        );
        assert!(!why(&range, f64::NAN).is_empty() && !why(&range, f64::INFINITY).is_empty());
        assert!(why(&doubles(0.0, f64::INFINITY, 0.0), f64::INFINITY).is_empty());
    }

    #[test]
    fn static_type_refuses_other_types_by_name() {
        let refused = "parameter x is of type double, setting it to the integer 5 is not allowed";
        assert_eq!(why(&doubles(0.0, 9.0, 0.0), 5), refused);
        let dynamic = ParameterDescriptor { dynamic_typing: true, ..doubles(0.0, 9.0, 0.0) };
        assert!(why(&dynamic, 5).is_empty() && why(&dynamic, "five").is_empty());
        let map = ParameterValue::Map([].into());
        assert_eq!(why(&dynamic, map), "parameter x: ROS 2 has no parameters of kind map");
    }
}
