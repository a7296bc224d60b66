//! The requested type of a parameter that has another type.

use std::fmt;

/// The type as which a program reads a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedType {
    /// Its name in Rust, with the path of its module.
    pub name: &'static str,
    /// Its values in words: [`FromParameter::EXPECTED`](crate::FromParameter::EXPECTED).
    pub expected: &'static str,
    /// One of its values on a command line: [`FromParameter::EXAMPLE`](crate::FromParameter::EXAMPLE).
    pub example: &'static str,
}

impl fmt::Display for WantedType {
    /// The type's name as programs write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name.replace("alloc::string::", "").replace("alloc::vec::", ""))
    }
}
