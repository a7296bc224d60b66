//! Files of bags.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use runnel_bag::files::Folder;
use runnel_bag::mcap::{self, Profile};
use runnel_bag::rosbag2::{self, SplitLimits};
use runnel_bag::{BagReader, BagWriter, Error, rosbag};
pub use runnel_io::files::is_taken;
use runnel_io::files::rename_new;

use super::storage::{CompressionSettings, Storage};
use crate::error::CliError;

/// What `rosbag record` appends to the name of a bag that is being written.
pub const ACTIVE: &str = "active";

/// What is appended to the name of a bag that is written from others.
const PARTIAL: &str = "partial";

/// The error of a bag, with its name. Those of the disk have it already.
pub fn failed(path: &Path, error: &Error) -> CliError {
    let (name, error) = (path.display().to_string(), error.to_string());
    CliError::Failed(if error.starts_with(&name) { error } else { format!("{name}: {error}") })
}

/// Opens a bag of any format.
///
/// # Errors
/// When it cannot be opened, or is no bag.
pub fn open(path: &Path) -> Result<Box<dyn BagReader + Send>, CliError> {
    // Its errors name the file.
    runnel_bag::open(path).map_err(CliError::failed)
}

/// Why a bag of this format is unfinished.
pub fn unfinished(format: runnel_bag::Format) -> &'static str {
    match format {
        runnel_bag::Format::Rosbag2Mcap | runnel_bag::Format::Rosbag2Sqlite => {
            "a file has no index or is missing, or metadata.yaml does not list all files"
        }
        _ => "it has no index",
    }
}

/// Format and compression of a bag that is written.
pub type Format = (Storage, CompressionSettings);

/// How a folder of `ros2 bag` is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderFormat {
    pub compression: CompressionSettings,
    pub split: SplitLimits,
    /// Texts of the user in the metadata, by key.
    pub custom_data: BTreeMap<String, String>,
}

impl From<CompressionSettings> for FolderFormat {
    /// One file.
    fn from(compression: CompressionSettings) -> Self {
        Self { compression, split: SplitLimits::default(), custom_data: BTreeMap::new() }
    }
}

/// A file or folder that is written, in most cases under another name until it is complete.
pub struct NewFile {
    path: PathBuf,
    active: PathBuf,
}

impl NewFile {
    /// The file or folder of this name, which is written from other bags.
    pub fn of_copy(path: &Path) -> Self {
        // Without a slash at the end.
        let path: PathBuf = path.components().collect();
        Self { active: appended(&path, &format!(".{PARTIAL}")), path }
    }

    /// The file of a recording of this name in this format.
    pub fn of_recording(path: PathBuf, storage: Storage) -> Self {
        let active = match storage {
            Storage::Rosbag => appended(&path, &format!(".{ACTIVE}")),
            Storage::Mcap => path.clone(),
        };
        Self { path, active }
    }

    /// The name of the complete file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name until it is complete.
    pub fn active(&self) -> &Path {
        &self.active
    }

    /// Whether neither name is taken.
    pub fn is_free(&self) -> bool {
        self.taken().is_none()
    }

    fn taken(&self) -> Option<&Path> {
        [&self.path, &self.active].into_iter().map(PathBuf::as_path).find(|path| is_taken(path))
    }

    /// Begins the bag.
    ///
    /// # Errors
    /// When the file exists or cannot be created.
    pub fn create(&self, format: Format, profile: Profile) -> Result<Box<dyn BagWriter + Send>, CliError> {
        if let Some(taken) = self.taken() {
            return Err(exists(taken));
        }
        self.create_replacement(format, profile)
    }

    /// Begins the bag, which replaces no file before it is complete.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create_replacement(
        &self,
        format: Format,
        profile: Profile,
    ) -> Result<Box<dyn BagWriter + Send>, CliError> {
        writer(&self.active, format, profile).map_err(|error| match error {
            Error::Io(error) if error.kind() == ErrorKind::AlreadyExists => exists(&self.active),
            // It names the file.
            error => CliError::failed(error),
        })
    }

    /// Begins a folder of `ros2 bag`.
    ///
    /// # Errors
    /// When the name is taken, or the folder cannot be created.
    pub fn create_folder(&self, format: &FolderFormat) -> Result<Box<dyn BagWriter + Send>, CliError> {
        if let Some(taken) = self.taken() {
            return Err(exists(taken));
        }
        // Its errors name the folder.
        let folder = Folder::create(&self.active).map_err(CliError::failed)?;
        let writer = folder_writer(folder, &bag_name(&self.path), format);
        writer.map_err(|error| {
            self.discard();
            failed(&self.active, &error)
        })
    }

    /// Gives the complete file its name, and waits until the name is safe from a power failure.
    ///
    /// # Errors
    /// When another file has that name by now.
    pub fn complete(&self) -> Result<(), CliError> {
        if self.path != self.active {
            rename_new(&self.active, &self.path).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => exists(&self.path),
                _ => CliError::Failed(format!("{}: {error}", self.active.display())),
            })?;
        }
        let folder = folder(&self.path);
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| CliError::Failed(format!("{}: {error}", folder.display())))
    }

    /// Removes the file or folder that is not complete.
    pub fn discard(&self) {
        // Without the file, nothing is left to remove.
        let _ = match self.active.is_dir() {
            true => fs::remove_dir_all(&self.active),
            false => fs::remove_file(&self.active),
        };
    }
}

/// A path with a text behind its name.
pub fn appended(path: &Path, text: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(text);
    name.into()
}

/// The folder of a file.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Name of a bag in a folder, with which the names of its files begin.
pub fn bag_name(folder: &Path) -> String {
    folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}

/// The ROS distribution that the metadata of a folder name: that of the environment, if any.
pub fn ros_distro() -> String {
    env::var("ROS_DISTRO").unwrap_or_default()
}

/// The error of a name that is taken.
pub fn exists(path: &Path) -> CliError {
    CliError::Failed(format!(
        "{}: the file exists, and bags never replace a file. Try: another name, or remove it first",
        path.display()
    ))
}

/// Begins a bag in a folder that is empty.
fn folder_writer(
    folder: Folder,
    name: &str,
    format: &FolderFormat,
) -> Result<Box<dyn BagWriter + Send>, Error> {
    let mut writer = rosbag2::Writer::new(folder, name, Profile::Ros2, &ros_distro())?;
    writer.set_split_limits(format.split);
    for (key, value) in &format.custom_data {
        writer.add_custom_data(key, value);
    }
    format.compression.apply(&mut writer)?;
    Ok(Box::new(writer))
}

/// Creates a file, which must not exist, and begins a bag in it.
fn writer(
    path: &Path,
    (storage, compression): Format,
    profile: Profile,
) -> Result<Box<dyn BagWriter + Send>, Error> {
    let disk = runnel_bag::files::create(path)?;
    let mut writer: Box<dyn BagWriter + Send> = match storage {
        Storage::Mcap => Box::new(mcap::Writer::on_disk(disk, profile)?),
        Storage::Rosbag => Box::new(rosbag::Writer::on_disk(disk)?),
    };
    compression.apply(&mut *writer)?;
    Ok(writer)
}

#[cfg(test)]
mod tests {
    use std::io;

    use runnel_bag::Compression;

    use super::*;

    #[test]
    fn errors_name_the_file_once() {
        let of_disk = Error::Io(io::Error::other("/a/run.mcap: cannot write 4096 bytes at byte 0: no space"));
        for error in [of_disk, Error::Metadata("cannot write".to_owned())] {
            let text = failed(Path::new("/a/run.mcap"), &error).to_string();
            assert!(text.starts_with("/a/run.mcap: cannot write"), "{text}");
        }
    }

    #[test]
    fn existing_files_are_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.bag");
        for taken in [path.clone(), folder.path().join("a.bag.active")] {
            fs::write(&taken, "mine").expect("a file");
            let error = NewFile::of_recording(path.clone(), Storage::Rosbag)
                .create((Storage::Rosbag, Compression::None.into()), Profile::Ros1)
                .err()
                .expect("it is taken");
            assert!(error.to_string().contains("the file exists"), "{error}");
            assert_eq!(fs::read(&taken).expect("a file"), b"mine");
            fs::remove_file(&taken).expect("a file");
        }
        let file = NewFile::of_recording(path.clone(), Storage::Rosbag);
        let mut bag =
            file.create((Storage::Rosbag, Compression::None.into()), Profile::Ros1).expect("it is free");
        assert!(!path.exists(), "it is not complete");
        bag.finish().expect("it is written");
        fs::write(&path, "mine").expect("a file");
        assert!(file.complete().is_err());
        assert_eq!(fs::read(&path).expect("a file"), b"mine");
        fs::remove_file(&path).expect("a file");
        file.complete().expect("it is free");
        assert_eq!(open(&path).expect("a bag").summary().counts.len(), 0);
    }
}
