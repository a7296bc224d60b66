use std::time::Duration;

use runnel_core::qos::{Liveliness, QoS};

use super::{from_yaml, in_words, overrides_from_yaml, to_yaml};

fn read(text: &str) -> Vec<QoS> {
    from_yaml(text).unwrap()
}

#[test]
fn written_profiles_are_read_again() {
    let special = QoS::keep_last(7).best_effort().transient_local().deadline(Duration::from_millis(1500));
    let special = special.lifespan(Duration::from_secs(2));
    let special = special.liveliness(Liveliness::ManualByTopic, Some(Duration::from_secs(3)));
    for profiles in [vec![], vec![QoS::default()], vec![special, QoS::keep_last(1)]] {
        let offered: Vec<_> = profiles.iter().map(|qos| (*qos, true)).collect();
        let text = to_yaml(&offered);
        assert_eq!(read(&text), profiles);
        assert_eq!(in_words(&text, 0).unwrap_or_default(), text, "it is the spelling of version 9");
    }
}

#[test]
fn numbers_of_earlier_versions_are_read() {
    let text = "- history: 1\n  depth: 5\n  reliability: 2\n  durability: 1\n  deadline:\n    sec: 2147483647\n    \
                nsec: 4294967295\n  lifespan:\n    sec: 0\n    nsec: 0\n  liveliness: 1\n";
    assert_eq!(read(text), [QoS::keep_last(5).best_effort().transient_local()]);
    assert_eq!(read("- history: 2\n  liveliness: 3\n")[0].liveliness, Liveliness::ManualByTopic);
}

#[test]
fn malformed_profiles_are_errors() {
    for text in ["a: b", "- 1", "[", "- [1]"] {
        assert!(from_yaml(text).is_err(), "{text}");
    }
    assert_eq!(read("- history: 99\n  depth: x\n  deadline: 3\n  strange: [1]\n"), [QoS::default()]);
}

#[test]
fn unknown_history_has_no_depth() {
    let text = to_yaml(&[(QoS::keep_last(7), false)]);
    assert!(text.starts_with("- history: unknown\n  depth: 0\n  reliability: reliable\n"), "{text}");
}

#[test]
fn overrides_are_read_by_topic() {
    let text = "/a:\n  history: KEEP_ALL\n  durability: transient_local\n/b:\n  depth: 3\n  reliability: 2\n  \
                lifespan:\n    sec: 4\n    nsec: 5\n  avoid_ros_namespace_conventions: false\n/c: {}\n";
    let keep_all = QoS { depth: 10, ..QoS::keep_all() }.transient_local();
    let lifespan = Duration::new(4, 5);
    let expected = [("/a", keep_all), ("/b", QoS::keep_last(3).best_effort().lifespan(lifespan))];
    let expected = expected.into_iter().chain([("/c", QoS::default())]);
    let expected = expected.map(|(topic, qos)| (topic.to_owned(), qos)).collect();
    assert_eq!(overrides_from_yaml(text).unwrap(), expected);
    assert!(overrides_from_yaml("").unwrap().is_empty());
}

#[test]
fn mistakes_in_overrides_are_named() {
    for (text, reason) in [
        ("- 1", "not a mapping of topics to QoS profiles"),
        ("a: {}", "QoS of topic \"a\": not an absolute name. Try: /a"),
        ("/a: 1", "QoS of topic /a: a QoS profile is not a mapping"),
        (
            "/a: {realiability: reliable}",
            "QoS of topic /a: policy realiability: \"reliable\" is not supported",
        ),
        ("/a: {reliability: best}", "QoS of topic /a: policy reliability: \"best\" is not supported"),
        ("/a: {depth: -1}", "QoS of topic /a: policy depth: \"-1\" is not supported"),
        ("/a: {deadline: {sec: -1}}", "QoS of topic /a: policy deadline: this value is not supported"),
    ] {
        assert_eq!(overrides_from_yaml(text).unwrap_err().to_string(), reason, "{text}");
    }
}
