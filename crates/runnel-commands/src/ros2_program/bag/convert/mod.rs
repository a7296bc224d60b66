//! `ros2 bag convert`

mod output_bag;
#[cfg(test)]
mod tests;
mod topic_filter;

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use runnel_bag::Channel;
use runnel_bag::mcap::Profile;

use self::output_bag::{OutputBag, output_bags};
use super::input_bags::InputBags;
use crate::bag::inputs::{Inputs, Wanted};
use crate::bag::reading_progress::ReadingProgress;
use crate::bag::transfer::{NewFormat, Output, Targets, completed, transfer};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::ros2_program::Failure;

/// Write bags again: together, in parts, or with another compression
///
/// A YAML file describes the new bags. Example: {output_bags: [{uri: new, all: true, compression_mode: file}]}
#[derive(Debug, clap::Args)]
pub struct ConvertArgs {
    #[command(flatten)]
    input: InputBags,

    /// YAML file with the settings of the new bags
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output_options: PathBuf,
}

pub fn run(args: ConvertArgs, cli: &CliContext) -> Result<(), Failure> {
    let paths = args.input.paths()?;
    if paths.is_empty() {
        return Err(Failure::usage("a bag is missing. Try: -i BAG".to_owned()));
    }
    Ok(convert(&paths, &read(&args.output_options)?, cli)?)
}

fn read(path: &Path) -> Result<Vec<OutputBag>, CliError> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let bags = text.and_then(|text| output_bags(&text));
    bags.map_err(|why| CliError::Failed(format!("{}: {why}", path.display())))
}

fn convert(paths: &[PathBuf], bags: &[OutputBag], cli: &CliContext) -> Result<(), CliError> {
    let mut inputs = Inputs::open(paths)?;
    for bag in bags {
        if !inputs.channels().iter().any(|channel| bag.topics.selects(channel)) {
            let uri = bag.uri.display();
            cli.output.note(&format!("{uri}: it selects no topic of the bags. Try: all_topics: true"));
        }
    }
    let types = cli.types()?;
    let create =
        |bag: &OutputBag| Output::create(&bag.uri, &NewFormat::Folder(bag.format.clone()), Profile::Ros2);
    let outputs = bags.iter().map(create).collect::<Result<_, _>>()?;
    let targets = |channel: &Channel| -> Targets {
        let selected = bags.iter().enumerate().filter(|(_, bag)| bag.topics.selects(channel));
        selected.map(|(output, _)| (output, completed(channel, &types))).collect()
    };
    let mut progress = ReadingProgress::new("converting", cli, false);
    transfer(&mut inputs, &Wanted::default(), outputs, targets, &mut progress)?.print(cli)
}
