//! `-i URI [STORAGE_ID]`, as often as there are bags.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};

use crate::ros2_program::Failure;

/// The name of the option.
const INPUT: &str = "input";

/// Formats of `ros2 bag`, as it names them.
const STORAGE_IDS: [&str; 2] = ["mcap", "sqlite3"];

/// The values of each `-i`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct InputBags(Vec<Vec<String>>);

impl Args for InputBags {
    fn augment_args(command: Command) -> Command {
        let input = Arg::new(INPUT).short('i').long(INPUT).value_names(["URI", "STORAGE_ID"]).num_args(1..=2);
        command.arg(input.action(ArgAction::Append).value_hint(ValueHint::AnyPath).help(
            "A bag, and its format: mcap or sqlite3, which may be left out (may be repeated: the bags are taken \
             together)",
        ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for InputBags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let occurrences = matches.get_occurrences::<String>(INPUT).into_iter().flatten();
        Ok(Self(occurrences.map(|values| values.cloned().collect()).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl InputBags {
    /// The bags. Their format is recognized.
    ///
    /// # Errors
    /// When a second value is no format.
    pub fn paths(self) -> Result<Vec<PathBuf>, Failure> {
        self.0.into_iter().map(path).collect()
    }
}

fn path(values: Vec<String>) -> Result<PathBuf, Failure> {
    let mut values = values.into_iter();
    let bag = values.next().unwrap_or_default();
    match values.next().filter(|id| !STORAGE_IDS.contains(&id.as_str())) {
        Some(other) => Err(Failure::usage(format!(
            "-i {bag} {other}: the second value is the format, mcap or sqlite3. Try: -i {bag} -i {other}"
        ))),
        None => Ok(bag.into()),
    }
}
