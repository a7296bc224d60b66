//! `rosbag`

mod play;
mod record;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::Failure;
use crate::bag::inputs::Inputs;
use crate::bag::new_bag::NewBag;
use crate::bag::reading_progress::ReadingProgress;
use crate::bag::storage::ChunkCompression;
use crate::bag::{self, check, info, reindex};
use crate::cli_context::CliContext;
use play::PlayArgs;
use record::RecordArgs;

/// Record, play and inspect bags, like rosbag of ROS 1
#[derive(Debug, Parser)]
#[command(name = "rosbag")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(Box<RecordArgs>),
    Play(Box<PlayArgs>),
    Info(info::Args),
    Check(check::Args),
    /// Repair bags: write what can be read, with an index
    ///
    /// FILE.bag is kept as FILE.orig.bag.
    Reindex(RewriteArgs),
    Compress(CompressArgs),
    /// Write bags anew without compression
    ///
    /// FILE.bag is kept as FILE.orig.bag.
    Decompress(RewriteArgs),
    Filter(FilterArgs),
}

/// Bags that are written anew
#[derive(Debug, clap::Args)]
struct RewriteArgs {
    /// The bags
    #[arg(required = true)]
    bags: Vec<PathBuf>,

    /// Accepted; the old file is never replaced
    #[arg(short, long)]
    force: bool,

    /// Show nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Write bags anew with compression
///
/// FILE.bag is kept as FILE.orig.bag.
#[derive(Debug, clap::Args)]
struct CompressArgs {
    #[command(flatten)]
    rewrite: RewriteArgs,

    /// With bzip2, the default
    #[arg(short = 'j', long)]
    bz2: bool,

    /// With LZ4
    #[arg(long, conflicts_with = "bz2")]
    lz4: bool,
}

/// Not supported: messages are selected by topic and time instead, see runnel bag filter
#[derive(Debug, clap::Args)]
struct FilterArgs {
    /// The bag
    input: PathBuf,

    /// The new bag
    output: PathBuf,

    /// The Python expression
    expression: String,
}

pub fn run(parsed: Cli, cli: &CliContext) -> Result<(), Failure> {
    match parsed.command {
        Command::Record(args) => Ok(bag::record::run(args.of_runnel()?, cli)?),
        Command::Play(args) => Ok(bag::play::run(args.of_runnel(), cli)?),
        Command::Info(args) => Ok(info::run(&args, cli)?),
        Command::Check(args) => Ok(check::run(&args, cli)?),
        Command::Reindex(args) => {
            let RewriteArgs { bags, .. } = args;
            Ok(reindex::run(&reindex::Args { bags, output_name: None, force: false }, cli)?)
        }
        Command::Compress(args) => {
            let compression = if args.lz4 { ChunkCompression::Lz4 } else { ChunkCompression::Bz2 };
            rewrite(&args.rewrite, compression, cli)
        }
        Command::Decompress(args) => rewrite(&args, ChunkCompression::None, cli),
        Command::Filter(args) => Err(args.refused()),
    }
}

fn rewrite(args: &RewriteArgs, compression: ChunkCompression, cli: &CliContext) -> Result<(), Failure> {
    let mut progress = ReadingProgress::new("rewriting", cli, args.quiet);
    for path in &args.bags {
        let mut inputs = Inputs::open(std::slice::from_ref(path))?;
        let new = NewBag { compression: Some(compression), ..NewBag::like(&inputs.bags()[0])? };
        let done = reindex::rewrite(path, &mut inputs, new, &mut progress)?;
        if !args.quiet {
            done.print(cli)?;
        }
    }
    Ok(())
}

impl FilterArgs {
    fn refused(&self) -> Failure {
        let Self { input, output, expression } = self;
        let (input, output) = (input.display(), output.display());
        Failure::usage(format!(
            "the expression {expression:?} is Python, which is not evaluated here. Try: runnel bag filter {input} \
             {output} --topics TOPIC, or --start SECONDS --end SECONDS"
        ))
    }
}
