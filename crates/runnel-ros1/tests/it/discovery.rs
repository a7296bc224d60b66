//! Discovery of publishers and subscribers through the master.

use runnel_ros1::node::{NodeEvent, Role, TopicSpec};
use runnel_testkit::net::{App, Conditions, Net, millis, secs, text_topic};

/// Seeds with random delays under which each order of events is tested.
const SEEDS: u64 = 40;

/// A pause of random length, so that the order of events varies.
fn pause(net: &mut Net) {
    let time = net.rng.between(millis(0), millis(60));
    net.run_for(time);
}

fn rough(seed: u64) -> Net {
    let mut net = Net::new(seed);
    net.conditions = Conditions::rough();
    net
}

fn linked(net: &Net, talker: App, listener: App) -> bool {
    net.publishers(listener, "/chatter") == ["/talker"]
        && net.subscribers(talker, "/chatter") == ["/listener"]
}

/// Starts both nodes with random delays, in the given order, and checks that a message arrives.
fn check_delivery(seed: u64, talker_first: bool) {
    let mut net = rough(seed);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    for advertises in [talker_first, !talker_first] {
        if advertises {
            net.advertise(talker, "/chatter");
        } else {
            net.subscribe(listener, "/chatter");
        }
        pause(&mut net);
    }
    net.run_until("they are linked", secs(2), |net| linked(net, talker, listener));
    net.run_for(secs(5));
    assert!(linked(&net, talker, listener), "seed {seed}: the link stays, and is one");
    net.publish(talker, "/chatter", "hello");
    net.run_until("hello arrives", secs(1), |net| net.received_texts(listener) == ["hello"]);
    assert_eq!(net.leaks(), Vec::<String>::new(), "seed {seed}");
}

#[test]
fn subscriber_finds_earlier_publisher() {
    (0..SEEDS).for_each(|seed| check_delivery(seed, true));
}

#[test]
fn subscriber_finds_later_publisher() {
    (0..SEEDS).for_each(|seed| check_delivery(seed, false));
}

#[test]
fn link_is_established_within_few_round_trips() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    net.advertise_as(talker, TopicSpec { latching: true, ..text_topic("/chatter") });
    net.publish(talker, "/chatter", "kept");
    net.run_for(secs(1));
    net.subscribe(listener, "/chatter");
    // Connect to and call the master, then the publisher's node; connect and exchange headers: six round trips of 2
    // ms.
    net.run_until("the kept message arrives", millis(13), |net| net.received_texts(listener) == ["kept"]);
}

#[test]
fn linked_node_is_idle() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    for topic in ["/chatter", "/weather", "/battery"] {
        net.advertise(talker, topic);
        net.subscribe(listener, topic);
        net.run_until("it is linked", secs(2), |net| net.publishers(listener, topic) == ["/talker"]);
    }
    let wakes = |net: &Net| (net.wakes(talker), net.wakes(listener));
    let before = wakes(&net);
    net.run_for(secs(60));
    assert_eq!(wakes(&net), before);
}

#[test]
fn late_joiner_gets_latched_message_once() {
    for seed in 0..SEEDS {
        let mut net = rough(seed);
        net.master("hub");
        let talker = net.node("/talker", "a");
        net.advertise_as(talker, TopicSpec { latching: true, ..text_topic("/chatter") });
        ["one", "two"].iter().for_each(|text| net.publish(talker, "/chatter", text));
        pause(&mut net);
        let listeners = ["/l1", "/l2"].map(|name| net.node(name, "b"));
        for listener in listeners {
            net.subscribe(listener, "/chatter");
        }
        net.run_for(secs(2));
        for listener in listeners {
            assert_eq!(net.received_texts(listener), ["two"], "seed {seed}");
            let joined = net.events(listener).iter().find_map(|event| match event {
                NodeEvent::PublisherJoined(link) => Some((link.latching, link.definition.as_str())),
                _ => None,
            });
            assert_eq!(joined, Some((true, "string data\n")));
        }
    }
}

#[test]
fn unlatched_topic_keeps_no_message() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    net.advertise(talker, "/chatter");
    net.publish(talker, "/chatter", "gone");
    net.subscribe(listener, "/chatter");
    net.run_until("they are linked", secs(1), |net| linked(net, talker, listener));
    net.run_for(secs(1));
    assert_eq!(net.received_texts(listener), Vec::<String>::new());
}

#[test]
fn all_publishers_are_received_in_order() {
    for seed in 0..SEEDS {
        let mut net = rough(seed);
        net.master("hub");
        let listener = net.node("/listener", "z");
        net.subscribe(listener, "/chatter");
        let talkers: Vec<App> =
            ["a", "b", "c", "d"].iter().map(|host| net.node(&format!("/{host}"), host)).collect();
        for talker in &talkers {
            net.advertise(*talker, "/chatter");
            pause(&mut net);
        }
        let all = ["/a", "/b", "/c", "/d"];
        net.run_until("all are linked", secs(2), |net| net.publishers(listener, "/chatter") == all);
        for number in 0..5 {
            talkers.iter().for_each(|talker| net.publish(*talker, "/chatter", &number.to_string()));
        }
        net.run_for(secs(1));
        for name in all {
            let of_it = net.received_messages(listener).iter().filter(|received| received.publisher == name);
            let texts: Vec<u8> = of_it.flat_map(|received| received.message.clone()).collect();
            assert_eq!(texts, b"01234", "seed {seed}: {name}");
        }
    }
}

#[test]
fn topics_of_one_node_are_separate() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    for topic in ["/a", "/b"] {
        net.advertise(talker, topic);
    }
    net.subscribe(listener, "/b");
    net.run_until("they are linked", secs(1), |net| net.publishers(listener, "/b") == ["/talker"]);
    net.publish(talker, "/a", "not requested");
    net.publish(talker, "/b", "requested");
    net.run_for(secs(1));
    assert_eq!(net.received_texts(listener), ["requested"]);
}

#[test]
fn unpublished_topic_can_be_published_again() {
    for seed in 0..SEEDS {
        let mut net = rough(seed);
        let master = net.master("hub");
        let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
        net.advertise(talker, "/chatter");
        net.subscribe(listener, "/chatter");
        net.run_until("they are linked", secs(2), |net| linked(net, talker, listener));
        net.with_node(talker, |node, now| node.unadvertise(now, "/chatter"));
        assert_eq!(net.subscribers(talker, "/chatter"), Vec::<String>::new(), "immediately");
        net.run_until("the link is gone", secs(2), |net| net.publishers(listener, "/chatter").is_empty());
        net.run_for(secs(60));
        assert_eq!(net.master_of(master).registration_count(), 1, "seed {seed}: the subscription is left");
        assert_eq!(net.leaks(), Vec::<String>::new(), "seed {seed}");
        net.advertise(talker, "/chatter");
        net.run_until("they are linked again", secs(2), |net| linked(net, talker, listener));
    }
}

#[test]
fn immediate_republishing_gives_one_link() {
    for seed in 0..SEEDS {
        let mut net = rough(seed);
        net.master("hub");
        let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
        net.subscribe(listener, "/chatter");
        net.advertise(talker, "/chatter");
        for _ in 0..3 {
            pause(&mut net);
            net.with_node(talker, |node, now| node.unadvertise(now, "/chatter"));
            pause(&mut net);
            net.advertise(talker, "/chatter");
        }
        net.run_for(secs(30));
        assert!(linked(&net, talker, listener), "seed {seed}");
        assert_eq!(net.leaks(), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn unsubscribed_topic_can_be_subscribed_again() {
    for seed in 0..SEEDS {
        let mut net = rough(seed);
        let master = net.master("hub");
        let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
        net.advertise(talker, "/chatter");
        net.subscribe(listener, "/chatter");
        for _ in 0..3 {
            pause(&mut net);
            net.with_node(listener, |node, now| node.unsubscribe(now, "/chatter"));
            assert_eq!(net.publishers(listener, "/chatter"), Vec::<String>::new());
            pause(&mut net);
            net.subscribe(listener, "/chatter");
        }
        net.run_for(secs(30));
        assert!(linked(&net, talker, listener), "seed {seed}");
        net.with_node(listener, |node, now| node.unsubscribe(now, "/chatter"));
        net.run_for(secs(30));
        assert_eq!(net.subscribers(talker, "/chatter"), Vec::<String>::new(), "seed {seed}");
        assert_eq!(net.master_of(master).registration_count(), 1, "seed {seed}: the publication is left");
        assert_eq!(net.leaks(), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn registered_node_is_idle() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    net.advertise(talker, "/chatter");
    net.subscribe(listener, "/chatter");
    net.run_for(secs(60));
    let before = [talker, listener].map(|app| net.wakes(app));
    net.run_for(secs(24 * 3600));
    assert_eq!([talker, listener].map(|app| net.wakes(app)), before);
    assert!(linked(&net, talker, listener));
}

#[test]
fn second_type_in_one_node_is_refused() {
    let mut net = Net::new(1);
    net.master("hub");
    let node = net.node("/n", "a");
    net.advertise(node, "/chatter");
    net.subscribe(node, "/other");
    net.run_for(secs(1));
    let registrations = |role, topic: &str| {
        let is_it = |event: &&NodeEvent| matches!(event, NodeEvent::Registered { role: r, name: t } if *r == role && t == topic);
        net.events(node).iter().filter(is_it).count()
    };
    assert_eq!(
        (registrations(Role::Publisher, "/chatter"), registrations(Role::Subscriber, "/other")),
        (1, 1)
    );
    let other =
        TopicSpec { type_name: "std_msgs/Int16".into(), md5: "1".repeat(32), ..text_topic("/chatter") };
    let refused = net.with_node(node, |node, now| node.advertise(now, other)).expect_err("another type");
    for part in ["/chatter", "std_msgs/String", "std_msgs/Int16"] {
        assert!(refused.to_string().contains(part), "{refused}");
    }
}
