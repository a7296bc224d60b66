//! Repair of a file.

use std::path::{Path, PathBuf};

use runnel_bag::BagReader;
use runnel_bag::mcap::Profile;
use runnel_bag::rosbag2::BACKUP;

use crate::bag::files::{ACTIVE, appended};
use crate::bag::inputs::{Inputs, Wanted};
use crate::bag::new_bag::{NewBag, profile};
use crate::bag::reading_progress::ReadingProgress;
use crate::bag::transfer::{Transferred, first_output, transfer};
use crate::error::CliError;

/// Whether nothing of a bag has to be repaired.
pub(super) fn is_whole(reader: &dyn BagReader) -> bool {
    reader.summary().is_finished && reader.damage().is_none()
}

/// Repairs a bag, unless it is whole: into the file `output`, or in its place.
pub(super) fn repair(
    path: &Path,
    output: Option<&Path>,
    force: bool,
    progress: &mut ReadingProgress,
) -> Result<Option<Transferred>, CliError> {
    let mut inputs = Inputs::open(&[path.to_owned()])?;
    if is_whole(&*inputs.bags()[0].reader) && !force {
        return Ok(None);
    }
    let new = NewBag::like(&inputs.bags()[0])?;
    match output.map(Path::to_owned).or_else(|| complete_name(path)) {
        Some(target) => {
            let output = new.create(&target, &inputs)?;
            transfer(&mut inputs, &Wanted::default(), vec![output], first_output, progress).map(Some)
        }
        None => rewrite(path, &mut inputs, new, progress).map(Some),
    }
}

/// Writes a bag anew in its place. The old file is kept under another name, which it gets once the new one is complete.
///
/// # Errors
/// When that name is taken, or the new bag cannot be written.
pub fn rewrite(
    path: &Path,
    inputs: &mut Inputs,
    new: NewBag,
    progress: &mut ReadingProgress,
) -> Result<Transferred, CliError> {
    let profile = profile(inputs.channels());
    rewrite_as(path, inputs, new, profile, progress)
}

/// As [`rewrite`], with this profile if it is MCAP.
pub(super) fn rewrite_as(
    path: &Path,
    inputs: &mut Inputs,
    new: NewBag,
    profile: Profile,
    progress: &mut ReadingProgress,
) -> Result<Transferred, CliError> {
    let output = new.replace(path, backup_name(path), inputs, profile)?;
    transfer(inputs, &Wanted::default(), vec![output], first_output, progress)
}

/// The name of a bag whose recorder was killed, without what marks that.
fn complete_name(path: &Path) -> Option<PathBuf> {
    (path.extension()? == ACTIVE).then(|| path.with_extension(""))
}

/// The name that rosbag gives the damaged bag: `x.orig.bag`.
pub(super) fn backup_name(path: &Path) -> PathBuf {
    let backup = appended(&path.with_extension(""), BACKUP);
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
