//! What the programs have in common: names, and argument parsing.

use clap::FromArgMatches;
use clap::error::ErrorKind;

use crate::arguments::Arguments;
use crate::cli_context::CliContext;
use crate::logging;
use crate::originals::{Failure, Original, one_line_error};
use crate::similar::meant;

/// The exit code `EX_USAGE`, which most originals return without a command.
pub const EX_USAGE: u8 = 64;

/// A ROS 1 program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Rostopic,
    Rosnode,
    Rosservice,
    Rosparam,
    Rosmsg,
    Rossrv,
    Roscore,
    Rosmaster,
    #[cfg(feature = "bag")]
    Rosbag,
}

impl Program {
    pub const ALL: &'static [Self] = &[
        Self::Rostopic,
        Self::Rosnode,
        Self::Rosservice,
        Self::Rosparam,
        Self::Rosmsg,
        Self::Rossrv,
        Self::Roscore,
        Self::Rosmaster,
        #[cfg(feature = "bag")]
        Self::Rosbag,
    ];

    /// The program of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|program| program.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rostopic => "rostopic",
            Self::Rosnode => "rosnode",
            Self::Rosservice => "rosservice",
            Self::Rosparam => "rosparam",
            Self::Rosmsg => "rosmsg",
            Self::Rossrv => "rossrv",
            Self::Roscore => "roscore",
            Self::Rosmaster => "rosmaster",
            #[cfg(feature = "bag")]
            Self::Rosbag => "rosbag",
        }
    }

    /// The exit code of a failure.
    pub fn failure_code(self) -> u8 {
        if self == Self::Rosservice { 2 } else { 1 }
    }

    /// The exit code if no command is given.
    fn no_command_code(self, words: &[String]) -> u8 {
        let first = words.first().map(String::as_str);
        match (self, first) {
            (Self::Rosparam, _) | (Self::Rosnode | Self::Rosmsg | Self::Rossrv, Some("--help")) => 0,
            (Self::Rosmsg | Self::Rossrv, None) => 0,
            _ => EX_USAGE,
        }
    }

    /// True if arguments such as `a:=b` are remappings; in other programs they are ordinary arguments.
    fn remaps(self) -> bool {
        #[cfg(feature = "bag")]
        if self == Self::Rosbag {
            return true;
        }
        matches!(self, Self::Rostopic | Self::Rosservice | Self::Roscore | Self::Rosmaster)
    }

    /// True if its first argument is a command.
    fn has_commands(self) -> bool {
        !matches!(self, Self::Roscore | Self::Rosmaster)
    }
}

/// One run of a program.
pub struct Front {
    program: Program,
    words: Vec<String>,
    pub cli: CliContext,
}

impl Front {
    /// A run with the arguments after the program's name.
    ///
    /// # Errors
    /// When a ROS argument is invalid.
    pub fn new(program: Program, words: Vec<String>) -> Result<Self, Failure> {
        let is_ros = |word: &String| word.starts_with("__") && word.contains(":=");
        let (ros, kept): (Vec<String>, Vec<String>) = match program.remaps() {
            true => (words, Vec::new()),
            false => words.into_iter().partition(is_ros),
        };
        let name = vec![program.name().to_owned()];
        let mut arguments = Arguments::split([name, ros].concat())?;
        arguments.own.extend(kept);
        let words = arguments.own.split_off(1);
        logging::install(0);
        Ok(Self {
            program,
            words,
            cli: CliContext::new(arguments, false, Vec::new())?.of_original(Original::Ros1(program.name())),
        })
    }

    /// The arguments as the program's parser reads them.
    ///
    /// # Errors
    /// When they are invalid, or ask for help.
    pub fn parsed<T: FromArgMatches>(&self) -> Result<T, Failure> {
        let program = self.program;
        let named = self.words.first().is_some_and(|word| !word.starts_with('-'));
        if program.has_commands() && !named {
            return Err(self.overview());
        }
        let words = std::iter::once(program.name()).chain(self.words.iter().map(String::as_str));
        let matches = program.command().try_get_matches_from(words);
        let parsed = matches.and_then(|mut matches| T::from_arg_matches_mut(&mut matches));
        parsed.map_err(|error| self.refused(error))
    }

    /// The list of commands, on standard output as in the originals.
    fn overview(&self) -> Failure {
        Failure::Output { code: self.program.no_command_code(&self.words), text: self.help() }
    }

    /// The same, with a hint if a command has a similar name.
    fn unknown_command(&self) -> Failure {
        let (word, command) = (self.words.first().map_or("", String::as_str), self.program.command());
        let meant = meant(word, command.get_subcommands().map(clap::Command::get_name));
        if meant.is_empty() {
            return self.overview();
        }
        let (code, hint) = (self.program.no_command_code(&self.words), format!("no command {word}{meant}"));
        Failure::OutputWithHint { code, text: self.help(), hint }
    }

    fn help(&self) -> String {
        self.program.command().render_help().to_string()
    }

    fn refused(&self, error: clap::Error) -> Failure {
        match error.kind() {
            ErrorKind::InvalidSubcommand => self.unknown_command(),
            ErrorKind::DisplayHelp => Failure::Output { code: 0, text: error.render().to_string() },
            _ => Failure::usage(one_line_error(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(program: Program, line: &str) -> Front {
        let words = line.split_whitespace().map(str::to_owned).collect();
        Front::new(program, words).expect("a good line")
    }

    #[test]
    fn only_some_programs_take_remapping_arguments() {
        assert_eq!(front(Program::Rostopic, "list a:=b __ns:=/x").words, ["list"]);
        assert_eq!(front(Program::Rosparam, "set /p a:=b __ns:=/x").words, ["set", "/p", "a:=b"]);
    }

    #[test]
    fn missing_command_has_the_originals_exit_code() {
        for (program, line, expected) in [
            (Program::Rostopic, "", 64),
            (Program::Rostopic, "--help", 64),
            (Program::Rostopic, "nonsense", 64),
            (Program::Rosnode, "", 64),
            (Program::Rosnode, "--help", 0),
            (Program::Rosservice, "-h", 64),
            (Program::Rosparam, "", 0),
            (Program::Rosparam, "nonsense", 0),
            (Program::Rosmsg, "", 0),
            (Program::Rossrv, "--help", 0),
            (Program::Rosmsg, "nonsense", 64),
        ] {
            let front = front(program, line);
            let failure = program.run(&front).expect_err("no command");
            let Failure::Output { code, text } = failure else { panic!("{program:?} {line}: {failure:?}") };
            assert_eq!(code, expected, "{program:?} {line}");
            assert!(text.contains(program.name()), "{text}");
        }
    }

    #[test]
    fn misspelt_command_gets_help_and_a_suggestion() {
        for (program, line, expected) in [
            (Program::Rostopic, "lst", "no command lst (did you mean list?)"),
            (Program::Rosnode, "ifno /a", "no command ifno (did you mean info?)"),
            (Program::Rosmsg, "sho a/B", "no command sho (did you mean show?)"),
        ] {
            let failure = program.run(&front(program, line)).expect_err("no command");
            let Failure::OutputWithHint { code, text, hint } = failure else { panic!("{line}: {failure:?}") };
            assert_eq!((code, hint.as_str()), (64, expected));
            assert!(text.contains(program.name()), "{text}");
        }
    }

    #[test]
    fn unknown_option_is_named_on_one_line() {
        for (program, line, expected) in [
            (Program::Rostopic, "echo /t --filter True", "no such option: --filter"),
            (Program::Rostopic, "list -b x.bag", "no such option: -b"),
            (Program::Rosnode, "info", "the following required arguments were not provided: <NODE>..."),
            (Program::Rosmsg, "md5 a/B c", "too many arguments: c"),
        ] {
            let failure = program.run(&front(program, line)).expect_err("refused");
            assert_eq!(failure.to_string(), expected, "{line}");
        }
    }
}
