//! Metadata made from the files of a folder, because its recorder was killed before it wrote them.

use super::metadata::{BagMetadata, CompressionMode, FileInfo, TopicInfo};
use super::reader::{BagFile, Reader};
use crate::{BagReader, Error, Format, Summary};

/// Extension of files that are compressed as a whole.
const COMPRESSED: &str = ".zstd";

/// What `metadata.yaml` should say of the files of a bag. What files do not hold is as in the metadata of the recorder.
///
/// # Errors
/// [`Error::InFile`] for a file that `metadata.yaml` cannot describe, or not together with the others.
pub fn rebuilt_metadata(bag: &Reader, recorded: Option<&BagMetadata>) -> Result<BagMetadata, Error> {
    let recorded = recorded.cloned().unwrap_or_default();
    let (storage, is_compressed) = kind_of_all(bag.files())?;
    let (compression_format, compression_mode) = match recorded.compression_mode {
        _ if is_compressed => ("zstd".to_owned(), CompressionMode::File),
        CompressionMode::Message => (recorded.compression_format, CompressionMode::Message),
        _ => (String::new(), CompressionMode::None),
    };
    let channels = bag.channels().iter().zip(&bag.summary().counts);
    let FileInfo { start, duration, message_count, .. } = info("", bag.summary());
    Ok(BagMetadata {
        version: 9,
        storage: storage.to_owned(),
        start,
        duration,
        message_count,
        topics: TopicInfo::each_once(channels.map(|(channel, count)| TopicInfo::of(channel, *count))),
        compression_format,
        compression_mode,
        files: bag.files().iter().map(|file| info(&file.path, file.reader.summary())).collect(),
        custom_data: recorded.custom_data,
        ros_distro: recorded.ros_distro,
    })
}

fn info(path: &str, summary: &Summary) -> FileInfo {
    let start = summary.start.unwrap_or(0);
    FileInfo {
        path: path.to_owned(),
        start,
        duration: summary.end.unwrap_or(start).saturating_sub(start),
        message_count: summary.counts.iter().copied().fold(0, u64::saturating_add),
    }
}

/// The storage of all files, and whether they are compressed as a whole.
fn kind_of_all(files: &[BagFile]) -> Result<(&'static str, bool), Error> {
    let (first, others) = files.split_first().ok_or(Error::NotABag)?;
    let common = kind(first)?;
    for file in others {
        if kind(file)? != common {
            let why = "one is compressed as a whole, or has another format";
            let why = format!("metadata.yaml cannot describe it together with {}: {why}", first.path);
            return Err(Error::Metadata(why).in_file(&file.path));
        }
    }
    Ok(common)
}

fn kind(file: &BagFile) -> Result<(&'static str, bool), Error> {
    let storage = match file.reader.summary().format {
        Format::Mcap => "mcap",
        Format::Rosbag2Sqlite => "sqlite3",
        format => {
            let why = format!("metadata.yaml cannot describe it: its format is {format}");
            return Err(Error::Metadata(why).in_file(&file.path));
        }
    };
    Ok((storage, file.path.ends_with(COMPRESSED)))
}
