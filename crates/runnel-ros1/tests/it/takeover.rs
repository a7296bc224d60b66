//! Two nodes of one name: the newer one stays.

use runnel_ros1::node::{NodeConfig, NodeEvent, Port};
use runnel_testkit::net::{App, Conditions, Net, millis, secs};

const TOPIC: &str = "/chatter";

struct Scene {
    net: Net,
    master: App,
    listener: App,
    older: App,
}

/// A linked listener and talker.
fn scene(seed: u64) -> Scene {
    let mut net = Net::new(seed);
    net.conditions = Conditions::rough();
    let (master, listener, older) = (net.master("hub"), net.node("/listener", "l"), net.node("/talker", "a"));
    net.subscribe(listener, TOPIC);
    net.advertise(older, TOPIC);
    net.run_until("they are linked", secs(2), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    Scene { net, master, listener, older }
}

fn stopped(net: &Net, app: App) -> Vec<&str> {
    let reasons = net.events(app).iter().filter_map(|event| match event {
        NodeEvent::Stopped { reason } => Some(reason.as_str()),
        _ => None,
    });
    reasons.collect()
}

/// Checks that only the newer node is left and received.
fn newer_won(scene: &mut Scene, newer: App, seed: u64) {
    let net = &mut scene.net;
    assert_eq!((net.is_running(scene.older), net.is_running(newer)), (false, true), "seed {seed}");
    assert_eq!(stopped(net, newer), Vec::<&str>::new(), "seed {seed}");
    assert_eq!(stopped(net, scene.older).len(), 1, "seed {seed}");
    assert_eq!(net.publishers(scene.listener, TOPIC), ["/talker"], "seed {seed}");
    net.publish(newer, TOPIC, "mine");
    net.run_for(secs(60));
    assert_eq!(net.received_texts(scene.listener), ["mine"], "seed {seed}");
    assert_eq!(net.master_of(scene.master).registration_count(), 2, "seed {seed}");
    assert_eq!(net.leaks(), Vec::<String>::new(), "seed {seed}");
}

#[test]
fn newer_node_stops_older_of_same_name() {
    for seed in 0..40 {
        let mut scene = scene(seed);
        let newer = scene.net.node("/talker", "b");
        scene.net.advertise(newer, TOPIC);
        scene.net.run_for(secs(30));
        let reasons = stopped(&scene.net, scene.older);
        assert!(reasons.iter().all(|why| why.contains("new node registered with same name")), "{reasons:?}");
        newer_won(&mut scene, newer, seed);
    }
}

#[test]
fn newer_node_keeps_name_taken_during_disconnect() {
    for seed in 0..40 {
        let mut scene = scene(seed);
        let (master, older) = (scene.master, scene.older);
        let newer = scene.net.node("/talker", "b");
        // Neither can the master notify the older node, nor can that node ask the master.
        scene.net.stall(older);
        scene.net.advertise(newer, TOPIC);
        scene.net.run_for(secs(90));
        scene.net.break_links(older, master, Port::Rpc);
        scene.net.resume(older);
        scene.net.run_for(secs(30));
        newer_won(&mut scene, newer, seed);
    }
}

#[test]
fn newer_node_keeps_name_taken_during_outage() {
    for seed in 0..100 {
        let mut scene = scene(seed);
        scene.net.kill(scene.master);
        let before = scene.net.rng.between(millis(0), secs(2));
        scene.net.run_for(before);
        let newer = scene.net.node("/talker", "b");
        scene.net.advertise(newer, TOPIC);
        // Long enough for the node to notice that the master is gone.
        let away = scene.net.rng.between(millis(100), secs(3));
        scene.net.run_for(away);
        scene.master = scene.net.master("hub");
        scene.net.run_for(secs(30));
        newer_won(&mut scene, newer, seed);
    }
}

#[test]
fn stopped_node_registers_nothing_at_new_master() {
    let mut scene = scene(1);
    let newer = scene.net.node("/talker", "b");
    scene.net.advertise(newer, TOPIC);
    scene.net.run_for(secs(5));
    scene.net.advertise(scene.older, "/late");
    scene.net.kill(scene.master);
    scene.master = scene.net.master("hub");
    scene.net.run_for(secs(10));
    newer_won(&mut scene, newer, 1);
}

#[test]
fn other_names_are_not_affected() {
    let mut scene = scene(1);
    let newer = scene.net.node("/talker", "b");
    scene.net.advertise(newer, TOPIC);
    scene.net.run_for(secs(30));
    assert_eq!(stopped(&scene.net, scene.listener), Vec::<&str>::new());
    assert!(scene.net.is_running(scene.listener));
}

#[test]
fn node_that_stands_by_takes_over_the_name_and_keeps_its_links() {
    for seed in 0..40 {
        let Scene { mut net, master, listener, older } = scene(seed);
        let config = net.node_config("/talker", "b");
        let standby_name = Some("/talker_standby_1".to_owned());
        let newer = net.start_node(NodeConfig { standby_name, ..config });
        net.advertise(newer, TOPIC);
        net.run_until("both are linked", secs(10), |net| net.subscribers(newer, TOPIC) == ["/listener"]);
        net.run_for(secs(10));
        assert_eq!((stopped(&net, older).len(), net.is_running(older)), (0, true), "seed {seed}");
        net.publish(newer, TOPIC, "early");
        net.with_node(older, |node, now| node.begin_close(now));
        net.run_for(secs(10));
        net.with_node(newer, |node, now| node.take_over_name(now));
        net.run_for(secs(30));
        net.publish(newer, TOPIC, "late");
        net.run_for(secs(10));
        // One link, from before: nothing was lost when the name changed.
        assert_eq!(net.received_texts(listener), ["early", "late"], "seed {seed}");
        assert_eq!(stopped(&net, newer), Vec::<&str>::new(), "seed {seed}");
        assert_eq!(net.master_of(master).registration_count(), 2, "the former name is gone, seed {seed}");
    }
}
