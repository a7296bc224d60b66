//! The two parts of the command line: ROS arguments, and arguments of the command.

use runnel::core::names;

use crate::error::CliError;

/// The command line in two parts.
#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Arguments that remap names, name the node and so on, for the context.
    pub ros: names::Arguments,
    /// The rest, with the program's name first.
    pub own: Vec<String>,
}

impl Arguments {
    /// Splits a command line whose first argument is the program's name. Arguments after the command's own `--` stay
    /// as they are, so that values such as `a:=b` can be given there.
    ///
    /// # Errors
    /// When an argument looks like a ROS argument but is not valid.
    pub fn split(arguments: Vec<String>) -> Result<Self, CliError> {
        let mut arguments = arguments.into_iter();
        let program = arguments.next().unwrap_or_else(|| "runnel".into());
        let arguments: Vec<String> = arguments.collect();
        let (typed, values) = arguments.split_at(end_of_options(&arguments));
        let ros = names::Arguments::parse(typed.iter().cloned())
            .map_err(|error| CliError::Usage(error.to_string()))?;
        let own = [&[program], ros.rest.as_slice(), values].concat();
        Ok(Self { ros, own })
    }
}

/// The command line of this process.
///
/// # Errors
/// When an argument is not UTF-8.
pub fn of_process() -> Result<Vec<String>, CliError> {
    let text = |argument: std::ffi::OsString| argument.into_string();
    let arguments: Result<Vec<String>, _> = std::env::args_os().map(text).collect();
    arguments.map_err(|argument| CliError::Usage(format!("argument {argument:?} is not UTF-8")))
}

/// Index of the first `--` that does not end ROS 2 arguments.
fn end_of_options(arguments: &[String]) -> usize {
    let mut in_ros_args = false;
    for (index, argument) in arguments.iter().enumerate() {
        match argument.as_str() {
            "--ros-args" => in_ros_args = true,
            "--" if in_ros_args => in_ros_args = false,
            "--" => return index,
            _ => {}
        }
    }
    arguments.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Result<Arguments, CliError> {
        Arguments::split(line.split_whitespace().map(str::to_owned).collect())
    }

    fn own(line: &str) -> String {
        split(line).expect("a good line").own.join(" ")
    }

    #[test]
    fn ros_arguments_are_split_off_anywhere() {
        assert_eq!(own("runnel topic echo /x __ns:=/y a:=b --once"), "runnel topic echo /x --once");
        assert_eq!(own("runnel __name:=n topic list"), "runnel topic list");
        let split = split("runnel topic echo x __ns:=/y a:=b").expect("a good line");
        assert_eq!(split.ros.namespace.as_deref(), Some("/y"));
        assert_eq!(split.ros.remaps.len(), 1);
    }

    #[test]
    fn double_dash_ends_ros_2_arguments() {
        assert_eq!(own("runnel topic echo --ros-args -r a:=b -- /x --once"), "runnel topic echo /x --once");
        assert_eq!(own("runnel topic echo /x --ros-args -r __ns:=/y"), "runnel topic echo /x");
    }

    #[test]
    fn values_after_a_double_dash_stay_unchanged() {
        assert_eq!(own("runnel topic pub /x t -- a:=b -1"), "runnel topic pub /x t -- a:=b -1");
        assert_eq!(
            own("runnel a:=b topic pub --ros-args -p x:=1 -- /x t -- c:=d"),
            "runnel topic pub /x t -- c:=d"
        );
    }

    #[test]
    fn invalid_ros_argument_is_wrong_usage() {
        for line in ["runnel topic list a:=b-c", "runnel topic list --ros-args --bad"] {
            assert!(matches!(split(line), Err(CliError::Usage(_))), "{line}");
        }
    }
}
