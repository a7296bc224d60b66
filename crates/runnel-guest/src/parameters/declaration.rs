//! Declaration of a parameter.

use super::value::{FromParameter, ParameterValue};

/// A type that a declared parameter can have: `bool`, `i64`, `f64`, [`String`], vectors of these and of `u8`, and
/// [`ParameterValue`].
pub trait DeclaredType: FromParameter + Into<ParameterValue> {}

impl<T: FromParameter + Into<ParameterValue>> DeclaredType for T {}

/// How a node declares a parameter. For [`Node::declare_parameter`](crate::Node::declare_parameter).
#[derive(Clone, Debug)]
pub struct ParameterDeclaration<T> {
    pub(crate) default: T,
    pub(crate) is_read_only: bool,
}

impl<T: DeclaredType> ParameterDeclaration<T> {
    /// A parameter with a default value, whose type it keeps.
    pub fn new(default: T) -> Self {
        Self { default, is_read_only: false }
    }

    /// Keeps the parameter from changing after its declaration.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
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
