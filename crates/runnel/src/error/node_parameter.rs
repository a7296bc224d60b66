//! Errors of a node's own parameters.

use std::fmt;

/// Why a node's own parameter was not declared, set or read. The text is also the reason in the answer of the parameter
/// services.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterError {
    /// The node has not declared the parameter.
    NotDeclared {
        /// Its name.
        name: String,
    },
    /// The node has declared the parameter already.
    AlreadyDeclared {
        /// Its name.
        name: String,
    },
    /// The name is not one that a parameter can have.
    InvalidName {
        /// The name.
        name: String,
    },
    /// The parameter was declared without a value, and has none yet.
    NotSet {
        /// Its name.
        name: String,
    },
    /// The parameter is read-only.
    ReadOnly {
        /// Its name.
        name: String,
    },
    /// The value is of another type than the parameter.
    WrongType {
        /// The parameter's name.
        name: String,
        /// Its type.
        declared: &'static str,
        /// The type and, if it is a single one, the value.
        given: String,
        /// Where the value is from, if it is an override: `arguments of the node`, `robot.yaml line 3`.
        origin: Option<String>,
    },
    /// The value is not in the parameter's range.
    OutOfRange {
        /// The parameter's name.
        name: String,
        /// The value.
        value: String,
        /// The range: `integer range 1 to 100 in steps of 5`.
        range: String,
        /// Where the value is from, if it is an override.
        origin: Option<String>,
    },
    /// The parameter cannot be deleted, since its type is static.
    StaticType {
        /// Its name.
        name: String,
    },
    /// The value is of a kind that only ROS 1 has, such as a map.
    NoRos2Type {
        /// The parameter's name.
        name: String,
        /// The kind.
        kind: &'static str,
        /// Where the value is from, if it is an override.
        origin: Option<String>,
    },
    /// A callback of the node refuses the value.
    Refused {
        /// The callback's reason.
        reason: String,
    },
    /// No parameter is to be set: the list is empty, or a pre-set callback has emptied it.
    Empty,
    /// A callback of the node's parameters tried to change its parameters.
    ChangedInCallback,
    /// The node has too many parameters that it has not declared.
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The values of parameters that the node has not declared are too long.
    TooManyBytes {
        /// The limit for all of them, in bytes.
        limit: usize,
    },
    /// The name of a parameter that the node has not declared is too long.
    NameTooLong {
        /// The limit in bytes.
        limit: usize,
    },
}

/// Values are refused in words that rclcpp uses too, so that a search finds what others write about them.
impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDeclared { name } => write!(f, "parameter {name} is not declared"),
            Self::AlreadyDeclared { name } => write!(f, "parameter {name} is already declared"),
            Self::InvalidName { name } if name.is_empty() => f.write_str("the name of a parameter is empty"),
            Self::InvalidName { name } => write!(f, "{name:?} is not the name of a parameter"),
            Self::NotSet { name } => {
                write!(f, "parameter {name} has no value. Try: -p {name}:=VALUE, or declare it with a default")
            }
            Self::ReadOnly { name } => write!(
                f,
                "parameter {name} cannot be set because it is read-only. Try: -p {name}:=VALUE at the start of the node"
            ),
            Self::WrongType { name, declared, given, origin } => {
                write!(f, "parameter {name} is of type {declared}, setting it to the {given} is not allowed")?;
                write_origin(f, origin.as_deref())
            }
            Self::OutOfRange { name, value, range, origin } => {
                write!(f, "parameter {name}: {value} does not comply with {range}")?;
                write_origin(f, origin.as_deref())
            }
            Self::StaticType { name } => {
                write!(f, "parameter {name} cannot be deleted: its type is static. Try: declare it with dynamic typing")
            }
            Self::NoRos2Type { name, kind, origin } => {
                write!(f, "parameter {name}: ROS 2 has no parameters of kind {kind}")?;
                write_origin(f, origin.as_deref())
            }
            Self::Refused { reason } => f.write_str(reason),
            Self::Empty => f.write_str(
                "no parameter is to be set: the list is empty, or a pre-set callback of the node has emptied it",
            ),
            Self::ChangedInCallback => {
                f.write_str("a callback of the node's parameters cannot change its parameters")
            }
            Self::TooMany { limit } => write!(f, "the node has {limit} undeclared parameters, which is the limit"),
            Self::TooManyBytes { limit } => {
                write!(f, "the values of undeclared parameters are limited to {limit} bytes in all")
            }
            Self::NameTooLong { limit } => {
                write!(f, "the name of an undeclared parameter is limited to {limit} bytes")
            }
        }
    }
}

fn write_origin(f: &mut fmt::Formatter<'_>, origin: Option<&str>) -> fmt::Result {
    origin.map_or(Ok(()), |origin| write!(f, " ({origin})"))
}

impl std::error::Error for ParameterError {}

impl ParameterError {
    /// The error with the origin of its value, if it is about a value.
    #[must_use]
    pub(crate) fn with_origin(mut self, from: &str) -> Self {
        if let Self::WrongType { origin, .. }
        | Self::OutOfRange { origin, .. }
        | Self::NoRos2Type { origin, .. } = &mut self
        {
            *origin = Some(from.to_owned());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_type_value_and_origin() {
        let error = ParameterError::WrongType {
            name: "rate".into(),
            declared: "double",
            given: "string \"fast\"".into(),
            origin: None,
        };
        assert_eq!(
            error.clone().with_origin("robot.yaml line 3").to_string(),
            "parameter rate is of type double, setting it to the string \"fast\" is not allowed (robot.yaml line 3)"
        );
        assert_eq!(ParameterError::Empty.with_origin("x"), ParameterError::Empty);
    }
}
