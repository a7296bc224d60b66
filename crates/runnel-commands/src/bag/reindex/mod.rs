//! `runnel bag reindex`

mod file;
mod folder;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::ValueHint;

pub use self::file::rewrite;
use crate::bag::reading_progress::ReadingProgress;
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Repair bags: write what can be read, with an index
///
/// FILE.bag is kept as FILE.orig.bag. From FILE.bag.active, FILE.bag is written. In a folder of ros2 bag, MCAP files that
/// were not finished are repaired, then metadata.yaml is written from all files.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files, or folders of ros2 bag
    #[arg(required = true, value_name = "BAG", value_hint = ValueHint::AnyPath)]
    pub bags: Vec<PathBuf>,

    /// Write to this file, and leave the bag as it is
    #[arg(short = 'O', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output_name: Option<PathBuf>,

    /// Also write bags anew that are whole
    #[arg(short, long)]
    pub force: bool,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    if args.output_name.is_some() && args.bags.len() > 1 {
        return Err(CliError::Usage("--output-name needs a single bag".into()));
    }
    if let Some(folder) = args.bags.iter().find(|path| args.output_name.is_some() && path.is_dir()) {
        let folder = folder.display();
        let instead = format!("Try: without it, or runnel bag convert {folder} NEW.mcap");
        return Err(CliError::Usage(format!("{folder}: --output-name is for files. {instead}")));
    }
    let mut progress = ReadingProgress::new("reindexing", cli, false);
    for path in &args.bags {
        let (repaired, whole) = if path.is_dir() {
            (
                folder::repair(path, args.force, &mut progress)?,
                "its files have their index, and metadata.yaml lists them",
            )
        } else {
            (file::repair(path, args.output_name.as_deref(), args.force, &mut progress)?, "it has its index")
        };
        match repaired {
            Some(done) => done.print(cli)?,
            None => cli.output.note(&format!("{}: {whole}", path.display())),
        }
    }
    Ok(())
}
