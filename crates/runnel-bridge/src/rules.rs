//! Rules for packages, messages, services and fields that have different names in the two generations, in the YAML format
//! of `ros1_bridge`, and the rules that are built in.
//!
//! A file is a list of rules. Each is a mapping with these keys:
//!
//! | Kind | Keys |
//! |---|---|
//! | package | `ros1_package_name`, `ros2_package_name` |
//! | message | those and `ros1_message_name`, `ros2_message_name` |
//! | fields | those and `fields_1_to_2`, a mapping from fields of ROS 1 to fields of ROS 2 |
//! | service | the package and `ros1_service_name`, `ros2_service_name` |
//! | fields of a service | those and `request_fields_1_to_2`, `response_fields_1_to_2` |
//!
//! A rule of fields lists all fields that are converted. Source: the documentation of the package `ros1_bridge`.

mod parse;

use std::fmt;

use runnel_core::schema::{Generation, Kind, TypeName};

/// The built-in rules. Types that have the same name in both generations need none.
const BUILT_IN: &str = include_str!("rules/built_in.yaml");

/// See the module's documentation. Later rules precede earlier ones, so that a user's rules precede the built-in ones.
#[derive(Clone, Debug)]
pub struct Rules {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rule {
    ros1_package: String,
    ros2_package: String,
    /// The names of one type in ROS 1 and ROS 2; `None` for all types of the package.
    names: Option<TypeNames>,
    fields: Vec<FieldPair>,
    request_fields: Vec<FieldPair>,
    response_fields: Vec<FieldPair>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TypeNames {
    kind: Kind,
    ros1: String,
    ros2: String,
}

/// A ROS 1 field and the corresponding ROS 2 field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPair {
    /// The field in ROS 1.
    pub ros1: FieldPath,
    /// The field in ROS 2.
    pub ros2: FieldPath,
}

/// A path to a field, such as `header.stamp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// Reads a path; `None` if a part of it is empty.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<String> = text.split('.').map(str::to_owned).collect();
        parts.iter().all(|part| !part.is_empty()).then_some(Self(parts))
    }

    /// The path to a field of the message itself.
    pub fn of_field(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    /// The names of its fields, outermost first.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    pub(crate) fn text_of(parts: &[String]) -> String {
        parts.join(".")
    }
}

/// A rule file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesError {
    /// Number of the rule in the file, from 1; `None` if the file as a whole is at fault.
    pub rule: Option<usize>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Some(rule) => write!(f, "rule {rule}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for RulesError {}

impl Default for Rules {
    /// The built-in rules.
    fn default() -> Self {
        let mut rules = Self::none();
        // A unit test parses them.
        let _ = rules.add(BUILT_IN);
        rules
    }
}

impl Rules {
    /// No rules, not even the built-in ones.
    pub fn none() -> Self {
        Self { rules: Vec::new() }
    }

    /// Adds the rules of a file, which precede those before.
    ///
    /// # Errors
    /// If the text is not YAML, or a rule lacks a key or has an unknown one.
    pub fn add(&mut self, text: &str) -> Result<(), RulesError> {
        let mut added = parse::rules(text)?;
        added.append(&mut self.rules);
        self.rules = added;
        Ok(())
    }

    /// The names that a type may have in the other generation, the most likely one first. The last is its own name.
    pub fn counterparts(&self, kind: Kind, of: Generation, name: &TypeName) -> Vec<TypeName> {
        let mut found: Vec<TypeName> = Vec::new();
        let by_name = self.rules.iter().filter_map(|rule| rule.exact(kind, of, name));
        let by_package = self.rules.iter().filter_map(|rule| rule.of_package(of, name));
        for counterpart in by_name.chain(by_package).chain([name.clone()]) {
            if !found.contains(&counterpart) {
                found.push(counterpart);
            }
        }
        found
    }

    /// True if a message of ROS 1 and one of ROS 2 correspond.
    pub fn correspond(&self, kind: Kind, ros1: &TypeName, ros2: &TypeName) -> bool {
        self.counterparts(kind, Generation::Ros1, ros1).contains(ros2)
            || self.counterparts(kind, Generation::Ros2, ros2).contains(ros1)
    }

    /// The pairs of fields of two messages, if a rule lists them. Requests and responses of services count as messages.
    pub fn fields(&self, ros1: &TypeName, ros2: &TypeName) -> Option<&[FieldPair]> {
        self.rules.iter().find_map(|rule| rule.fields_of(ros1, ros2))
    }
}

impl Rule {
    fn packages(&self, of: Generation) -> (&str, &str) {
        match of {
            Generation::Ros1 => (&self.ros1_package, &self.ros2_package),
            Generation::Ros2 => (&self.ros2_package, &self.ros1_package),
        }
    }

    /// The counterpart of a type that the rule names.
    fn exact(&self, kind: Kind, of: Generation, name: &TypeName) -> Option<TypeName> {
        let names = self.names.as_ref().filter(|names| names.kind == kind)?;
        let (own, other) = match of {
            Generation::Ros1 => (&names.ros1, &names.ros2),
            Generation::Ros2 => (&names.ros2, &names.ros1),
        };
        let (package, other_package) = self.packages(of);
        (name.package == package && name.name == *own).then(|| TypeName::new(other_package, other))
    }

    /// The counterpart of a type whose package the rule names.
    fn of_package(&self, of: Generation, name: &TypeName) -> Option<TypeName> {
        let (package, other) = self.packages(of);
        (self.names.is_none() && name.package == package).then(|| TypeName::new(other, &name.name))
    }

    fn fields_of(&self, ros1: &TypeName, ros2: &TypeName) -> Option<&[FieldPair]> {
        let names = self.names.as_ref()?;
        if ros1.package != self.ros1_package || ros2.package != self.ros2_package {
            return None;
        }
        let parts = match names.kind {
            Kind::Service => [("Request", &self.request_fields), ("Response", &self.response_fields)],
            _ => [("", &self.fields), ("", &self.fields)],
        };
        let is_pair = |suffix: &str| {
            ros1.name.strip_suffix(suffix) == Some(&names.ros1)
                && ros2.name.strip_suffix(suffix) == Some(&names.ros2)
        };
        let fields = parts.into_iter().find(|(suffix, _)| is_pair(suffix))?.1;
        (!fields.is_empty()).then_some(fields)
    }
}

#[cfg(test)]
mod tests;
