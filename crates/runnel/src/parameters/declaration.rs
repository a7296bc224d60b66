//! Declaration of a parameter: its default value and its descriptor.

use std::fmt;
use std::ops::RangeInclusive;

use runnel_msgs::rcl_interfaces::msg::{
    FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType,
};

use super::message::declared_type;
use crate::parameters::parameter_value::{FromParameter, ParameterValue};

/// A type that a declared parameter can have: `bool`, `i64`, `f64`, [`String`], vectors of these and of `u8`, and
/// [`ParameterValue`] for a type that is known only at run time.
pub trait DeclaredType: FromParameter + Into<ParameterValue> {
    /// The number of the type in `rcl_interfaces/msg/ParameterType`; 0 if the value decides.
    const TYPE: u8;
}

macro_rules! declared_types {
    ($($type:ty => $number:ident),* $(,)?) => {$(
        impl DeclaredType for $type {
            const TYPE: u8 = ParameterType::$number;
        }
    )*};
}
declared_types! {
    bool => PARAMETER_BOOL,
    i64 => PARAMETER_INTEGER,
    f64 => PARAMETER_DOUBLE,
    String => PARAMETER_STRING,
    Vec<u8> => PARAMETER_BYTE_ARRAY,
    Vec<bool> => PARAMETER_BOOL_ARRAY,
    Vec<i64> => PARAMETER_INTEGER_ARRAY,
    Vec<f64> => PARAMETER_DOUBLE_ARRAY,
    Vec<String> => PARAMETER_STRING_ARRAY,
    ParameterValue => PARAMETER_NOT_SET,
}

/// How a node declares a parameter: default, description, range and so on. For
/// [`Node::declare_parameter`](crate::Node::declare_parameter).
///
/// ```no_run
/// use runnel::ParameterDeclaration;
///
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let rate = ParameterDeclaration::new(10.0).description("Messages per second").range(1.0..=100.0).step(0.5);
/// let rate: f64 = node.declare_parameter("rate", rate)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ParameterDeclaration<T> {
    pub(crate) descriptor: ParameterDescriptor,
    pub(crate) default: Option<T>,
    pub(crate) ignore_override: bool,
}

impl<T: DeclaredType + Clone> ParameterDeclaration<T> {
    /// A parameter with a default value, whose type it keeps.
    pub fn new(default: T) -> Self {
        let type_ = match T::TYPE {
            ParameterType::PARAMETER_NOT_SET => declared_type(Some(&default.clone().into())),
            number => number,
        };
        let descriptor = ParameterDescriptor { type_, ..ParameterDescriptor::default() };
        Self { descriptor, default: Some(default), ignore_override: false }
    }

    /// A parameter that has no value until files, arguments or another program give it one. For
    /// [`Node::declare_optional_parameter`](crate::Node::declare_optional_parameter).
    pub fn without_default() -> Self {
        let dynamic_typing = T::TYPE == ParameterType::PARAMETER_NOT_SET;
        let descriptor =
            ParameterDescriptor { type_: T::TYPE, dynamic_typing, ..ParameterDescriptor::default() };
        Self { descriptor, default: None, ignore_override: false }
    }
}

impl<T> ParameterDeclaration<T> {
    /// What the parameter is for.
    #[must_use]
    pub fn description(mut self, text: &str) -> Self {
        text.clone_into(&mut self.descriptor.description);
        self
    }

    /// Constraints that only a text can describe. A callback checks them:
    /// [`Node::add_on_set_parameters_callback`](crate::Node::add_on_set_parameters_callback).
    #[must_use]
    pub fn additional_constraints(mut self, text: &str) -> Self {
        text.clone_into(&mut self.descriptor.additional_constraints);
        self
    }

    /// Keeps the parameter from changing after its declaration.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.descriptor.read_only = true;
        self
    }

    /// Declares the parameter with its default, whatever files and arguments say.
    #[must_use]
    pub fn ignore_override(mut self) -> Self {
        self.ignore_override = true;
        self
    }
}

impl ParameterDeclaration<ParameterValue> {
    /// Lets the parameter change its type, and be deleted by other programs.
    #[must_use]
    pub fn dynamic_typing(mut self) -> Self {
        self.descriptor.dynamic_typing = true;
        self
    }
}

impl<T: RangedType> ParameterDeclaration<T> {
    /// The least and the greatest value. For an array, those of its elements.
    #[must_use]
    pub fn range(mut self, range: RangeInclusive<T::Number>) -> Self {
        T::set_range(&mut self.descriptor, range);
        self
    }

    /// The distance between values, from the least value of the [range](Self::range) on. Both ends of the range are
    /// values too. It has no effect without a range.
    #[must_use]
    pub fn step(mut self, step: T::Step) -> Self {
        T::set_step(&mut self.descriptor, step);
        self
    }
}

/// A type whose values can have a range: `i64`, `f64` and vectors of these.
pub trait RangedType: DeclaredType {
    /// The type of the limits.
    type Number;
    /// The type of the distance between values.
    type Step;
    /// Sets the limits.
    #[doc(hidden)]
    fn set_range(descriptor: &mut ParameterDescriptor, range: RangeInclusive<Self::Number>);
    /// Sets the distance.
    #[doc(hidden)]
    fn set_step(descriptor: &mut ParameterDescriptor, step: Self::Step);
}

impl RangedType for i64 {
    type Number = Self;
    type Step = u64;

    fn set_range(descriptor: &mut ParameterDescriptor, range: RangeInclusive<Self>) {
        let (from_value, to_value) = range.into_inner();
        descriptor.integer_range = vec![IntegerRange { from_value, to_value, step: 0 }];
    }

    fn set_step(descriptor: &mut ParameterDescriptor, step: u64) {
        descriptor.integer_range.iter_mut().for_each(|range| range.step = step);
    }
}

impl RangedType for f64 {
    type Number = Self;
    type Step = Self;

    fn set_range(descriptor: &mut ParameterDescriptor, range: RangeInclusive<Self>) {
        let (from_value, to_value) = range.into_inner();
        descriptor.floating_point_range = vec![FloatingPointRange { from_value, to_value, step: 0.0 }];
    }

    fn set_step(descriptor: &mut ParameterDescriptor, step: Self) {
        descriptor.floating_point_range.iter_mut().for_each(|range| range.step = step);
    }
}

impl<T> RangedType for Vec<T>
where
    T: RangedType,
    Self: DeclaredType,
{
    type Number = T::Number;
    type Step = T::Step;

    fn set_range(descriptor: &mut ParameterDescriptor, range: RangeInclusive<T::Number>) {
        T::set_range(descriptor, range);
    }

    fn set_step(descriptor: &mut ParameterDescriptor, step: T::Step) {
        T::set_step(descriptor, step);
    }
}

/// A default value or a [`ParameterDeclaration`], with which a parameter is declared.
pub trait IntoParameterDeclaration {
    /// The parameter's type.
    type Value: DeclaredType;
    /// The declaration.
    fn into_declaration(self) -> ParameterDeclaration<Self::Value>;
}

impl<T: DeclaredType> IntoParameterDeclaration for ParameterDeclaration<T> {
    type Value = T;

    fn into_declaration(self) -> Self {
        self
    }
}

// Only one integer type and one type of floats, so that the type of a literal is known: 10 is an i64.
macro_rules! defaults {
    ($($type:ty => $value:ty),* $(,)?) => {$(
        impl IntoParameterDeclaration for $type {
            type Value = $value;

            fn into_declaration(self) -> ParameterDeclaration<$value> {
                ParameterDeclaration::new(self.into())
            }
        }
    )*};
}
defaults! {
    bool => bool, i64 => i64, f64 => f64, String => String, &str => String,
    Vec<bool> => Vec<bool>, Vec<i64> => Vec<i64>, Vec<f64> => Vec<f64>, Vec<String> => Vec<String>,
    ParameterValue => ParameterValue,
}

impl<T: fmt::Debug> fmt::Debug for ParameterDeclaration<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterDeclaration").field("default", &self.default).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type and value of a declaration by a default.
    fn declared(default: impl IntoParameterDeclaration) -> (u8, ParameterValue) {
        let ParameterDeclaration { descriptor, default, .. } = default.into_declaration();
        (descriptor.type_, default.expect("a default").into())
    }

    #[test]
    fn default_decides_type() {
        assert_eq!(declared(10), (2, 10.into()));
        assert_eq!(declared(10.0), (3, 10.0.into()));
        assert_eq!(declared("text"), (4, "text".into()));
        assert_eq!(declared(vec![1, 2]), (7, vec![1, 2].into()));
        assert_eq!(declared(ParameterDeclaration::new(vec![1_u8])), (5, vec![1_u8].into()));
        assert_eq!(declared(ParameterValue::from(true)), (1, true.into()));
    }

    #[test]
    fn builder_fills_descriptor() {
        let declaration = ParameterDeclaration::new(vec![5])
            .description("what for")
            .additional_constraints("even")
            .read_only()
            .range(0..=10)
            .step(5);
        let descriptor = declaration.descriptor;
        assert_eq!((&*descriptor.description, &*descriptor.additional_constraints), ("what for", "even"));
        assert!(descriptor.read_only && !descriptor.dynamic_typing);
        assert_eq!(descriptor.integer_range, [IntegerRange { from_value: 0, to_value: 10, step: 5 }]);
        let declaration = ParameterDeclaration::new(0.5).range(0.0..=1.0).step(0.25);
        let range = FloatingPointRange { from_value: 0.0, to_value: 1.0, step: 0.25 };
        assert_eq!(declaration.descriptor.floating_point_range, [range]);
    }

    #[test]
    fn only_type_of_run_time_is_dynamic_without_default() {
        let typed = ParameterDeclaration::<f64>::without_default().descriptor;
        assert_eq!((typed.type_, typed.dynamic_typing), (3, false));
        assert!(ParameterDeclaration::<ParameterValue>::without_default().descriptor.dynamic_typing);
    }
}
