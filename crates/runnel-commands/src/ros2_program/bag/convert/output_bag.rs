//! The file that describes the bags `ros2 bag convert` writes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use runnel::core::yaml::{YamlNode, parse_documents};
use runnel_bag::Compression;
use runnel_bag::rosbag2::SplitLimits;

use super::topic_filter::TopicFilter;
use crate::bag::files::FolderFormat;
use crate::bag::record::CompressionArgs;
use crate::bag::storage::{CompressionSettings, Storage};
use crate::bag::yaml_members::{Member, members};
use crate::originals::one_line_error;

/// Keys that matter only while topics are recorded.
const IGNORED: [&str; 13] = [
    "max_cache_size",
    "snapshot_mode",
    "is_discovery_disabled",
    "topic_polling_interval",
    "node_prefix",
    "compression_queue_size",
    "compression_threads_priority",
    "topic_qos_profile_overrides",
    "include_unpublished_topics",
    "ignore_leaf_topics",
    "disable_keyboard_controls",
    "start_paused",
    "use_sim_time",
];

/// Keys that are refused unless they have one of these values, and what to do instead.
const ONLY: [(&str, &[&str], &str); 5] = [
    ("storage_id", &["", "mcap"], "mcap: other formats are not written"),
    ("storage_config_uri", &[""], "storage_preset_profile, or compression_mode"),
    ("rmw_serialization_format", &["", "cdr"], "cdr: messages are not converted"),
    ("start_time_ns", &["-1", "0"], "runnel bag cut"),
    ("end_time_ns", &["-1", "0"], "runnel bag cut"),
];

/// Keys of compression, which are options of the recorder as well.
const COMPRESSION: [&str; 4] =
    ["compression_mode", "compression_format", "compression_threads", "storage_preset_profile"];

/// A bag that is written.
#[derive(Debug)]
pub(super) struct OutputBag {
    pub(super) uri: PathBuf,
    pub(super) format: FolderFormat,
    pub(super) topics: TopicFilter,
}

/// The bags of a file.
///
/// # Errors
/// Which bag and key are wrong, and what is expected.
pub(super) fn output_bags(text: &str) -> Result<Vec<OutputBag>, String> {
    let documents = parse_documents(text).map_err(|error| error.to_string())?;
    let root = documents.first().map(members).transpose()?.unwrap_or_default();
    let [bags] = &root[..] else { return Err("expected the key output_bags, and no others".to_owned()) };
    if bags.key != "output_bags" {
        return Err(format!("unknown key {}. Expected: output_bags", bags.key));
    }
    let bags = bags.list()?;
    if bags.is_empty() {
        return Err("output_bags: expected one bag at least".to_owned());
    }
    let of_bag = |(node, number)| output_bag(node).map_err(|why| format!("output bag {number}: {why}"));
    bags.iter().zip(1..).map(of_bag).collect()
}

fn output_bag(node: &YamlNode) -> Result<OutputBag, String> {
    let (mut uri, mut split, mut topics) = (None, SplitLimits::default(), TopicFilter::default());
    let (mut custom_data, mut compression) = (BTreeMap::new(), Vec::new());
    for member in members(node)?.into_iter().filter(|member| !member.is_null()) {
        match member.key {
            "uri" => uri = Some(PathBuf::from(member.text()?)).filter(|uri| !uri.as_os_str().is_empty()),
            "max_bagfile_size" => split.len = Some(member.number()?).filter(|len| *len > 0),
            "max_bagfile_duration" => {
                let seconds = Some(member.number()?).filter(|seconds| *seconds > 0);
                split.duration = seconds.map(|seconds| seconds.saturating_mul(1_000_000_000));
            }
            "custom_data" => custom_data = member.mapping()?,
            key if COMPRESSION.contains(&key) => compression.extend(option(member)?),
            key if IGNORED.contains(&key) => {}
            key => match ONLY.iter().find(|(only, ..)| *only == key) {
                Some((_, values, instead)) => only(member, values, instead)?,
                None => topics.set(member)?,
            },
        }
    }
    let format = FolderFormat { compression: settings(&compression)?, split, custom_data };
    Ok(OutputBag { uri: uri.ok_or("key uri is missing: the folder of the bag")?, format, topics })
}

fn only(member: Member<'_>, values: &[&str], instead: &str) -> Result<(), String> {
    let text = member.text()?;
    if values.contains(&text) {
        return Ok(());
    }
    Err(format!("{}: {text:?} is not supported. Try: {instead}", member.key))
}

/// A key as the recorder's option; none for an empty text.
fn option(member: Member<'_>) -> Result<Option<String>, String> {
    let text = member.text()?.to_lowercase();
    let name = member.key.replace('_', "-");
    Ok((!text.is_empty()).then(|| format!("--{name}={text}")))
}

/// What the recorder's options request.
fn settings(options: &[String]) -> Result<CompressionSettings, String> {
    let parser = CompressionArgs::augment_args(clap::Command::new("convert").no_binary_name(true));
    let matches = parser.try_get_matches_from(options).map_err(|error| one_line_error(&error))?;
    let args = CompressionArgs::from_arg_matches(&matches).map_err(|error| one_line_error(&error))?;
    let requested = args.requested().map_err(|error| error.to_string())?;
    let compression = requested.map(|requested| Storage::Mcap.compression(requested)).transpose();
    let compression = compression.map_err(|error| error.to_string())?.unwrap_or(Compression::None);
    Ok(CompressionSettings { compression, threads: args.threads() })
}
