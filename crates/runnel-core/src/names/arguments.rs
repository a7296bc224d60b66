//! Command-line arguments of both generations: node names, remappings and parameters.
//!
//! ROS 1 arguments may be anywhere: `a:=b`, `_p:=v`, `__name:=n`. ROS 2 arguments are between `--ros-args` and `--`
//! or the end: `-r a:=b`, `-p k:=v`.

#[cfg(test)]
mod tests;

use super::clean_namespace;
use super::remap::{RemapRule, Remapping, node_identity};
use super::validate::{Generation, NameError, validate_namespace, validate_node_name, validate_spelling};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// The parsed arguments of both generations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Remapping rules, in order. Of ROS 1 rules for the same name the last one applies; of ROS 2 rules the first one that
    /// matches.
    pub remaps: Vec<RemapRule>,
    /// The node's name (`__name:=`, or the first `-r __node:=` if that is not for one node only).
    pub node_name: Option<String>,
    /// The node's namespace, absolute and clean (`__ns:=`, or `-r __ns:=`, likewise).
    pub namespace: Option<String>,
    /// The ROS 1 master's URI (`__master:=`).
    pub master: Option<String>,
    /// The IP address to announce (`__ip:=`).
    pub ip: Option<String>,
    /// The host name to announce (`__hostname:=`).
    pub hostname: Option<String>,
    /// The file to log to (`__log:=`).
    pub log_file: Option<String>,
    /// Parameters to set, in the order given.
    pub params: Vec<ParamArgument>,
    /// Files of parameters (`--params-file`).
    pub params_files: Vec<String>,
    /// The least level to log, or `logger:=level` (`--log-level`), in the order given.
    pub log_levels: Vec<String>,
    /// Nodes do not publish their log on `/rosout` (`--disable-rosout-logs`; of several switches the last).
    pub disable_rosout_logs: bool,
    /// Nodes do not log to the console (`--disable-stdout-logs`, likewise).
    pub disable_stdout_logs: bool,
    /// Nodes do not log to a file (`--disable-external-lib-logs`, likewise).
    pub disable_external_lib_logs: bool,
    /// The first part of the log file's name, instead of the program's name (`--log-file-name`).
    pub log_file_name: Option<String>,
    /// The configuration of rcl's logging library (`--log-config-file`).
    pub log_config_file: Option<String>,
    /// The security enclave (`--enclave`), an absolute name.
    pub enclave: Option<String>,
    /// The remaining arguments, for the program.
    pub rest: Vec<String>,
}

/// A parameter that an argument sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamArgument {
    /// The name of the node for which it is; `None` for every node.
    pub node: Option<String>,
    /// The parameter's name as given.
    pub name: String,
    /// The value as given.
    pub value: String,
    /// Whether the value is YAML, as in ROS 2; otherwise it is a text, number or truth value, as in ROS 1.
    pub is_yaml: bool,
}

/// An argument that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentError {
    /// The flag needs a value after it.
    MissingValue {
        /// The flag.
        flag: String,
    },
    /// An unknown flag between `--ros-args` and `--`.
    UnknownFlag {
        /// The flag.
        flag: String,
    },
    /// It should read `a:=b`.
    NotAnAssignment {
        /// Its text.
        argument: String,
    },
    /// A name in it is not valid.
    Name {
        /// The argument.
        argument: String,
        /// The invalid name in it.
        error: NameError,
    },
    /// The value of a ROS 1 remapping `a:=b` is not a name. The user may have meant the parameter `_a:=b`.
    RemapValue {
        /// The argument.
        argument: String,
        /// The value.
        error: NameError,
    },
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingValue { flag } => write!(f, "{flag}: a value should follow"),
            Self::UnknownFlag { flag } => write!(f, "{flag}: not a ROS argument (those end with --)"),
            Self::NotAnAssignment { argument } => write!(f, "{argument}: should have the form NAME:=VALUE"),
            Self::Name { argument, error } => write!(f, "{argument}: {error}"),
            Self::RemapValue { argument, error } => {
                let param = argument.trim_start_matches(['/', '~']);
                write!(f, "{argument}: {error}; NAME:=OTHER remaps a name. Try: _{param} to set a parameter")
            }
        }
    }
}

impl core::error::Error for ArgumentError {}

/// ROS 2 rules for every node: later rules for the same name are ignored.
#[derive(Default)]
struct Settled {
    node: bool,
    namespace: bool,
}

impl Arguments {
    /// Reads a program's arguments, without the program's own name.
    ///
    /// # Errors
    /// If an argument has the form of a ROS argument but cannot be followed.
    pub fn parse<I>(arguments: I) -> Result<Self, ArgumentError>
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let (mut parsed, mut settled) = (Self::default(), Settled::default());
        let mut arguments = arguments.into_iter().map(Into::into);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--ros-args" => parsed.ros2(&mut arguments, &mut settled)?,
                _ => parsed.ros1(argument)?,
            }
        }
        Ok(parsed)
    }

    /// The namespace and the name of the node that its program calls `default`.
    ///
    /// # Errors
    /// If the name is not valid.
    pub fn node(&self, default: &str) -> Result<(String, String), NameError> {
        let given = (self.namespace.as_deref(), self.node_name.as_deref());
        let (namespace, name) = node_identity(&self.remaps, given, default);
        validate_node_name(&name, Generation::Ros2)?;
        Ok((namespace, name))
    }

    /// The rules for the node `namespace`/`node_name`, resolved in it.
    ///
    /// # Errors
    /// If a side of a rule is not a name.
    pub fn remapping(&self, namespace: &str, node_name: &str) -> Result<Remapping, NameError> {
        Remapping::new(&self.remaps, namespace, node_name)
    }

    /// The parameters that are for the node `node_name`.
    pub fn params_of<'a>(&'a self, node_name: &'a str) -> impl Iterator<Item = &'a ParamArgument> {
        self.params.iter().filter(move |param| param.node.as_deref().is_none_or(|node| node == node_name))
    }

    /// The arguments that Runnel does not support yet, for a warning.
    pub fn not_followed(&self) -> impl Iterator<Item = String> {
        self.log_config_file.iter().map(|file| format!("--log-config-file {file}"))
    }

    fn ros1(&mut self, argument: String) -> Result<(), ArgumentError> {
        let Some((left, right)) = argument.split_once(":=").filter(|(left, _)| is_ros1_left_side(left))
        else {
            self.rest.push(argument);
            return Ok(());
        };
        let value = Some(right.to_string());
        match left {
            "__name" => self.node_name = Some(node_name(&argument, right)?),
            "__ns" => self.namespace = Some(namespace(&argument, right)?),
            "__master" => self.master = value,
            "__ip" => self.ip = value,
            "__hostname" => self.hostname = value,
            "__log" => self.log_file = value,
            _ if left.starts_with("__") => self.rest.push(argument),
            _ => match left.strip_prefix('_') {
                Some(param) => {
                    let (name, value) = (param.into(), right.into());
                    self.params.push(ParamArgument { node: None, name, value, is_yaml: false });
                }
                None => self.ros1_remap(&argument, left, right)?,
            },
        }
        Ok(())
    }

    fn ros1_remap(&mut self, argument: &str, from: &str, to: &str) -> Result<(), ArgumentError> {
        let rule = remap_rule(argument, None, from, to).map_err(|error| match error {
            ArgumentError::Name { argument, error } => ArgumentError::RemapValue { argument, error },
            other => other,
        })?;
        self.remaps.retain(|earlier| earlier.node.is_some() || earlier.from != rule.from);
        self.remaps.push(rule);
        Ok(())
    }

    fn ros2(
        &mut self,
        arguments: &mut impl Iterator<Item = String>,
        settled: &mut Settled,
    ) -> Result<(), ArgumentError> {
        while let Some(flag) = arguments.next() {
            if flag == "--" {
                break;
            }
            let mut value = || arguments.next().ok_or(ArgumentError::MissingValue { flag: flag.clone() });
            match flag.as_str() {
                "-r" | "--remap" => self.ros2_remap(&value()?, settled)?,
                "-p" | "--param" => self.ros2_param(&value()?)?,
                "--params-file" => self.params_files.push(value()?),
                "--log-level" => self.log_levels.push(value()?),
                "-e" | "--enclave" => self.enclave = Some(enclave(value()?)?),
                "--log-config-file" => self.log_config_file = Some(value()?),
                "--log-file-name" => self.log_file_name = Some(value()?),
                "--enable-rosout-logs" => self.disable_rosout_logs = false,
                "--disable-rosout-logs" => self.disable_rosout_logs = true,
                "--enable-stdout-logs" => self.disable_stdout_logs = false,
                "--disable-stdout-logs" => self.disable_stdout_logs = true,
                "--enable-external-lib-logs" => self.disable_external_lib_logs = false,
                "--disable-external-lib-logs" => self.disable_external_lib_logs = true,
                "--ros-args" => {}
                _ => return Err(ArgumentError::UnknownFlag { flag }),
            }
        }
        Ok(())
    }

    fn ros2_remap(&mut self, argument: &str, settled: &mut Settled) -> Result<(), ArgumentError> {
        let (left, to) = assignment(argument)?;
        let (node, from) = match left.split_once(':') {
            Some((node, from)) => (Some(node_name(argument, node)?), from),
            None => (None, left),
        };
        match (from, &node) {
            ("__node" | "__name", _) => {
                let to = node_name(argument, to)?;
                match node {
                    _ if settled.node => {}
                    None => (self.node_name, settled.node) = (Some(to), true),
                    Some(_) => self.remaps.push(RemapRule { node, from: "__node".into(), to }),
                }
            }
            ("__ns", _) => {
                let to = namespace(argument, to)?;
                match node {
                    _ if settled.namespace => {}
                    None => (self.namespace, settled.namespace) = (Some(to), true),
                    Some(_) => self.remaps.push(RemapRule { node, from: from.into(), to }),
                }
            }
            _ => self.remaps.push(remap_rule(argument, node, from, to)?),
        }
        Ok(())
    }

    fn ros2_param(&mut self, argument: &str) -> Result<(), ArgumentError> {
        let (left, value) = assignment(argument)?;
        let (node, name) = match left.split_once(':') {
            Some((node, name)) => (Some(node_name(argument, node)?), name),
            None => (None, left),
        };
        if name.is_empty() {
            return Err(ArgumentError::NotAnAssignment { argument: argument.into() });
        }
        self.params.push(ParamArgument { node, name: name.into(), value: value.into(), is_yaml: true });
        Ok(())
    }
}

/// Whether `left` is valid before `:=` in a ROS 1 argument; others, such as `--option:=x`, belong to the program.
fn is_ros1_left_side(left: &str) -> bool {
    let rest = left.strip_prefix("__").or_else(|| left.strip_prefix('_'));
    match rest {
        Some(rest) => {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '/'))
        }
        None => !left.is_empty() && validate_spelling(left).is_ok(),
    }
}

fn assignment(argument: &str) -> Result<(&str, &str), ArgumentError> {
    let parts = argument.split_once(":=").filter(|(left, _)| !left.is_empty());
    parts.ok_or_else(|| ArgumentError::NotAnAssignment { argument: argument.into() })
}

fn remap_rule(
    argument: &str,
    node: Option<String>,
    from: &str,
    to: &str,
) -> Result<RemapRule, ArgumentError> {
    for name in [from, to] {
        if name.is_empty() {
            return Err(ArgumentError::NotAnAssignment { argument: argument.into() });
        }
        named(argument, validate_spelling(name))?;
    }
    Ok(RemapRule { node, from: from.into(), to: to.into() })
}

fn node_name(argument: &str, name: &str) -> Result<String, ArgumentError> {
    named(argument, validate_node_name(name, Generation::Ros2))?;
    Ok(name.into())
}

fn namespace(argument: &str, namespace: &str) -> Result<String, ArgumentError> {
    let clean = clean_namespace(namespace);
    named(argument, validate_spelling(&clean))?;
    Ok(clean)
}

fn enclave(name: String) -> Result<String, ArgumentError> {
    named(&format!("--enclave {name}"), validate_namespace(&name))?;
    Ok(name)
}

/// The error with the argument in which it arose.
fn named(argument: &str, check: Result<(), NameError>) -> Result<(), ArgumentError> {
    check.map_err(|error| ArgumentError::Name { argument: argument.into(), error })
}
