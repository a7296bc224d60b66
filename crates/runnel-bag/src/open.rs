//! Opening of bags by their paths.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use crate::limits::longest_decompressed;
use crate::reopened_file::ReopenedFile;
use crate::rosbag2::{self, BACKUP, BagFile, BagMetadata, METADATA_FILE};
use crate::{BagReader, Error, mcap, rosbag};

/// First bytes of an SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// First bytes of a file that is compressed by zstd.
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];

/// Extensions of the files in a folder without `metadata.yaml`.
const EXTENSIONS: [&str; 4] = [".mcap", ".db3", ".mcap.zstd", ".db3.zstd"];

/// Files of a folder from which on each is opened only while it is read.
const MANY_FILES: usize = 64;

/// Longest `metadata.yaml`, in bytes.
const LONGEST_METADATA: u64 = 16 << 20;

/// Opens a bag of any format: a file, recognized by its first bytes, or a folder of `ros2 bag`.
///
/// Files that are compressed as a whole are decompressed into the folder for temporary files.
///
/// # Errors
/// Those of the file system and of the formats, always as [`Error::InFile`].
pub fn open(path: &Path) -> Result<Box<dyn BagReader + Send>, Error> {
    let opened = match fs::metadata(path) {
        Err(error) => Err(error.into()),
        Ok(metadata) if metadata.is_dir() => return Ok(Box::new(open_folder(path)?)),
        Ok(metadata) => open_file(path, false, &mut longest_decompressed(metadata.len())),
    };
    opened.map_err(|error| error.in_file(&path.display().to_string()))
}

/// Opens a folder of `ros2 bag`. Files that `metadata.yaml` lists, but that do not exist, are its damage.
///
/// # Errors
/// As [`open`].
pub fn open_folder(path: &Path) -> Result<rosbag2::Reader, Error> {
    open_files_of(path).map_err(|error| error.in_file(&path.display().to_string()))
}

/// Opens a file, once or each time that it is read. If it is compressed, it takes its decompressed length from the
/// `budget`.
fn open_file(path: &Path, is_reopened: bool, budget: &mut u64) -> Result<Box<dyn BagReader + Send>, Error> {
    // Opening a pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file").into());
    }
    let mut file = File::open(path)?;
    let magic = magic(&mut file)?;
    if magic.starts_with(ZSTD) {
        return open_compressed(file, is_reopened, budget);
    }
    if magic == SQLITE {
        return open_sqlite(path);
    }
    if is_reopened { open_input(ReopenedFile::new(path), &magic) } else { open_input(file, &magic) }
}

/// Up to 16 bytes from the start.
fn magic(file: &mut File) -> io::Result<Vec<u8>> {
    let mut magic = Vec::new();
    file.take(SQLITE.len() as u64).read_to_end(&mut magic)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(magic)
}

fn open_input<R: Read + Seek + Send + 'static>(
    input: R,
    magic: &[u8],
) -> Result<Box<dyn BagReader + Send>, Error> {
    if magic.starts_with(b"\x89MCAP") {
        Ok(Box::new(mcap::Reader::open(input)?))
    } else {
        Ok(Box::new(rosbag::Reader::open(input)?))
    }
}

#[cfg(feature = "zstd")]
fn open_compressed(
    file: File,
    is_reopened: bool,
    budget: &mut u64,
) -> Result<Box<dyn BagReader + Send>, Error> {
    let mut copy = tempfile::NamedTempFile::new()?;
    let len = io::copy(&mut zstd::Decoder::new(file)?.take(budget.saturating_add(1)), &mut copy)?;
    *budget = budget.checked_sub(len).ok_or_else(|| {
        Error::Metadata("the bag is longer than 1024 times its compressed length".to_owned())
    })?;
    let (mut file, path) = copy.into_parts();
    file.seek(SeekFrom::Start(0))?;
    let magic = magic(&mut file)?;
    if magic == SQLITE {
        return open_temporary_sqlite(path);
    }
    if is_reopened {
        return open_input(ReopenedFile::temporary(path), &magic);
    }
    // The file remains until it is closed.
    path.close()?;
    open_input(file, &magic)
}

#[cfg(not(feature = "zstd"))]
fn open_compressed(
    _file: File,
    _is_reopened: bool,
    _budget: &mut u64,
) -> Result<Box<dyn BagReader + Send>, Error> {
    Err(Error::UnsupportedCompression { at: 0, name: "zstd".to_owned() })
}

#[cfg(feature = "sqlite")]
fn open_sqlite(path: &Path) -> Result<Box<dyn BagReader + Send>, Error> {
    Ok(Box::new(rosbag2::sqlite::Reader::open(path)?))
}

#[cfg(all(feature = "sqlite", feature = "zstd"))]
fn open_temporary_sqlite(path: tempfile::TempPath) -> Result<Box<dyn BagReader + Send>, Error> {
    Ok(Box::new(rosbag2::sqlite::Reader::open_temporary(path)?))
}

#[cfg(not(feature = "sqlite"))]
fn open_sqlite(_path: &Path) -> Result<Box<dyn BagReader + Send>, Error> {
    let why = "this program was built without the feature sqlite, which reads SQLite files. Try: cargo install --path \
               crates/runnel-cli --features sqlite";
    Err(Error::Database(why.to_owned()))
}

#[cfg(all(not(feature = "sqlite"), feature = "zstd"))]
fn open_temporary_sqlite(path: tempfile::TempPath) -> Result<Box<dyn BagReader + Send>, Error> {
    open_sqlite(&path)
}

fn open_files_of(folder: &Path) -> Result<rosbag2::Reader, Error> {
    let (metadata, damage) = match read_metadata(folder) {
        Ok(metadata) => (metadata, None),
        Err(Error::Io(error)) => return Err(Error::Io(error).in_file(METADATA_FILE)),
        Err(error) => (None, Some(error.in_file(METADATA_FILE))),
    };
    let paths = match &metadata {
        Some(metadata) => listed_files(folder, metadata).map_err(|error| error.in_file(METADATA_FILE))?,
        None => files(folder)?,
    };
    let (paths, missing): (Vec<_>, Vec<_>) =
        paths.into_iter().partition(|name| !is_missing(&folder.join(name)));
    // The files may have got other names.
    let paths = if paths.is_empty() && !missing.is_empty() { files(folder)? } else { paths };
    if paths.is_empty() {
        return Err(if missing.is_empty() { Error::NotABag } else { rosbag2::missing_files_error(&missing) });
    }
    let are_many = paths.len() > MANY_FILES;
    // One limit for all: each of many small files could be long.
    let len = |name: &String| fs::metadata(folder.join(name)).map_or(0, |metadata| metadata.len());
    let mut budget = longest_decompressed(paths.iter().map(len).fold(0, u64::saturating_add));
    let file = |name: String| match open_file(&folder.join(&name), are_many, &mut budget) {
        Ok(reader) => Ok(BagFile { path: name, reader }),
        Err(error) => Err(error.in_file(&name)),
    };
    let files = paths.into_iter().map(file).collect::<Result<Vec<_>, _>>()?;
    let mut reader = rosbag2::Reader::new(metadata.as_ref(), files)?;
    if let Some(damage) = damage {
        reader.add_damage(damage);
    }
    reader.add_missing(missing);
    Ok(reader)
}

/// `None` without the file: the recorder was killed.
fn read_metadata(folder: &Path) -> Result<Option<BagMetadata>, Error> {
    let file = match File::open(folder.join(METADATA_FILE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut text = Vec::new();
    file.take(LONGEST_METADATA).read_to_end(&mut text)?;
    BagMetadata::parse(&String::from_utf8_lossy(&text)).map(Some)
}

/// The files of the metadata, and those that only differ from them by their numbers: a killed recorder does not list its
/// last one, and none lists a file that it gave up on a full disk.
///
/// # Errors
/// [`Error::Metadata`] for a file that is listed twice or cannot be in the folder.
fn listed_files(folder: &Path, metadata: &BagMetadata) -> Result<Vec<String>, Error> {
    let (mut names, mut known) = (Vec::new(), HashSet::new());
    for file in &metadata.files {
        let name = in_folder(folder, &file.path)?;
        if !known.insert(name.clone()) {
            return Err(Error::Metadata(format!("file {name:?} is listed twice")));
        }
        names.push(name);
    }
    for name in files(folder)? {
        if !known.contains(&name) && names.iter().any(|listed| are_of_one_bag(listed, &name)) {
            let next = names.iter().position(|listed| numbered(listed) > numbered(&name));
            names.insert(next.unwrap_or(names.len()), name);
        }
    }
    Ok(names)
}

/// Whether names differ by their numbers only.
fn are_of_one_bag(one: &str, other: &str) -> bool {
    let rest = |name| numbered(name).map(|(start, _, extension)| (start, extension));
    rest(one).is_some() && rest(one) == rest(other)
}

/// A path in the metadata as a path in the folder. Old recorders begin it with the name of the folder, and none may
/// lead out of it.
fn in_folder(folder: &Path, path: &str) -> Result<String, Error> {
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if Path::new(path).components().all(is_inside) && folder.join(path).exists() {
        let parts: PathBuf = Path::new(path).components().filter(|part| *part != Component::CurDir).collect();
        return Ok(parts.to_string_lossy().into_owned());
    }
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    name.ok_or_else(|| Error::Metadata(format!("file {path:?} is not in the folder")))
}

/// The parts of a name: `x`, 7 and `.mcap` of `x_7.mcap`.
fn numbered(name: &str) -> Option<(&str, u64, &str)> {
    let extension = EXTENSIONS.into_iter().find(|extension| name.ends_with(extension))?;
    let (start, number) = name.strip_suffix(extension)?.rsplit_once('_')?;
    Some((start, number.parse().ok()?, extension))
}

/// The files of bags in a folder, in the order of their numbers.
fn files(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = PathBuf::from(entry?.file_name()).display().to_string();
        let is_bag = EXTENSIONS.iter().any(|extension| name.ends_with(extension));
        if is_bag && !is_replaced(folder, &name) && !is_empty(&folder.join(&name)) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| {
        (numbered(name).map(|(start, number, _)| (start.to_owned(), number)), name.clone())
    });
    Ok(names)
}

/// Whether a file is kept only because it was written anew.
fn is_replaced(folder: &Path, name: &str) -> bool {
    EXTENSIONS.iter().any(|extension| {
        let stem = name.strip_suffix(extension).and_then(|stem| stem.strip_suffix(BACKUP));
        stem.is_some_and(|stem| folder.join(format!("{stem}{extension}")).exists())
    })
}

fn is_missing(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Whether a file has no first byte yet. A recorder that is killed can leave such a file.
fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}
