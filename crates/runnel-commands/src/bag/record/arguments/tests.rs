use std::io::Write;
use std::path::PathBuf;

use clap::{Args as _, FromArgMatches};
use runnel_bag::Compression;

use runnel::QoS;

use super::output::Destination;
use super::*;
use crate::arguments::Arguments;
use crate::bag::storage::{CompressionSettings, Storage};
use crate::originals::Original;

fn args(line: &str) -> Result<Args, String> {
    let command = Args::augment_args(clap::Command::new("record"));
    let matches = command.try_get_matches_from(format!("record {line}").split_whitespace());
    Ok(Args::from_arg_matches(&matches.map_err(|error| error.to_string())?).expect("parsed"))
}

fn context() -> CliContext {
    let arguments = Arguments::split(vec!["runnel".into()]).expect("a good line");
    CliContext::new(arguments, true, Vec::new()).expect("sound")
}

fn plan(line: &str) -> Result<Plan, String> {
    args(line)?.plan(&context()).map_err(|error| error.to_string())
}

fn refused(line: &str) -> String {
    plan(line).err().unwrap_or_else(|| panic!("{line} is accepted"))
}

#[test]
fn topics_are_required_and_resolved() {
    let topics = |line: &str| plan(line).expect("sound").options.topics;
    assert_eq!(topics("a /b").names.into_iter().collect::<Vec<_>>(), ["/a", "/b"]);
    assert!(topics("-a").all && topics("-e x -e y").regexes.len() == 2);
    assert!(refused("").contains("nothing to record"));
    assert!(refused("/scan -x sc").contains("excluded"));
    assert!(refused("-e (").contains("regex"), "{}", refused("-e ("));
}

#[test]
fn output_is_named_by_the_user_or_the_date() {
    let of = |line: &str| plan(line).map(|plan| plan.destination);
    let files = |name: &str, storage, compression| {
        Ok(Destination::Files(name.into(), (storage, CompressionSettings::from(compression))))
    };
    assert_eq!(of("-a -O x.bag"), files("x", Storage::Rosbag, Compression::None));
    assert_eq!(of("-a -O x --zstd"), files("x", Storage::Mcap, Compression::Zstd));
    assert_eq!(of("-a -O x.y -s rosbag -j"), files("x.y", Storage::Rosbag, Compression::Bz2));
    let Ok(Destination::Files(day, _)) = of("-a -o day") else { panic!("files") };
    assert!(day.to_string_lossy().starts_with("day_2"));
    assert!(refused("-a -O x.bag -s mcap").contains("--storage"));
    assert!(refused("-a -O x.bag --zstd").contains("--lz4"));
    assert!(refused("-a -O x.bag --ros2").contains("--storage mcap"));
}

#[test]
fn folder_is_named_as_by_ros2_bag() {
    let of = |line: &str| plan(line).map(|plan| plan.destination);
    assert_eq!(
        of("-a -s rosbag2 -O x.y"),
        Ok(Destination::Folder(PathBuf::from("x.y"), Compression::None.into()))
    );
    let Ok(Destination::Folder(path, lz4)) = of("-a -s rosbag2 --lz4") else { panic!("a folder") };
    assert_eq!(lz4, Compression::Lz4.into());
    assert!(path.to_string_lossy().starts_with("rosbag2_2"), "{path:?}");
    assert!(refused("-a -s rosbag2 --ros1").contains("--storage mcap"));
    assert!(refused("-a -s rosbag2 -j").contains("--zstd"));
}

#[test]
fn options_of_ros2_bag_have_its_spelling() {
    let of = |line: &str| plan(line).expect("sound");
    let topics = of("/a --topics b /c -O x").options.topics.names;
    assert_eq!(topics.into_iter().collect::<Vec<_>>(), ["/a", "/b", "/c"]);
    let all = of("--all-topics --output x.bag --max-bag-size 5 --max-bag-files 3");
    assert!(all.options.topics.all);
    assert!(
        matches!(all.destination, Destination::Files(name, (Storage::Rosbag, _)) if name.as_os_str() == "x")
    );
    assert_eq!(all.retention.count, Some(3));
    assert!(of("-a").reads_keys && !of("-a --disable-keyboard-controls").reads_keys);
}

#[test]
fn folder_and_texts_of_the_bag_are_read() {
    let Ok(Destination::Files(name, _)) = plan("-a --output-dir d -O x.bag").map(|plan| plan.destination)
    else {
        panic!("files")
    };
    assert_eq!(name.as_os_str(), "d/x");
    let plan = plan("-a --output-dir d -s rosbag2 --custom-data a=1 b= a=2").expect("sound");
    let texts: Vec<(&str, &str)> =
        plan.custom_data.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    assert_eq!(texts, [("a", "2"), ("b", "")]);
    assert!(plan.destination.path().starts_with("d"));
    assert_eq!(self::plan("-a -s rosbag --custom-data a=1").expect("sound").custom_data.len(), 1);
    assert!(refused("-a --custom-data =1").contains("KEY=VALUE"));
}

#[test]
fn space_and_repeated_messages_are_read() {
    let sink = plan("-a -L 2G --repeat-transient-local map=3 /tf_static").expect("sound").options.sink;
    assert_eq!(sink.min_space, Some(2 << 30));
    assert_eq!(sink.repeated, [("/map".to_owned(), 3), ("/tf_static".to_owned(), 1)].into());
    assert!(refused("-a --repeat-transient-local =3").contains("TOPIC=DEPTH"));
    assert!(plan("-a --repeat-latched").is_ok() && plan("-a --repeat-all-transient-local").is_ok());
}

#[test]
fn topics_of_actions_are_recorded_by_their_names() {
    let names = |line: &str| plan(line).expect("sound").options.topics;
    let of_action = names("--actions fib --exclude-actions /other");
    assert_eq!((of_action.names.len(), of_action.excluded_names.len()), (5, 5));
    assert!(of_action.names.contains("/fib/_action/status"));
    assert!(names("--all-actions").all_actions);
}

#[test]
fn topics_of_a_file_have_types() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(b"static_topics_and_types_list:\n - [/scan, sensor_msgs/msg/LaserScan]\n")
        .expect("a file");
    let path = file.path().display().to_string();
    let options = plan(&format!("--static-topics-path {path}")).expect("sound").options;
    assert!(options.topics.names.contains("/scan"));
    assert_eq!(options.static_topics["/scan"].to_string(), "sensor_msgs/LaserScan");
    let missing = refused(&format!("--static-topics-path {path}.no"));
    assert!(missing.contains(&path), "{missing}");
}

#[test]
fn snapshots_have_limits_of_their_own() {
    let memory =
        |line: &str| plan(line).expect("sound").options.sink.memory.map(|one| (one.bytes, one.duration));
    assert_eq!(memory("-a"), None);
    assert_eq!(memory("-a --snapshot-mode"), Some((100 << 20, None)));
    let line = "-a --snapshot-mode --snapshot-duration 5m --max-cache-size 1000";
    assert_eq!(memory(line), Some((1000, Some(Duration::from_secs(300)))));
    assert!(refused("-a --snapshot-mode --split --size 1").contains("--snapshot-duration"));
    assert!(refused("-a --snapshot-duration 5").contains("--snapshot-mode"));
    let line = "-a --snapshot-mode --max-cache-duration 7 --max-cache-size 0";
    assert_eq!(memory(line), Some((usize::MAX, Some(Duration::from_secs(7)))));
    assert_eq!(memory("-a --snapshot-mode --max-cache-duration 0"), Some((100 << 20, None)));
    assert!(refused("-a --snapshot-mode --max-cache-size 0").contains("need a limit"));
}

#[test]
fn only_one_of_several_bags_can_be_removed() {
    for option in ["--max-splits 2", "--keep-size 5", "--keep-duration 5m", "--disk-full drop-oldest"] {
        assert!(refused(&format!("-a {option}")).contains("--split"), "{option}");
        assert!(plan(&format!("-a --split --size 1 {option}")).is_ok(), "{option}");
        assert!(plan(&format!("-a --snapshot-mode {option}")).is_ok(), "{option}");
    }
}

#[test]
fn qos_is_read_from_a_file() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(b"/scan:\n  reliability: best_effort\n  depth: 3\n").expect("a file");
    let path = file.path().display().to_string();
    let overrides =
        plan(&format!("-a --qos-profile-overrides-path {path}")).expect("sound").options.qos_overrides;
    assert_eq!(overrides["/scan"], QoS::keep_last(3).best_effort());
    file.write_all(b"/odom: 1\n").expect("a file");
    let why = refused(&format!("-a --qos-profile-overrides-path {path}"));
    assert!(why.starts_with(&path) && why.contains("/odom"), "{why}");
}

#[test]
fn limits_of_both_originals_are_read() {
    let limits = |line: &str| plan(line).expect("sound").options.sink.limits;
    let rosbag = limits("-a --split --size 2 --duration 5m -l 3");
    assert_eq!((rosbag.size, rosbag.split, rosbag.messages), (Some(2 << 20), true, Some(3)));
    assert_eq!(rosbag.duration, Some(Duration::from_secs(300)));
    let ros2 = limits("-a --max-bag-size 100 -d 7");
    assert_eq!((ros2.size, ros2.duration, ros2.split), (Some(100), Some(Duration::from_secs(7)), true));
    assert!(!limits("-a --duration 1").split && !limits("-a --max-bag-size 0").split);
    let of_topic = limits("-a --topic-limit /a=10hz --topic-limit a=5 --topic-limit /b=1kB").topics;
    assert_eq!((of_topic["/a"].messages, of_topic["/b"].bytes), (Some(5), Some(1000)));
    assert!(of_topic["/a"].interval.is_some() && of_topic.len() == 2);
    assert!(refused("-a --split").contains("--size"));
}

#[test]
fn compression_of_ros2_bag_is_that_of_chunks() {
    let of = |line: &str| match plan(line).expect("sound").destination {
        Destination::Folder(_, settings) | Destination::Files(_, (_, settings)) => settings,
    };
    let [none, zstd] = [Compression::None, Compression::Zstd].map(CompressionSettings::from);
    for (options, expected) in [
        ("--compression-mode none", none),
        ("--compression-mode file --compression-format zstd", zstd),
        ("--compression-mode message", zstd),
        ("--storage-preset-profile none", none),
        ("--storage-preset-profile fastwrite", none),
        ("--storage-preset-profile zstd_fast", zstd),
        ("--storage-preset-profile zstd_small --zstd", zstd),
        ("--storage-preset-profile fastwrite --compression-mode file", zstd),
        ("--zstd --compression-threads 3", CompressionSettings { threads: 3, ..zstd }),
    ] {
        assert_eq!(of(&format!("-a -s rosbag2 {options}")), expected, "{options}");
        assert_eq!(of(&format!("-a {options}")), expected, "{options}");
    }
    assert!(refused("-a --compression-format zstd").contains("Try: --compression-mode file"));
    assert!(
        refused("-a --compression-format zstd --compression-mode none").contains("Try: --compression-mode")
    );
    assert!(refused("-a --compression-mode file --lz4").contains("only one"));
    assert!(refused("-a --compression-mode file -s rosbag").contains("rosbag 2.0 has no zstd"));
    for option in ["--compression-mode x", "--compression-format lz4", "--storage-preset-profile resilient"] {
        let why = refused(&format!("-a {option}"));
        assert!(why.contains("[possible values: "), "{why}");
    }
}

#[test]
fn options_without_meaning_are_noted() {
    let runnel = context();
    let notes = |line: &str| args(line).expect("sound").notes(&runnel);
    assert_eq!(notes("-a --storage-preset-profile zstd_fast --compression-threads 2"), [""; 0]);
    for (options, expected) in [
        ("--compression-mode file", "each chunk is compressed"),
        ("--storage-preset-profile fastwrite", "fastwrite changes nothing"),
        ("--storage-preset-profile zstd_small", "one level"),
        ("--compression-threads 2", "no meaning without compression"),
        ("-b 512", "--queue"),
        ("-b 1001", "--split --size MIB"),
        ("--max-cache-size 5", "without a cache"),
        ("--max-cache-duration 5", "without a cache"),
        ("--polling-interval 5", "every 100 ms"),
    ] {
        let notes = notes(&format!("-a {options}"));
        assert!(notes.len() == 1 && notes[0].contains(expected), "{options}: {notes:?}");
    }
    let rosbag = runnel.of_original(Original::Ros1("rosbag"));
    let notes = args("-a -b 2048").expect("sound").notes(&rosbag);
    assert_eq!(notes, ["messages go to the disk without a cache"], "-b is its buffer");
}
