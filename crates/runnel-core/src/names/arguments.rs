//! Command-line arguments of both generations: node names, remappings and parameters.
//!
//! ROS 1 arguments may be anywhere: `a:=b`, `_p:=v`, `__name:=n`. ROS 2 arguments are between `--ros-args` and `--`
//! or the end: `-r a:=b`, `-p k:=v`.

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
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingValue { flag } => write!(f, "{flag}: a value should follow"),
            Self::UnknownFlag { flag } => write!(f, "{flag}: not a ROS argument (those end with --)"),
            Self::NotAnAssignment { argument } => write!(f, "{argument}: should have the form NAME:=VALUE"),
            Self::Name { argument, error } => write!(f, "{argument}: {error}"),
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
        let rule = remap_rule(argument, None, from, to)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn parse(line: &str) -> Result<Arguments, ArgumentError> {
        Arguments::parse(line.split_whitespace())
    }

    fn rule(node: Option<&str>, from: &str, to: &str) -> RemapRule {
        RemapRule { node: node.map(Into::into), from: from.into(), to: to.into() }
    }

    fn param(node: Option<&str>, name: &str, value: &str, is_yaml: bool) -> ParamArgument {
        ParamArgument { node: node.map(Into::into), name: name.into(), value: value.into(), is_yaml }
    }

    #[test]
    fn arguments_of_ros_1_stand_anywhere() {
        let line = "file chatter:=/talk _rate:=10 __name:=n __ns:=robot1/ __ip:=10.0.0.1 __hostname:=h \
                    __master:=http://m:11311 __log:=/tmp/l --verbose ~x:=y _empty:=";
        let arguments = parse(line).unwrap();
        let expected = Arguments {
            remaps: vec![rule(None, "chatter", "/talk"), rule(None, "~x", "y")],
            node_name: Some("n".into()),
            namespace: Some("/robot1".into()),
            master: Some("http://m:11311".into()),
            ip: Some("10.0.0.1".into()),
            hostname: Some("h".into()),
            log_file: Some("/tmp/l".into()),
            params: vec![param(None, "rate", "10", false), param(None, "empty", "", false)],
            rest: vec!["file".into(), "--verbose".into()],
            ..Arguments::default()
        };
        assert_eq!(arguments, expected);
    }

    #[test]
    fn arguments_of_ros_2_stand_between_ros_args_and_a_double_dash() {
        let line = "a --ros-args -r a:=b --remap __node:=n -r __ns:=/x -r talker:c:=d -p k:=v --params-file f.yaml \
                    --log-level debug --enclave /e --disable-rosout-logs -- -r z --ros-args -p node:q:=[1,2]";
        let arguments = parse(line).unwrap();
        let expected = Arguments {
            remaps: vec![rule(None, "a", "b"), rule(Some("talker"), "c", "d")],
            node_name: Some("n".into()),
            namespace: Some("/x".into()),
            params: vec![param(None, "k", "v", true), param(Some("node"), "q", "[1,2]", true)],
            params_files: vec!["f.yaml".into()],
            log_levels: vec!["debug".into()],
            disable_rosout_logs: true,
            enclave: Some("/e".into()),
            rest: vec!["a".into(), "-r".into(), "z".into()],
            ..Arguments::default()
        };
        assert_eq!(arguments, expected);
    }

    #[test]
    fn enclave_must_be_absolute_name() {
        assert_eq!(parse("--ros-args -e /").unwrap().enclave.as_deref(), Some("/"));
        let refused = parse("--ros-args --enclave robots/one").unwrap_err().to_string();
        assert_eq!(refused, r#"--enclave robots/one: name "robots/one": does not begin with a slash"#);
        assert!(parse("--ros-args --enclave /a;b").is_err());
    }

    #[test]
    fn similar_arguments_are_left_to_the_program() {
        let arguments = parse("--expr:=x 1:=2 :=x a.b:=c __unknown:=x").unwrap();
        assert_eq!(arguments.rest, ["--expr:=x", "1:=2", ":=x", "a.b:=c", "__unknown:=x"]);
        assert_eq!(arguments.remaps, []);
    }

    #[test]
    fn last_rule_counts_in_ros_1_and_first_in_ros_2() {
        let remap = |line: &str| {
            let remapping = parse(line).unwrap().remapping("/", "n").unwrap();
            remapping.remap("/a").to_string()
        };
        assert_eq!(remap("a:=b a:=c"), "/c");
        assert_eq!(remap("--ros-args -r a:=b -r a:=c"), "/b");
    }

    #[test]
    fn user_may_override_the_node_name() {
        let node = |line: &str| parse(line).unwrap().node("talker").unwrap();
        assert_eq!(node(""), ("/".into(), "talker".into()));
        assert_eq!(node("__name:=n __ns:=x"), ("/x".into(), "n".into()));
        assert_eq!(node("--ros-args -r talker:__node:=a -r talker:__ns:=/b"), ("/b".into(), "a".into()));
        assert_eq!(node("--ros-args -r other:__node:=a"), ("/".into(), "talker".into()));
    }

    #[test]
    fn first_matching_node_rule_counts_in_ros_2() {
        let node = |line: &str| parse(&format!("--ros-args {line}")).unwrap().node("talker").unwrap();
        let is = |namespace: &str, name: &str| (namespace.to_string(), name.to_string());
        assert_eq!(node("-r __node:=a -r __node:=b"), is("/", "a"));
        assert_eq!(node("-r talker:__node:=x -r __node:=y"), is("/", "x"));
        assert_eq!(node("-r __node:=y -r talker:__node:=x"), is("/", "y"));
        assert_eq!(node("-r other:__node:=x -r __node:=y"), is("/", "y"));
        assert_eq!(node("-r __ns:=/a -r __ns:=/b"), is("/a", "talker"));
        assert_eq!(node("-r talker:__ns:=/x -r __ns:=/y"), is("/x", "talker"));
        assert_eq!(node("-r __ns:=/y -r talker:__ns:=/x"), is("/y", "talker"));
    }

    #[test]
    fn parameters_for_other_nodes_are_ignored() {
        let arguments = parse("_a:=1 --ros-args -p b:=2 -p me:c:=3 -p other:d:=4").unwrap();
        let mine = arguments.params_of("me").map(|param| (param.name.as_str(), param.value.as_str()));
        assert!(mine.eq([("a", "1"), ("b", "2"), ("c", "3")]));
    }

    #[test]
    fn unsupported_argument_is_named() {
        let line = "a:=b _rate:=5 __log:=/l --ros-args -p n:x:=1 --params-file f --log-level debug \
                    --log-file-name talker --log-config-file c -e /e \
                    --disable-stdout-logs --enable-rosout-logs";
        assert!(parse(line).unwrap().not_followed().eq(["--log-config-file c"]));
        assert_eq!(parse("a:=b __name:=n __ip:=10.0.0.1").unwrap().not_followed().next(), None);
    }

    #[test]
    fn last_switch_of_log_destination_counts() {
        let arguments = parse(
            "--ros-args --disable-rosout-logs --enable-stdout-logs --disable-external-lib-logs \
             --enable-rosout-logs --disable-stdout-logs --log-file-name a --log-level warn --log-level b:=info",
        )
        .unwrap();
        let disabled = [
            arguments.disable_rosout_logs,
            arguments.disable_stdout_logs,
            arguments.disable_external_lib_logs,
        ];
        assert_eq!(disabled, [false, true, true]);
        assert_eq!(arguments.log_file_name.as_deref(), Some("a"));
        assert_eq!(arguments.log_levels, ["warn", "b:=info"]);
    }

    #[test]
    fn error_names_argument() {
        let table = [
            ("--ros-args -r", "-r: a value should follow"),
            ("--ros-args --nonsense", "--nonsense: not a ROS argument (those end with --)"),
            ("--ros-args -r ab", "ab: should have the form NAME:=VALUE"),
            ("--ros-args -p :=x", ":=x: should have the form NAME:=VALUE"),
            ("--ros-args -p n::=x", "n::=x: should have the form NAME:=VALUE"),
            ("--ros-args -p a/b:c:=x", "a/b:c:=x: name \"a/b\": may not contain '/'"),
            ("a:=b-c", "a:=b-c: name \"b-c\": may not contain '-'"),
            ("a:=", "a:=: should have the form NAME:=VALUE"),
            ("__name:=a/b", "__name:=a/b: name \"a/b\": may not contain '/'"),
            ("__ns:=a~", "__ns:=a~: name \"/a~\": may not contain '~'"),
        ];
        for (line, expected) in table {
            assert_eq!(format!("{}", parse(line).unwrap_err()), expected);
        }
    }
}
