use std::collections::BTreeMap;

use runnel_bag::rosbag2::SplitLimits;
use runnel_bag::{Channel, Compression};

use super::output_bag::{OutputBag, output_bags};

fn bag(members: &str) -> Result<OutputBag, String> {
    let mut bags = output_bags(&format!("output_bags: [{{uri: new, {members}}}]"))?;
    assert_eq!(bags.len(), 1);
    Ok(bags.remove(0))
}

/// The selected topics.
fn selected(members: &str) -> String {
    let bag = bag(members).expect("sound");
    let channels = [
        ("/map", "std_msgs/msg/String"),
        ("/robot/scan", "sensor_msgs/msg/LaserScan"),
        ("/fib/_action/status", "action_msgs/msg/GoalStatusArray"),
        ("/power/_service_event", "std_srvs/srv/SetBool_Event"),
    ];
    let channels = channels.map(|(topic, type_name)| Channel {
        topic: topic.to_owned(),
        type_name: type_name.to_owned(),
        ..Channel::default()
    });
    let selected = channels.iter().filter(|channel| bag.topics.selects(channel));
    selected.map(|channel| &*channel.topic).collect::<Vec<_>>().join(" ")
}

#[test]
fn topics_are_selected_as_in_the_original() {
    for (members, expected) in [
        ("", ""),
        ("all_topics: true", "/map /robot/scan"),
        ("all: true", "/map /robot/scan /power/_service_event"),
        ("all_services: true", "/power/_service_event"),
        ("all_topics: true, include_hidden_topics: true", "/map /robot/scan /fib/_action/status"),
        ("topics: [map, /fib/_action/status]", "/map /fib/_action/status"),
        ("topic_types: [sensor_msgs/msg/LaserScan]", "/robot/scan"),
        ("services: [/power]", "/power/_service_event"),
        ("services: [/power/_service_event]", "/power/_service_event"),
        ("regex: 'a[pn]|power'", "/map /robot/scan /power/_service_event"),
        ("all: true, exclude_regex: 'scan|power'", "/map"),
        ("all: true, exclude: scan, exclude_services: [/power]", "/map"),
        (
            "all: true, exclude_topics: [/map], exclude_topic_types: [sensor_msgs/LaserScan]",
            "/power/_service_event",
        ),
    ] {
        assert_eq!(selected(members), expected, "{members}");
    }
}

#[test]
fn format_is_that_of_the_keys() {
    let plain =
        bag("storage_id: '', max_bagfile_size: 0, compression_mode: '', custom_data:").expect("sound").format;
    assert_eq!((plain.compression.compression, plain.compression.threads), (Compression::None, 1));
    assert_eq!((plain.split, plain.custom_data), (SplitLimits::default(), BTreeMap::new()));
    for zstd in ["compression_mode: FILE, compression_format: zstd", "storage_preset_profile: zstd_fast"] {
        assert_eq!(bag(zstd).expect("sound").format.compression.compression, Compression::Zstd, "{zstd}");
    }
    let split =
        bag("storage_id: mcap, max_bagfile_size: 5000, max_bagfile_duration: 2, compression_threads: 3");
    let split = split.expect("sound").format;
    assert_eq!(split.split, SplitLimits { len: Some(5000), duration: Some(2_000_000_000) });
    assert_eq!(split.compression.threads, 3);
    let custom = bag("custom_data: {robot: r1}, max_cache_size: 7, include_unpublished_topics: false");
    assert_eq!(custom.expect("sound").format.custom_data["robot"], "r1");
}

#[test]
fn error_names_bag_and_key() {
    for (members, expected) in [
        ("al: true", "output bag 1: unknown key al. Try: uri, all, "),
        ("all: 7", "output bag 1: all: expected true or false"),
        ("topics: /map", "output bag 1: topics: expected a list"),
        ("max_bagfile_size: -1", "output bag 1: max_bagfile_size: expected a whole number"),
        ("storage_id: sqlite3", "output bag 1: storage_id: \"sqlite3\" is not supported. Try: mcap"),
        ("start_time_ns: 5", "output bag 1: start_time_ns: \"5\" is not supported. Try: runnel bag cut"),
        ("regex: '('", "output bag 1: regex: "),
        ("compression_mode: all", "output bag 1: invalid value 'all' for '--compression-mode"),
        ("compression_format: zstd", "output bag 1: --compression-format has no meaning"),
        ("topic_types: [x]", "output bag 1: topic_types: \"x\" is not a type"),
        ("uri: ''", "output bag 1: key uri is missing"),
    ] {
        let why = bag(members).expect_err("it is refused");
        assert!(why.starts_with(expected), "{members}: {why}");
    }
    for (text, expected) in [
        ("", "expected a mapping"),
        ("bags: []", "unknown key bags"),
        ("output_bags: []", "output_bags: expected one bag"),
        ("output_bags: {uri: x}", "output_bags: expected a list"),
        ("output_bags: [{uri: x}, {all: true}]", "output bag 2: key uri is missing"),
        ("{", "(line 2, column 1)"),
    ] {
        let why = output_bags(text).expect_err("it is refused");
        assert!(why.contains(expected), "{text}: {why}");
    }
}
