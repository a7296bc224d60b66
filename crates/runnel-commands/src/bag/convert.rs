//! `runnel bag convert`

use std::path::PathBuf;

use clap::ValueHint;
use runnel_bag::mcap::Profile;
use runnel_bag::{Channel, Encoding};

use super::files::appended;
use super::inputs::{Inputs, Wanted};
use super::new_bag::{NewBag, profile};
use super::reading_progress::ReadingProgress;
use super::record::RecordStorage;
use super::storage::Storage;
use super::transfer::{completed, transfer};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Write a bag in another format
///
/// Definitions that the bag lacks are added if they are known here: see --interfaces.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The bag
    #[arg(value_name = "BAG", value_hint = ValueHint::AnyPath)]
    pub input: PathBuf,

    /// The new bag: .mcap, .bag for rosbag, or a folder with --storage rosbag2
    #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,

    /// Write two MCAP files, NEW_ros1 and NEW_ros2, which every tool of its generation reads
    #[arg(long)]
    pub split_generations: bool,

    #[command(flatten)]
    pub new: NewBag,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let mut inputs = Inputs::open(std::slice::from_ref(&args.input))?;
    let types = cli.types()?;
    let is_split = args.split_generations;
    let outputs = if is_split {
        let outputs = split_paths(args)?.into_iter().zip([Profile::Ros1, Profile::Ros2]);
        let create = |(path, profile): (PathBuf, _)| args.new.create_with(&path, &inputs, profile);
        outputs.map(create).collect::<Result<_, _>>()?
    } else {
        let channels = inputs.channels().iter().map(|channel| completed(channel, &types));
        let profile = profile(&channels.collect::<Vec<_>>());
        vec![args.new.create_with(&args.output, &inputs, profile)?]
    };
    let output = |channel: &Channel| {
        vec![(usize::from(is_split && channel.encoding != Encoding::Ros1), completed(channel, &types))]
    };
    let mut progress = ReadingProgress::new("converting", cli, false);
    transfer(&mut inputs, &Wanted::default(), outputs, output, &mut progress)?.print(cli)
}

/// The files of both generations.
fn split_paths(Args { output, new, .. }: &Args) -> Result<[PathBuf; 2], CliError> {
    let named = Storage::of(output);
    if named == Some(Storage::Rosbag)
        || matches!(new.storage, Some(RecordStorage::Rosbag | RecordStorage::Rosbag2))
    {
        let why = "--split-generations writes MCAP files: rosbag 2.0 and folders hold only one generation";
        return Err(CliError::Usage(why.to_owned()));
    }
    let base = if named.is_some() { output.with_extension("") } else { output.to_owned() };
    Ok(["ros1", "ros2"].map(|name| appended(&base, &format!("_{name}.mcap"))))
}
