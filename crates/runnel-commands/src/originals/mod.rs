//! What programs that take the place of originals have in common: the name by which they are called, links with that
//! name, and parsing of arguments as the originals do it.

pub mod command_line;
mod failure;
mod link;

use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ErrorKind};

use crate::similar::meant;
pub use command_line::advise_as;
pub use failure::Failure;
pub use link::{is_in_path, link};

/// Maximum width of help, in columns.
const WIDTH: usize = 80;

/// An original program in whose place this one runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Original {
    /// A ROS 1 program, after which nodes are named.
    Ros1(&'static str),
    /// The command ros2, which knows only the ROS 2 graph.
    Ros2,
}

impl Original {
    /// The name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ros1(name) => name,
            Self::Ros2 => "ros2",
        }
    }
}

/// The program that a command line calls, by the name of a link or as `runnel GROUP NAME`, and its arguments.
pub fn called<P>(
    words: &[String],
    group: &str,
    of_name: impl Fn(&str) -> Option<P>,
) -> Option<(P, Vec<String>)> {
    if let Some(called) = called_by_link(words, &of_name) {
        return Some(called);
    }
    let (name, rest) = words.get(1..)?.strip_prefix(&[group.to_owned()])?.split_first()?;
    Some((of_name(name)?, rest.to_vec()))
}

/// The program that a command line calls by the name of a link, and its arguments.
pub fn called_by_link<P>(words: &[String], of_name: impl Fn(&str) -> Option<P>) -> Option<(P, Vec<String>)> {
    let (path, rest) = words.split_first()?;
    let program = Path::new(path).file_name().and_then(|name| of_name(name.to_str()?))?;
    Some((program, rest.to_vec()))
}

/// Options as the originals' parser accepts them: anywhere, repeated, and long ones abbreviated.
pub fn as_originals_parse(command: Command) -> Command {
    command.max_term_width(WIDTH).infer_long_args(true).args_override_self(true).disable_help_subcommand(true)
}

/// The error of the parser on one line.
pub fn one_line_error(error: &clap::Error) -> String {
    let option = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument if option.starts_with('-') => {
            let similar = error.get(ContextKind::SuggestedArg).map(ToString::to_string);
            format!("no such option: {option}{}", meant(&option, similar.as_deref()))
        }
        ErrorKind::UnknownArgument => format!("too many arguments: {option}"),
        _ => {
            let text = error.render().to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            first.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ")
        }
    }
}
