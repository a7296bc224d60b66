//! Repair of a folder of `ros2 bag`: its unfinished MCAP files, then `metadata.yaml`.

use std::path::{Path, PathBuf};

use runnel_bag::files::Folder;
use runnel_bag::mcap::Profile;
use runnel_bag::rosbag2::{self, BagFile, BagMetadata, Folder as _, METADATA_FILE, rebuilt_metadata};
use runnel_bag::{BagReader, Error, Format, open_folder};
use runnel_io::files::rename_new;

use super::file::{backup_name, is_whole, rewrite_as};
use crate::bag::files::{exists, failed, is_taken};
use crate::bag::inputs::Inputs;
use crate::bag::new_bag::NewBag;
use crate::bag::reading_progress::ReadingProgress;
use crate::bag::transfer::Transferred;
use crate::error::CliError;

/// Repairs a folder, unless it is whole. Before anything is changed, everything that can be refused is.
pub(super) fn repair(
    folder: &Path,
    force: bool,
    progress: &mut ReadingProgress,
) -> Result<Option<Transferred>, CliError> {
    let mut bag = open(folder)?;
    if is_whole(&bag) && !force {
        return Ok(None);
    }
    let recorded = bag.recorded_metadata();
    rebuilt(folder, &bag, recorded.as_ref())?;
    let damaged = damaged_files(folder, &bag, force)?;
    let missing = bag.missing_files().iter().map(|name| folder.join(name)).collect();
    drop(bag);
    let metadata = folder.join(METADATA_FILE);
    let is_described = is_taken(&metadata);
    let replaced = damaged.iter().chain(is_described.then_some(&metadata));
    if let Some(taken) = replaced.map(|path| backup_name(path)).find(|backup| is_taken(backup)) {
        return Err(exists(&taken));
    }
    let mut done = Transferred { missing, ..Transferred::default() };
    for path in damaged {
        let one = rewrite_file(&path, progress)?;
        done.files.extend(one.files);
        done.damaged += one.damaged;
    }
    let new = rebuilt(folder, &open(folder)?, recorded.as_ref())?;
    write_metadata(folder, &metadata, is_described, &new)?;
    done.files.push((metadata, new.message_count));
    Ok(Some(done))
}

fn open(folder: &Path) -> Result<rosbag2::Reader, CliError> {
    // Its errors name the folder and the file.
    open_folder(folder).map_err(CliError::failed)
}

fn rebuilt(
    folder: &Path,
    bag: &rosbag2::Reader,
    recorded: Option<&BagMetadata>,
) -> Result<BagMetadata, CliError> {
    rebuilt_metadata(bag, recorded).map_err(|error| {
        let convert = format!("Try: runnel bag convert {} NEW.mcap", folder.display());
        CliError::Failed(format!("{}. {convert}", failed(folder, &error)))
    })
}

/// The files that are written anew: MCAP files without index.
fn damaged_files(folder: &Path, bag: &rosbag2::Reader, force: bool) -> Result<Vec<PathBuf>, CliError> {
    let is_written =
        |file: &&BagFile| file.reader.summary().format == Format::Mcap && (force || !is_whole(&*file.reader));
    let path = |file: &BagFile| match file.path.strip_suffix(".zstd") {
        None => Ok(folder.join(&file.path)),
        Some(decompressed) => Err(CliError::Failed(format!(
            "{}: a file that is compressed as a whole is not written anew. Try: zstd -d, and reindex with {decompressed}",
            folder.join(&file.path).display()
        ))),
    };
    bag.files().iter().filter(is_written).map(path).collect()
}

/// Writes a file anew with the profile of all files of a folder.
fn rewrite_file(path: &Path, progress: &mut ReadingProgress) -> Result<Transferred, CliError> {
    let mut inputs = Inputs::open(&[path.to_owned()])?;
    let new = NewBag::like(&inputs.bags()[0])?;
    rewrite_as(path, &mut inputs, new, Profile::Ros2, progress)
}

/// Writes `metadata.yaml`. An old one is kept.
fn write_metadata(
    folder: &Path,
    path: &Path,
    is_described: bool,
    metadata: &BagMetadata,
) -> Result<(), CliError> {
    let backup = backup_name(path);
    if is_described {
        rename_new(path, &backup)
            .map_err(|error| CliError::Failed(format!("{}: {error}", backup.display())))?;
    }
    let written = Folder::open(folder).write_metadata(&metadata.to_string());
    written.map_err(|error| {
        if is_described {
            // Without new metadata, the old ones get their name back.
            _ = rename_new(&backup, path);
        }
        failed(path, &Error::Io(error))
    })
}
