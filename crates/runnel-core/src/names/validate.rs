//! Validation of names.
//!
//! Sources: the checks of roscpp (`names::validate`) and, for ROS 2, those that rcl and rmw make.

use alloc::string::String;
use core::fmt;

/// Maximum length of a name in bytes: in ROS 2 a DDS topic has at most 255, 8 of them for prefixes. ROS 1 has no limit; the
/// same one is applied.
pub const MAX_NAME_LEN: usize = 247;

/// A generation of ROS, where their rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// ROS 1.
    Ros1,
    /// ROS 2.
    Ros2,
}

/// What a name is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameUse {
    /// It is not known.
    #[default]
    Any,
    /// A node, without its namespace.
    Node,
    /// A topic.
    Topic,
    /// A service.
    Service,
    /// An action.
    Action,
    /// A parameter.
    Parameter,
}

/// A name that is not valid, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError {
    /// What the name is for.
    pub used_for: NameUse,
    /// The name, cut after its first 247 characters.
    pub name: String,
    /// The kind of error.
    pub kind: NameErrorKind,
}

/// Reason why a name is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameErrorKind {
    /// The name is empty.
    Empty,
    /// More than [`MAX_NAME_LEN`] bytes.
    TooLong,
    /// It may not begin with this character.
    BadStart(char),
    /// The name contains an invalid character.
    BadCharacter(char),
    /// Two slashes follow one another.
    EmptyPart,
    /// A part between slashes begins with a digit, which ROS 2 does not allow.
    PartStartsWithDigit,
    /// A slash ends it.
    TrailingSlash,
    /// It should begin with a slash.
    NotAbsolute,
}

impl NameError {
    /// The error of a name for this use.
    pub fn used_for(self, used_for: NameUse) -> Self {
        Self { used_for, ..self }
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { used_for, name, kind } = self;
        let used_for = match used_for {
            NameUse::Any => return write!(f, "name {name:?}: {kind}"),
            NameUse::Node => "node",
            NameUse::Topic => "topic",
            NameUse::Service => "service",
            NameUse::Action => "action",
            NameUse::Parameter => "parameter",
        };
        let valid = match self.used_for {
            NameUse::Node => "letters, digits and '_'; no digit first",
            _ => "letters, digits, '_' and '/'; no digit first, '~' only first",
        };
        write!(f, "{used_for} name {name:?}: {kind}. Valid are {valid}")
    }
}

impl fmt::Display for NameErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::TooLong => write!(f, "is longer than {MAX_NAME_LEN} bytes"),
            Self::BadStart(c) => write!(f, "may not begin with {c:?}"),
            Self::BadCharacter(c) => write!(f, "may not contain {c:?}"),
            Self::EmptyPart => f.write_str("has two slashes in a row"),
            Self::PartStartsWithDigit => f.write_str("has a part that begins with a digit"),
            Self::TrailingSlash => f.write_str("ends with a slash"),
            Self::NotAbsolute => f.write_str("does not begin with a slash"),
        }
    }
}

impl core::error::Error for NameError {}

/// Checks the name of a topic, service or parameter as a program writes it: absolute, relative or private.
///
/// ROS 1: a letter, `/` or `~`, then letters, digits, `_` and `/`; the empty name is the namespace. ROS 2: parts of
/// letters, digits and `_` that do not begin with a digit, joined by single slashes, after `/`, `~/` or nothing.
///
/// # Errors
/// As [`NameErrorKind`] lists.
pub fn validate_name(name: &str, generation: Generation) -> Result<(), NameError> {
    let check = match generation {
        Generation::Ros1 => check_ros1(name),
        Generation::Ros2 => check_ros2(name),
    };
    check.map_err(|kind| error(name, kind))
}

/// Checks the name of a node, which has no slashes. In ROS 1 it begins with a letter, in ROS 2 with a letter or underscore.
///
/// # Errors
/// As [`NameErrorKind`] lists.
pub fn validate_node_name(name: &str, generation: Generation) -> Result<(), NameError> {
    let start = |c: char| c.is_ascii_alphabetic() || generation == Generation::Ros2 && c == '_';
    let check = match name.chars().next() {
        None => Err(NameErrorKind::Empty),
        Some(c) if !start(c) => Err(NameErrorKind::BadStart(c)),
        Some(_) => check_length(name).and_then(|()| check_characters(name, is_word)),
    };
    check.map_err(|kind| error(name, kind).used_for(NameUse::Node))
}

/// Checks a namespace of either generation: `/`, or an absolute name.
///
/// # Errors
/// As [`NameErrorKind`] lists.
pub fn validate_namespace(namespace: &str) -> Result<(), NameError> {
    if namespace == "/" {
        return Ok(());
    }
    validate_resolved(namespace)?;
    match namespace.ends_with('/') {
        true => Err(error(namespace, NameErrorKind::TrailingSlash)),
        false => Ok(()),
    }
}

/// Checks a resolved name by the rules of both generations: absolute, parts of letters, digits and underscores, and not too
/// long.
///
/// # Errors
/// As [`NameErrorKind`] lists.
pub fn validate_resolved(name: &str) -> Result<(), NameError> {
    if !name.starts_with('/') {
        return Err(error(name, NameErrorKind::NotAbsolute));
    }
    validate_spelling(name)
}

/// Checks that a name is valid in at least one generation.
pub(super) fn validate_spelling(name: &str) -> Result<(), NameError> {
    let either = check_ros1(name).or_else(|kind| check_ros2(name).map_err(|_| kind));
    either.map_err(|kind| error(name, kind))
}

fn check_ros1(name: &str) -> Result<(), NameErrorKind> {
    check_length(name)?;
    let Some(first) = name.chars().next() else { return Ok(()) };
    if !(first.is_ascii_alphabetic() || matches!(first, '/' | '~')) {
        return Err(NameErrorKind::BadStart(first));
    }
    let rest = name.strip_prefix('~').unwrap_or(name);
    check_characters(rest, |c| is_word(c) || c == '/')?;
    match rest.contains("//") {
        true => Err(NameErrorKind::EmptyPart),
        false => Ok(()),
    }
}

fn check_ros2(name: &str) -> Result<(), NameErrorKind> {
    check_length(name)?;
    let rest = match name.strip_prefix('~') {
        Some("") => return Ok(()),
        Some(private) if !private.starts_with('/') => return Err(NameErrorKind::BadStart('~')),
        Some(private) => private,
        None => name,
    };
    if rest.is_empty() {
        return Err(NameErrorKind::Empty);
    }
    if rest.ends_with('/') {
        return Err(NameErrorKind::TrailingSlash);
    }
    rest.strip_prefix('/').unwrap_or(rest).split('/').try_for_each(check_part)
}

fn check_part(part: &str) -> Result<(), NameErrorKind> {
    match part.chars().next() {
        None => Err(NameErrorKind::EmptyPart),
        Some(first) if first.is_ascii_digit() => Err(NameErrorKind::PartStartsWithDigit),
        Some(_) => check_characters(part, is_word),
    }
}

fn check_length(name: &str) -> Result<(), NameErrorKind> {
    if name.len() > MAX_NAME_LEN { Err(NameErrorKind::TooLong) } else { Ok(()) }
}

fn check_characters(name: &str, allowed: impl Fn(char) -> bool) -> Result<(), NameErrorKind> {
    match name.chars().find(|c| !allowed(*c)) {
        Some(c) => Err(NameErrorKind::BadCharacter(c)),
        None => Ok(()),
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn error(name: &str, kind: NameErrorKind) -> NameError {
    NameError { used_for: NameUse::Any, name: name.chars().take(MAX_NAME_LEN).collect(), kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Generation::{Ros1, Ros2};
    use NameErrorKind::*;
    use alloc::format;

    #[test]
    fn each_generation_has_its_own_valid_names() {
        let table = [
            ("a", Ok(()), Ok(())),
            ("/a/b_2", Ok(()), Ok(())),
            ("~a", Ok(()), Err(BadStart('~'))),
            ("~/a", Ok(()), Ok(())),
            ("~", Ok(()), Ok(())),
            ("a/", Ok(()), Err(TrailingSlash)),
            ("/", Ok(()), Err(TrailingSlash)),
            ("", Ok(()), Err(Empty)),
            ("_a", Err(BadStart('_')), Ok(())),
            ("1a", Err(BadStart('1')), Err(PartStartsWithDigit)),
            ("a/1b", Ok(()), Err(PartStartsWithDigit)),
            ("a//b", Err(EmptyPart), Err(EmptyPart)),
            ("a b", Err(BadCharacter(' ')), Err(BadCharacter(' '))),
            ("a~", Err(BadCharacter('~')), Err(BadCharacter('~'))),
            ("ä", Err(BadStart('ä')), Err(BadCharacter('ä'))),
        ];
        for (name, in_ros1, in_ros2) in table {
            assert_eq!(validate_name(name, Ros1).map_err(|e| e.kind), in_ros1, "{name} in ROS 1");
            assert_eq!(validate_name(name, Ros2).map_err(|e| e.kind), in_ros2, "{name} in ROS 2");
        }
    }

    #[test]
    fn node_names_have_no_slashes() {
        assert_eq!(validate_node_name("talker_1", Ros1), Ok(()));
        assert_eq!(validate_node_name("_hidden", Ros2), Ok(()));
        for (name, kind) in
            [("_hidden", BadStart('_')), ("a/b", BadCharacter('/')), ("", Empty), ("~a", BadStart('~'))]
        {
            assert_eq!(validate_node_name(name, Ros1).map_err(|e| e.kind), Err(kind));
        }
    }

    #[test]
    fn namespace_is_absolute_without_trailing_slash() {
        for good in ["/", "/a", "/a/b"] {
            assert_eq!(validate_namespace(good), Ok(()));
        }
        for (bad, kind) in
            [("", NotAbsolute), ("a", NotAbsolute), ("/a/", TrailingSlash), ("/a b", BadCharacter(' '))]
        {
            assert_eq!(validate_namespace(bad).map_err(|e| e.kind), Err(kind));
        }
    }

    #[test]
    fn error_quotes_bounded_name() {
        let error = validate_name(&"é".repeat(100_000), Ros2).unwrap_err();
        assert_eq!((error.kind, error.name.chars().count()), (TooLong, MAX_NAME_LEN));
        let text = format!("{}", validate_name("a b", Ros1).unwrap_err());
        assert_eq!(text, "name \"a b\": may not contain ' '");
        let topic = NameError { used_for: NameUse::Topic, name: String::new(), kind: Empty };
        let valid = "Valid are letters, digits, '_' and '/'; no digit first, '~' only first";
        assert_eq!(format!("{topic}"), format!("topic name \"\": is empty. {valid}"));
        let node = validate_node_name("a/b", Ros1).unwrap_err();
        let valid = "Valid are letters, digits and '_'; no digit first";
        assert_eq!(format!("{node}"), format!("node name \"a/b\": may not contain '/'. {valid}"));
    }
}
