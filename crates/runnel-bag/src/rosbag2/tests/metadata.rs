use crate::Error;
use crate::rosbag2::offered_qos::in_words;
use crate::rosbag2::{BagMetadata, CompressionMode, FileInfo, TopicInfo};

/// Offered QoS in words, as version 9 has it.
const WORDS: &str = "- history: keep_last
  depth: 10
  reliability: reliable
  durability: transient_local
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 1
    nsec: 500000000
  liveliness: automatic
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false
";

/// The same in numbers, with the infinite durations of Fast DDS and Connext.
const NUMBERS: &str = "- history: 1
  depth: 10
  reliability: 1
  durability: 1
  deadline:
    sec: 2147483647
    nsec: 4294967295
  lifespan:
    sec: 1
    nsec: 500000000
  liveliness: 1
  liveliness_lease_duration:
    sec: 2147483647
    nsec: 2147483647
  avoid_ros_namespace_conventions: false
";

fn metadata(offered_qos: &str) -> BagMetadata {
    let file = |number: u64| FileInfo {
        path: format!("drive_{number}.mcap"),
        start: 100 + 10 * number,
        duration: 9,
        message_count: 5,
    };
    BagMetadata {
        version: 9,
        storage: "mcap".into(),
        start: 100,
        duration: 19,
        message_count: 10,
        topics: vec![
            TopicInfo {
                name: "/chatter".into(),
                type_name: "std_msgs/msg/String".into(),
                serialization_format: "cdr".into(),
                offered_qos: Some(offered_qos.into()),
                type_hash: Some("RIHS01_df66".into()),
                message_count: 10,
            },
            TopicInfo {
                name: "/empty".into(),
                type_name: "std_msgs/msg/Empty".into(),
                serialization_format: "cdr".into(),
                ..TopicInfo::default()
            },
        ],
        compression_format: "zstd".into(),
        compression_mode: CompressionMode::Message,
        files: vec![file(0), file(1)],
        custom_data: [("driver".to_owned(), "\"quoted\"\nä: -".to_owned())].into(),
        ros_distro: "jazzy".into(),
    }
}

#[test]
fn written_metadata_are_read() {
    let text = metadata(NUMBERS).to_string();
    assert_eq!(BagMetadata::parse(&text).unwrap(), metadata(WORDS), "{text}");
    let empty = BagMetadata { version: 9, storage: "mcap".into(), ..BagMetadata::default() };
    assert_eq!(BagMetadata::parse(&empty.to_string()).unwrap(), empty, "{empty}");
}

#[test]
fn qos_numbers_become_words() {
    assert_eq!(in_words(NUMBERS, 0).unwrap(), WORDS);
    assert_eq!(in_words(WORDS, 0).unwrap(), WORDS);
    let two = in_words("[{history: 3, reliability: 77}, {durability: best_available}]", 2).unwrap();
    assert_eq!(two, "  - history: unknown\n    reliability: unknown\n  - durability: best_available\n");
    for text in ["", "text", "[1]", "{a: 1}", "[", "[]"] {
        assert_eq!(in_words(text, 0), None, "{text:?}");
    }
}

/// Files as the versions write them, with what each adds.
#[test]
fn every_version_is_read() {
    let versions = [
        (4, include_str!("version_4.yaml")),
        (5, include_str!("version_5.yaml")),
        (8, include_str!("version_8.yaml")),
        (9, include_str!("version_9.yaml")),
    ];
    for (version, text) in versions {
        let metadata = BagMetadata::parse(text).unwrap();
        assert_eq!(metadata.version, version);
        assert_eq!(
            (metadata.start, metadata.duration, metadata.message_count),
            (1_600_000_000_000, 3_000, 7)
        );
        let [topic, other] = &metadata.topics[..] else { panic!("{:?}", metadata.topics) };
        assert_eq!((&*topic.name, topic.message_count, other.message_count), ("/chatter", 4, 3));
        assert_eq!(in_words(topic.offered_qos.as_ref().unwrap(), 0).unwrap(), WORDS, "version {version}");
        assert_eq!(other.offered_qos, None);
        assert_eq!(topic.type_hash.is_some(), version >= 7);
        let [file] = &metadata.files[..] else { panic!("{:?}", metadata.files) };
        assert_eq!(file.message_count, if version >= 5 { 7 } else { 0 });
        let distro = if version >= 8 { "jazzy" } else { "" };
        assert_eq!(
            (metadata.ros_distro.as_str(), metadata.custom_data.len()),
            (distro, usize::from(version >= 8))
        );
        let (path, mode) = if version == 5 {
            ("bag_0.db3.zstd", CompressionMode::File)
        } else {
            ("bag_0.mcap", CompressionMode::None)
        };
        assert_eq!((&*file.path, metadata.compression_mode), (path, mode));
    }
}

#[test]
fn missing_values_are_named() {
    let text = metadata(WORDS).to_string();
    for key in ["storage_identifier", "starting_time", "message_count", "name", "type", "path"] {
        let damaged = text.replace(&format!("{key}:"), "other:");
        let error = BagMetadata::parse(&damaged).map_err(|error| error.to_string());
        if key != "path" {
            assert_eq!(error.unwrap_err(), format!("{key} is missing or malformed"));
        }
    }
    assert!(matches!(BagMetadata::parse("["), Err(Error::Metadata(_))));
    assert!(matches!(BagMetadata::parse(""), Err(Error::Metadata(reason)) if reason.contains("bagfile")));
}

#[test]
fn cut_metadata_never_panic() {
    let text = metadata(WORDS).to_string();
    for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        let _ = BagMetadata::parse(&text[..cut]);
    }
}
