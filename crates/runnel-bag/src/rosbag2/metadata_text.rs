//! Text of `metadata.yaml`, version 9.

use std::fmt::{self, Display};

use super::metadata::{BagMetadata, CompressionMode, FileInfo, TopicInfo};
use super::offered_qos;
use super::yaml::quoted;

/// The text of `metadata.yaml` in version 9, whatever [`BagMetadata::version`] says.
impl Display for BagMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rosbag2_bagfile_information:")?;
        writeln!(f, "  version: 9")?;
        writeln!(f, "  storage_identifier: {}", quoted(&self.storage))?;
        put_times(f, "  ", self.start, self.duration)?;
        writeln!(f, "  message_count: {}", self.message_count)?;
        put_list(f, "  ", "topics_with_message_count", &self.topics)?;
        writeln!(f, "  compression_format: {}", quoted(&self.compression_format))?;
        writeln!(f, "  compression_mode: {}", quoted(self.compression_mode.name()))?;
        put_list(f, "  ", "relative_file_paths", self.files.iter().map(Path))?;
        put_list(f, "  ", "files", &self.files)?;
        if self.custom_data.is_empty() {
            writeln!(f, "  custom_data: ~")?;
        } else {
            writeln!(f, "  custom_data:")?;
        }
        for (key, value) in &self.custom_data {
            writeln!(f, "    {}: {}", quoted(key), quoted(value))?;
        }
        writeln!(f, "  ros_distro: {}", quoted(&self.ros_distro))
    }
}

impl BagMetadata {
    /// The text of the record in an MCAP file, which `ros2 bag` reads without the root key.
    pub(super) fn record_text(&self) -> String {
        let text = self.to_string();
        let lines = text.lines().skip(1).map(|line| line.strip_prefix("  ").unwrap_or(line));
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

impl Display for TopicInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    - topic_metadata:")?;
        writeln!(f, "        name: {}", quoted(&self.name))?;
        writeln!(f, "        type: {}", quoted(&self.type_name))?;
        writeln!(f, "        serialization_format: {}", quoted(&self.serialization_format))?;
        match self.offered_qos.as_deref().and_then(|offered| offered_qos::in_words(offered, 10)) {
            Some(profiles) => write!(f, "        offered_qos_profiles:\n{profiles}")?,
            None => writeln!(f, "        offered_qos_profiles: []")?,
        }
        let hash = self.type_hash.as_deref().unwrap_or_default();
        writeln!(f, "        type_description_hash: {}", quoted(hash))?;
        writeln!(f, "      message_count: {}", self.message_count)
    }
}

impl Display for FileInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    - path: {}", quoted(&self.path))?;
        put_times(f, "      ", self.start, self.duration)?;
        writeln!(f, "      message_count: {}", self.message_count)
    }
}

struct Path<'a>(&'a FileInfo);

impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    - {}", quoted(&self.0.path))
    }
}

impl CompressionMode {
    fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::File => "FILE",
            Self::Message => "MESSAGE",
        }
    }
}

fn put_list<T: Display>(
    f: &mut fmt::Formatter<'_>,
    indent: &str,
    name: &str,
    elements: impl IntoIterator<Item = T>,
) -> fmt::Result {
    let mut elements = elements.into_iter().peekable();
    let empty = if elements.peek().is_some() { "" } else { " []" };
    writeln!(f, "{indent}{name}:{empty}")?;
    elements.try_for_each(|element| write!(f, "{element}"))
}

fn put_times(f: &mut fmt::Formatter<'_>, indent: &str, start: u64, duration: u64) -> fmt::Result {
    writeln!(f, "{indent}duration:\n{indent}  nanoseconds: {duration}")?;
    writeln!(f, "{indent}starting_time:\n{indent}  nanoseconds_since_epoch: {start}")
}
