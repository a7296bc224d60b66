//! Publishers and subscribers find each other through our master.

use runnel_ros1::node::{NodeEvent, Role, TopicSpec};
use runnel_testkit::net::{App, Net, Weather, millis, secs, text_topic};

/// Seeds of rough weather that each test of an order is run under.
const SEEDS: u64 = 40;

/// The moment of a happening is drawn from here, so that orders differ.
fn pause(net: &mut Net) {
    let time = net.rng.between(millis(0), millis(60));
    net.run_for(time);
}

fn rough(seed: u64) -> Net {
    let mut net = Net::new(seed);
    net.weather = Weather::rough();
    net
}

fn linked(net: &Net, talker: App, listener: App) -> bool {
    net.publishers(listener, "/chatter") == ["/talker"]
        && net.subscribers(talker, "/chatter") == ["/listener"]
}

/// Starts both in rough weather, the talker first or not, and checks that a message passes.
fn meet(seed: u64, talker_first: bool) {
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
    net.run_until("hello arrives", secs(1), |net| net.heard(listener) == ["hello"]);
    assert_eq!(net.leaks(), Vec::<String>::new(), "seed {seed}");
}

#[test]
fn a_subscriber_finds_a_publisher_that_was_there_before() {
    (0..SEEDS).for_each(|seed| meet(seed, true));
}

#[test]
fn a_publisher_that_comes_later_is_found() {
    (0..SEEDS).for_each(|seed| meet(seed, false));
}

#[test]
fn a_link_stands_within_a_few_round_trips() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    net.advertise_as(talker, TopicSpec { latching: true, ..text_topic("/chatter") });
    net.publish(talker, "/chatter", "kept");
    net.run_for(secs(1));
    net.subscribe(listener, "/chatter");
    // Connect and call, the master and the publisher's node; connect and exchange headers: six round trips of 2 ms.
    net.run_until("the kept message arrives", millis(13), |net| net.heard(listener) == ["kept"]);
}

#[test]
fn whoever_is_linked_wakes_for_nothing() {
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
fn the_last_message_of_a_latching_topic_reaches_who_comes_later_once() {
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
            assert_eq!(net.heard(listener), ["two"], "seed {seed}");
            let joined = net.events(listener).iter().find_map(|event| match event {
                NodeEvent::PublisherJoined(link) => Some((link.latching, link.definition.as_str())),
                _ => None,
            });
            assert_eq!(joined, Some((true, "string data\n")));
        }
    }
}

#[test]
fn a_topic_that_does_not_latch_keeps_nothing() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    net.advertise(talker, "/chatter");
    net.publish(talker, "/chatter", "gone");
    net.subscribe(listener, "/chatter");
    net.run_until("they are linked", secs(1), |net| linked(net, talker, listener));
    net.run_for(secs(1));
    assert_eq!(net.heard(listener), Vec::<String>::new());
}

#[test]
fn several_publishers_of_a_topic_are_all_heard_each_in_its_order() {
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
            let of_it = net.heard_messages(listener).iter().filter(|heard| heard.publisher == name);
            let texts: Vec<u8> = of_it.flat_map(|heard| heard.message.clone()).collect();
            assert_eq!(texts, b"01234", "seed {seed}: {name}");
        }
    }
}

#[test]
fn topics_of_one_node_are_apart() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    for topic in ["/a", "/b"] {
        net.advertise(talker, topic);
    }
    net.subscribe(listener, "/b");
    net.run_until("they are linked", secs(1), |net| net.publishers(listener, "/b") == ["/talker"]);
    net.publish(talker, "/a", "not asked for");
    net.publish(talker, "/b", "asked for");
    net.run_for(secs(1));
    assert_eq!(net.heard(listener), ["asked for"]);
}

#[test]
fn a_topic_that_is_no_longer_published_loses_its_links_and_can_be_published_again() {
    for seed in 0..SEEDS {
        let mut net = rough(seed);
        let master = net.master("hub");
        let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
        net.advertise(talker, "/chatter");
        net.subscribe(listener, "/chatter");
        net.run_until("they are linked", secs(2), |net| linked(net, talker, listener));
        net.with_node(talker, |node, now| node.unadvertise(now, "/chatter"));
        assert_eq!(net.subscribers(talker, "/chatter"), Vec::<String>::new(), "at once");
        net.run_until("the link is gone", secs(2), |net| net.publishers(listener, "/chatter").is_empty());
        net.run_for(secs(60));
        assert_eq!(net.master_of(master).registration_count(), 1, "seed {seed}: the subscription is left");
        assert_eq!(net.leaks(), Vec::<String>::new(), "seed {seed}");
        net.advertise(talker, "/chatter");
        net.run_until("they are linked again", secs(2), |net| linked(net, talker, listener));
    }
}

#[test]
fn publishing_a_topic_again_at_once_ends_in_one_link() {
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
fn a_topic_that_is_no_longer_subscribed_to_loses_its_links_and_can_be_subscribed_to_again() {
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
fn a_node_that_has_what_it_wants_wakes_for_nothing() {
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
fn registrations_are_told_and_a_second_type_in_one_node_is_refused() {
    let mut net = Net::new(1);
    net.master("hub");
    let node = net.node("/n", "a");
    net.advertise(node, "/chatter");
    net.subscribe(node, "/other");
    net.run_for(secs(1));
    let told = |role, topic: &str| {
        let is_it = |event: &&NodeEvent| matches!(event, NodeEvent::Registered { role: r, name: t } if *r == role && t == topic);
        net.events(node).iter().filter(is_it).count()
    };
    assert_eq!((told(Role::Publisher, "/chatter"), told(Role::Subscriber, "/other")), (1, 1));
    let other =
        TopicSpec { type_name: "std_msgs/Int16".into(), md5: "1".repeat(32), ..text_topic("/chatter") };
    let refused = net.with_node(node, |node, now| node.advertise(now, other)).expect_err("another type");
    for part in ["/chatter", "std_msgs/String", "std_msgs/Int16"] {
        assert!(refused.to_string().contains(part), "{refused}");
    }
}
