//! `runnel bag reindex`

use std::path::{Path, PathBuf};

use clap::ValueHint;

use super::files::{ACTIVE, appended};
use super::inputs::{Inputs, Wanted};
use super::new_bag::NewBag;
use super::transfer::{Transferred, transfer};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Repair bags: write what can be read, with an index
///
/// FILE.bag is kept as FILE.orig.bag. From FILE.bag.active, FILE.bag is written.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The files
    #[arg(required = true, value_name = "BAG", value_hint = ValueHint::FilePath)]
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
    for path in &args.bags {
        match repair(path, args)? {
            Some(done) => done.print(cli)?,
            None => cli.output.note(&format!("{}: it has its index", path.display())),
        }
    }
    Ok(())
}

/// Repairs a bag, unless it is whole.
fn repair(path: &Path, args: &Args) -> Result<Option<Transferred>, CliError> {
    let mut inputs = Inputs::open(&[path.to_owned()])?;
    let reader = &inputs.bags()[0].reader;
    if reader.summary().is_finished && reader.damage().is_none() && !args.force {
        return Ok(None);
    }
    let new = NewBag::like(&inputs.bags()[0])?;
    match args.output_name.clone().or_else(|| complete_name(path)) {
        Some(target) => {
            let output = new.create(&target, &inputs)?;
            transfer(&mut inputs, &Wanted::default(), vec![output], |channel| (0, channel.clone())).map(Some)
        }
        None => rewrite(path, &mut inputs, new).map(Some),
    }
}

/// Writes a bag anew in its place. The old file is kept under another name, which it gets once the new one is complete.
///
/// # Errors
/// When that name is taken, or the new bag cannot be written.
pub fn rewrite(path: &Path, inputs: &mut Inputs, new: NewBag) -> Result<Transferred, CliError> {
    let output = new.replace(path, backup_name(path), inputs)?;
    transfer(inputs, &Wanted::default(), vec![output], |channel| (0, channel.clone()))
}

/// The name of a bag whose recorder was killed, without what marks that.
fn complete_name(path: &Path) -> Option<PathBuf> {
    (path.extension()? == ACTIVE).then(|| path.with_extension(""))
}

/// The name that rosbag gives the damaged bag: `x.orig.bag`.
fn backup_name(path: &Path) -> PathBuf {
    let backup = appended(&path.with_extension(""), ".orig");
    match path.extension() {
        Some(extension) => {
            let mut name = backup.into_os_string();
            name.push(".");
            name.push(extension);
            name.into()
        }
        None => backup,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_rosbag() {
        assert_eq!(backup_name(Path::new("a/x.bag")), Path::new("a/x.orig.bag"));
        assert_eq!(backup_name(Path::new("a/x")), Path::new("a/x.orig"));
        assert_eq!(complete_name(Path::new("a/x.bag.active")), Some("a/x.bag".into()));
        assert_eq!(complete_name(Path::new("a/x.bag")), None);
    }
}
