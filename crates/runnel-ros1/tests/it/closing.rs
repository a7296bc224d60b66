//! Shutdown of a node: it unregisters immediately, within a bounded time.

use runnel_ros1::node::NodeEvent;
use runnel_ros1::xmlrpc::Value;
use runnel_testkit::net::{App, Conditions, Net, answer, millis, secs, text_topic};

/// A node that publishes and subscribes to `topics` topics each.
fn busy_node(net: &mut Net, topics: usize) -> App {
    let node = net.node("/n", "a");
    for number in 0..topics {
        net.advertise(node, &format!("/p{number}"));
        net.subscribe(node, &format!("/s{number}"));
    }
    node
}

fn closed(net: &Net, app: App) -> usize {
    net.events(app).iter().filter(|event| matches!(event, NodeEvent::Closed)).count()
}

#[test]
fn closing_unregisters_everything_in_one_call() {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let node = busy_node(&mut net, 20);
    let uri = net.node_of(node).uri();
    net.run_for(secs(1));
    let before = net.calls(master).len();
    net.stop(node);
    net.run_until("it is closed", secs(1), |net| closed(net, node) == 1);
    let [call] = &net.calls(master)[before..] else { panic!("{:?}", &net.calls(master)[before..]) };
    let [Value::Array(calls)] = call.params.as_slice() else { panic!("{call:?}") };
    assert_eq!((call.method.as_str(), calls.len()), ("system.multicall", 40));
    for call in calls {
        let Value::Struct(call) = call else { panic!("{call:?}") };
        let method = call["methodName"].as_str().expect("a name");
        let Value::Array(params) = &call["params"] else { panic!("{call:?}") };
        let [Value::String(name), Value::String(topic), Value::String(api)] = params.as_slice() else {
            panic!()
        };
        let expected = if topic.starts_with("/p") { "unregisterPublisher" } else { "unregisterSubscriber" };
        assert_eq!((method, name.as_str(), api), (expected, "/n", &uri));
    }
}

#[test]
fn closed_node_leaves_no_registration() {
    for seed in 0..100 {
        let mut net = Net::new(seed);
        net.conditions = Conditions::rough();
        let master = net.master("hub");
        let node = busy_node(&mut net, 12);
        let lives = net.rng.between(millis(0), millis(500));
        net.run_for(lives);
        net.stop(node);
        net.run_until("it is closed", secs(1), |net| closed(net, node) == 1);
        net.run_for(secs(1));
        assert_eq!(net.master_of(master).registration_count(), 0, "seed {seed}, after {lives:?}");
        assert!(!net.is_running(node));
    }
}

#[test]
fn node_unregisters_shortly_after_master_loss() {
    for wait in [0, 1, 2, 3, 4, 600] {
        let mut net = Net::new(1);
        let master = net.master("hub");
        let node = busy_node(&mut net, 2);
        net.run_for(secs(5));
        net.break_links(node, master, runnel_ros1::node::Port::Rpc);
        net.run_for(millis(wait));
        net.stop(node);
        net.run_until("it is closed", secs(1), |net| closed(net, node) == 1);
        net.run_for(millis(100));
        assert_eq!(net.master_of(master).registration_count(), 0, "{wait} ms after");
    }
}

#[test]
fn closing_takes_at_most_one_second() {
    for trouble in ["dies", "hangs", "is cut off", "was gone", "was never there"] {
        let mut net = Net::new(1);
        let master = net.master("hub");
        if trouble == "was never there" {
            net.kill(master);
        }
        let node = busy_node(&mut net, 3);
        net.run_for(secs(5));
        match trouble {
            "dies" => net.kill(master),
            "hangs" => net.stall(master),
            "is cut off" => net.disconnect_host("hub"),
            "was gone" => {
                net.kill(master);
                net.run_for(secs(5));
            }
            _ => {}
        }
        net.stop(node);
        net.run_until(trouble, secs(1), |net| closed(net, node) == 1 && !net.is_running(node));
    }
}

#[test]
fn node_without_topics_closes_immediately() {
    let mut net = Net::new(1);
    let node = net.node("/n", "a");
    net.stop(node);
    assert_eq!(closed(&net, node), 1);
}

#[test]
fn closing_twice_reports_closed_once() {
    let mut net = Net::new(1);
    let master = net.master("hub");
    let node = busy_node(&mut net, 2);
    net.run_for(secs(1));
    net.stop(node);
    net.stop(node);
    assert_eq!(closed(&net, node), 0, "the master has not answered yet");
    net.run_for(secs(2));
    assert_eq!((closed(&net, node), net.master_of(master).registration_count()), (1, 0));
}

#[test]
fn shutdown_call_is_answered_and_unregisters() {
    for params in [vec!["/rosnode".into()], vec!["/rosnode".into(), "user request".into()]] {
        let mut net = Net::new(1);
        let master = net.master("hub");
        let (node, rosnode) = (busy_node(&mut net, 2), net.fake("rosnode", "b"));
        net.run_for(secs(1));
        let uri = net.node_of(node).uri();
        let reply = net.call(rosnode, &uri, "shutdown", &params).expect("an answer before it ends");
        assert_eq!(reply.as_array().and_then(|reply| reply.first()), Some(&Value::Int(1)));
        net.run_until("it has ended", secs(1), |net| !net.is_running(node));
        assert_eq!(net.master_of(master).registration_count(), 0);
        let reasons: Vec<&str> = net
            .events(node)
            .iter()
            .filter_map(|event| match event {
                NodeEvent::Stopped { reason } => Some(reason.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(reasons, [params.get(1).and_then(Value::as_str).unwrap_or_default()]);
    }
}

#[test]
fn closing_node_registers_nothing() {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let node = busy_node(&mut net, 1);
    net.run_for(secs(1));
    net.answer_with(master, |method, _| {
        (method != "system.multicall").then(|| Ok(answer(1, "", Vec::new())))
    });
    let before = net.calls(master).len();
    net.stop(node);
    net.advertise_as(node, text_topic("/late"));
    net.run_for(secs(20));
    let methods: Vec<&str> = net.calls(master)[before..].iter().map(|call| call.method.as_str()).collect();
    assert_eq!(methods, ["system.multicall"]);
}
