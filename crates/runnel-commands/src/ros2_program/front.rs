//! Parsing of arguments, and its errors.

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};

use super::{NAME, command, shared};
use crate::arguments::Arguments;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::logging;
use crate::originals::{Failure, Original, one_line_error};

/// The option of `runnel` for output that programs read.
const JSON: &str = "--json";

/// One run of the program.
pub struct Front<'a> {
    words: &'a [String],
}

/// The context of its commands, with folders of message definitions. Names are not remapped: the original does not accept
/// ROS arguments either.
///
/// # Errors
/// When the environment is malformed.
pub fn context(interfaces: Vec<PathBuf>) -> Result<CliContext, CliError> {
    logging::install(0);
    let arguments = Arguments::split(vec![NAME.to_owned()])?;
    Ok(CliContext::new(arguments, false, interfaces)?.of_original(Original::Ros2))
}

/// The failure of a running command that Ctrl-C ended: as the original's, it has its own exit code.
pub fn interrupted() -> Failure {
    Failure::Output { code: 2, text: String::new() }
}

impl<'a> Front<'a> {
    /// A run with the arguments after the program's name.
    pub fn new(words: &'a [String]) -> Self {
        Self { words }
    }

    /// The arguments as the parser reads them.
    ///
    /// # Errors
    /// When they are invalid, or ask for help. Without a command, help is printed and is no failure.
    pub fn matches(&self) -> Result<ArgMatches, Failure> {
        let words = std::iter::once(NAME).chain(self.words.iter().map(String::as_str));
        let matches = command().try_get_matches_from(words).map_err(|error| self.refused(&error))?;
        match shared::ros1_flag(&matches) {
            Some(flag) => Err(Failure::usage(format!("no such option: {flag}"))),
            None => Ok(matches),
        }
    }

    /// Name and commands as typed, such as `ros2 topic echo`.
    pub fn path(&self) -> String {
        self.deepest().1.join(" ")
    }

    /// The command that the words name, and its path.
    fn deepest(&self) -> (Command, Vec<String>) {
        let (mut found, mut path) = (command(), vec![NAME.to_owned()]);
        // Settings for all commands reach them only when they are built.
        found.build();
        for word in self.words.iter().filter(|word| !word.starts_with('-')) {
            let Some(inner) = found.find_subcommand(word).cloned() else { break };
            path.push(inner.get_name().to_owned());
            found = inner;
        }
        (found, path)
    }

    fn refused(&self, error: &clap::Error) -> Failure {
        match error.kind() {
            ErrorKind::DisplayHelp => Failure::Output { code: 0, text: error.render().to_string() },
            ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Failure::Output { code: 0, text: self.deepest().0.render_help().to_string() }
            }
            ErrorKind::InvalidSubcommand => self.unknown_command(error),
            ErrorKind::UnknownArgument if text_of(error, ContextKind::InvalidArg) == JSON => {
                let words = self.words.join(" ");
                Failure::usage(format!("no such option: {JSON}. Try: runnel {words}"))
            }
            ErrorKind::UnknownArgument if self.path().ends_with("interface list") => {
                let package = text_of(error, ContextKind::InvalidArg);
                Failure::usage(format!("{}. Try: ros2 interface package {package}", one_line_error(error)))
            }
            _ => Failure::usage(one_line_error(error)),
        }
    }

    fn unknown_command(&self, error: &clap::Error) -> Failure {
        let word = text_of(error, ContextKind::InvalidSubcommand);
        if matches!(word.as_str(), "msg" | "srv") {
            return Failure::usage(format!("no command {word}. Try: ros2 interface"));
        }
        let similar = match error.get(ContextKind::SuggestedSubcommand) {
            // The most similar one is the last.
            Some(ContextValue::Strings(similar)) => similar.last(),
            _ => None,
        };
        let meant = similar.map_or_else(String::new, |similar| format!(": did you mean {similar}?"));
        let known = self.deepest().0;
        let known: Vec<&str> = known.get_subcommands().map(Command::get_name).collect();
        Failure::usage(format!("no command {word}{meant} (choose from {})", known.join(", ")))
    }
}

fn text_of(error: &clap::Error, kind: ContextKind) -> String {
    error.get(kind).map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(line: &str) -> (u8, String) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let front = Front::new(&words);
        match front.matches().expect_err("refused") {
            Failure::Output { code, text } => (code, text),
            failure => (2, format!("{}: {failure}", front.path())),
        }
    }

    #[test]
    fn missing_command_prints_help() {
        for line in ["", "topic", "topic --include-hidden-topics", "--help", "node -h", "service"] {
            let (code, text) = failure(line);
            assert_eq!(code, 0, "{line}");
            assert!(text.contains("Usage: ros2"), "{line}: {text}");
        }
        assert!(failure("topic").1.contains("echo"));
    }

    #[test]
    fn misspelt_group_gets_a_suggestion() {
        for (line, meant) in [("tpoic list", "topic"), ("serivce list", "service"), ("nod list", "node")] {
            let (code, text) = failure(line);
            assert!(
                code == 2 && text.contains(&format!(": did you mean {meant}? (choose from ")),
                "{line}: {text}"
            );
        }
        assert!(!failure("xyz").1.contains("did you mean"));
    }

    #[test]
    fn wrong_usage_is_one_line_after_the_path() {
        for (line, expected) in [
            ("topic echo", "ros2 topic echo: the following required arguments were not provided: <TOPIC>"),
            ("topic list --nope", "ros2 topic list: no such option: --nope"),
            (
                "topic nope",
                "ros2 topic: no command nope (choose from list, info, type, find, echo, pub, hz, bw, delay)",
            ),
            (
                "topic ehco /chatter",
                "ros2 topic: no command ehco: did you mean echo? (choose from list, info, type, find, echo, pub, hz, bw, \
                 delay)",
            ),
            ("topic list --json", "ros2 topic list: no such option: --json. Try: runnel topic list --json"),
            ("param list --json", "ros2 param list: no such option: --json. Try: runnel param list --json"),
            ("node list a b", "ros2 node list: too many arguments: a"),
            (
                "interface list nav_msgs",
                "ros2 interface list: too many arguments: nav_msgs. Try: ros2 interface package nav_msgs",
            ),
            ("msg show a/B", "ros2: no command msg. Try: ros2 interface"),
            ("topic echo /a --one", "ros2 topic echo: no such option: --one (did you mean --once?)"),
            ("param get /a", "ros2 param get: the following required arguments were not provided: <NAME>"),
            ("param set /a b", "ros2 param set: the following required arguments were not provided: <VALUE>"),
            ("param load /a", "ros2 param load: the following required arguments were not provided: <FILE>"),
            ("param dump", "ros2 param dump: the following required arguments were not provided: <NODE>"),
            ("param list --ros1", "ros2 param list: no such option: --ros1"),
            ("service call --ros1 /a", "ros2 service call: no such option: --ros1"),
        ] {
            assert_eq!(failure(line), (2, expected.to_owned()), "{line}");
        }
    }
}
