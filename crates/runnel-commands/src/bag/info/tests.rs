//! Texts of a bag.

use runnel_bag::Format;

use super::*;

fn bag() -> BagInfo {
    let mut topics: BTreeMap<String, Topic> = BTreeMap::new();
    let channel = Channel {
        topic: "/chatter".into(),
        type_name: "std_msgs/String".into(),
        md5: Some("992c".into()),
        ..Channel::default()
    };
    for messages in [60, 6] {
        topics.entry("/chatter".into()).or_default().add(&channel, messages);
    }
    let unknown = Channel { type_name: "a/msg/B".into(), encoding: Encoding::Cdr, ..channel };
    topics.entry("/b".into()).or_default().add(&Channel { type_hash: None, md5: None, ..unknown }, 1);
    let totals = ChunkTotals { count: 2, stored: 25, decompressed: 100 };
    let summary = Summary {
        format: Format::Mcap,
        len: 2048,
        is_finished: false,
        start: Some(1_000_000_000),
        end: Some(62_500_000_000),
        counts: vec![60, 6, 1],
        chunks: vec![(Compression::None, totals), (Compression::Lz4, totals)],
    };
    BagInfo {
        path: "x.mcap".into(),
        summary,
        damage: Some("byte 5: bad".into()),
        topics,
        services: BTreeMap::new(),
        actions: BTreeMap::new(),
        metadata: Vec::new(),
    }
}

#[test]
fn recorded_calls_are_shown_by_service_and_action() {
    let mut bag = bag();
    for (topic, type_name, encoding, events) in [
        ("/power/_service_event", "std_srvs/srv/SetBool_Event", Encoding::Cdr, 8),
        ("/fib/_action/send_goal/_service_event", "a/action/Fibonacci_SendGoal_Event", Encoding::Cdr, 4),
        ("/fib/_action/cancel_goal/_service_event", "action_msgs/srv/CancelGoal_Event", Encoding::Cdr, 2),
        // These are no calls.
        ("/fib/_action/feedback", "a/action/Fibonacci_FeedbackMessage", Encoding::Cdr, 50),
        ("/topic/_service_event", "a/Topic_Event", Encoding::Ros1, 50),
    ] {
        let (topic, type_name) = (topic.to_owned(), type_name.to_owned());
        let channel = Channel { topic, type_name, encoding, ..Channel::default() };
        Calls::add(&mut bag.services, &mut bag.actions, &channel, events);
    }
    assert_eq!((bag.services.len(), bag.actions.len()), (1, 1));
    let text = bag.text();
    for row in [
        "services:     /power   8 events    : std_srvs/srv/SetBool",
        "actions:      /fib   6 events    : a/action/Fibonacci",
    ] {
        assert!(text.lines().any(|line| line == row), "{row}: {text}");
    }
    assert_eq!(bag.json()["services"][0]["service"], "/power");
    assert_eq!(bag.json()["actions"][0]["events"], 6);
}

#[test]
fn text_is_that_of_rosbag_info() {
    let mut bag = bag();
    bag.topics.get_mut("/chatter").expect("a topic").frequency = Some(10.04);
    let text = bag.text();
    let rows: Vec<&str> = text.lines().filter(|row| !row.contains("1970")).collect();
    let expected = [
        "path:         x.mcap",
        "format:       MCAP",
        "duration:     1:01s (61s)",
        "size:         2.0 KB",
        "messages:     67",
        "compression:  none [2/4 chunks], lz4 [2/4 chunks; 25.00%]",
        "uncompressed: 0.2 KB @ 0.0 KB/s",
        "compressed:   0.0 KB @ 0.0 KB/s (25.00%)",
        "types:        a/msg/B         []",
        "              std_msgs/String [992c]",
        "topics:       /b          1 msg            : a/msg/B         (definition unknown)",
        "              /chatter   66 msgs @ 10.0 Hz : std_msgs/String (2 connections)",
        "unfinished:   it has no index. Try: runnel bag reindex x.mcap",
        "damage:       byte 5: bad",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn yaml_has_the_keys_of_rosbag() {
    let yaml = bag().yaml();
    let expected = "path: x.mcap\nformat: MCAP\nduration: 61.500000\nstart: 1.000000\nend: 62.500000\nsize: 2048\n\
                    messages: 67\nindexed: False\ncompression: none\nuncompressed: 200\ncompressed: 50\ntypes:\n";
    assert!(yaml.starts_with(expected), "{yaml}");
    assert!(yaml.ends_with("      messages: 66\n      connections: 2\n"), "{yaml}");
}

#[test]
fn key_selects_a_value_as_python_prints_it() {
    let bag = bag();
    for (key, expected) in [
        ("duration", "61.5"),
        ("indexed", "False"),
        ("path", "x.mcap"),
        ("topics[-1].messages", "66"),
        ("topics[1]", "topic: /chatter\ntype: std_msgs/String\nmessages: 66\nconnections: 2"),
        ("types", "- type: a/msg/B\n  md5: None\n- type: std_msgs/String\n  md5: 992c\n"),
    ] {
        assert_eq!(bag.value_of(key).as_deref(), Some(expected), "{key}");
    }
    for key in
        ["", "nothing", "topics[2]", "topics[-3]", "topics[0", "topics.messages", "duration[0]", "1 + 1"]
    {
        assert_eq!(bag.value_of(key), None, "{key}");
    }
}

/// It has no times: the index lists no chunk.
#[test]
fn empty_bag_of_rosbag_has_only_a_head() {
    let summary =
        Summary { format: Format::Rosbag, start: None, end: None, chunks: Vec::new(), ..bag().summary };
    let summary = Summary { is_finished: true, ..summary };
    let bag = BagInfo { summary, damage: None, ..bag() };
    assert_eq!(bag.text(), "path:    x.mcap\nversion: 2.0\nsize:    2.0 KB");
    assert_eq!(bag.yaml(), "path: x.mcap\nversion: 2.0\nsize: 2048\nindexed: False\n");
}
