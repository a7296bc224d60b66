//! Slave API: calls that masters, other nodes and the ROS tools make to a node.

use runnel_ros1::node::NodeEvent;
use runnel_ros1::rpc::CallError;
use runnel_ros1::xmlrpc::Value;
use runnel_testkit::net::{App, Net, answer, secs, texts};

/// A talker and two listeners that are linked, and a tool that calls them.
struct Scene {
    net: Net,
    tool: App,
    talker: App,
    listeners: [App; 2],
}

fn scene() -> Scene {
    let mut net = Net::new(1);
    net.master("hub");
    let talker = net.node("/talker", "a");
    let listeners = ["/l1", "/l2"].map(|name| net.node(name, "b"));
    net.advertise(talker, "/chatter");
    listeners.iter().for_each(|listener| net.subscribe(*listener, "/chatter"));
    net.run_until("all are linked", secs(1), |net| net.subscribers(talker, "/chatter").len() == 2);
    let tool = net.fake("tool", "c");
    Scene { net, tool, talker, listeners }
}

impl Scene {
    /// Calls a node; returns status, text and value of its answer.
    fn call(&mut self, node: App, method: &str, params: &[Value]) -> (i32, String, Value) {
        let uri = self.net.node_of(node).uri();
        let reply = self.net.call(self.tool, &uri, method, params).expect("an answer");
        match reply.as_array() {
            Some([Value::Int(status), Value::String(text), value]) => (*status, text.clone(), value.clone()),
            _ => panic!("{method}: {reply:?}"),
        }
    }

    /// The value of a successful answer to `method('/tool')`.
    fn ask(&mut self, node: App, method: &str) -> Value {
        let (status, text, value) = self.call(node, method, &["/tool".into()]);
        assert_eq!(status, 1, "{method}: {text}");
        value
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value:?} is no array"))
}

#[test]
fn node_reports_name_uri_and_pid() {
    let mut scene = scene();
    let talker = scene.talker;
    let Value::Int(pid) = scene.ask(talker, "getPid") else { panic!() };
    assert!(pid >= 1000);
    assert_eq!(scene.ask(talker, "getName"), "/talker".into());
    assert_eq!(scene.ask(talker, "getUri"), scene.net.node_of(talker).uri().into());
    assert_eq!(scene.ask(talker, "getMasterUri"), "http://hub:11311/".into());
}

#[test]
fn topics_are_listed_with_types() {
    let mut scene = scene();
    let (talker, listener) = (scene.talker, scene.listeners[0]);
    let row = || Value::Array(vec![texts(&["/chatter", "std_msgs/String"])]);
    let none = || Value::Array(Vec::new());
    assert_eq!(
        (scene.ask(talker, "getPublications"), scene.ask(talker, "getSubscriptions")),
        (row(), none())
    );
    assert_eq!(
        (scene.ask(listener, "getPublications"), scene.ask(listener, "getSubscriptions")),
        (none(), row())
    );
}

/// The pattern that rosnode expects in the last column: `\w+ connection on port (\d+) to \[(.*) on socket (\d+)\]`.
fn reads_as_rosnode_does(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("TCPROS connection on port ") else { return false };
    let Some((port, rest)) = rest.split_once(" to [") else { return false };
    let Some((_, socket)) = rest.strip_suffix(']').and_then(|rest| rest.rsplit_once(" on socket ")) else {
        return false;
    };
    port.parse::<u16>().is_ok() && socket.parse::<u64>().is_ok()
}

#[test]
fn bus_info_has_row_for_every_link() {
    let mut scene = scene();
    let (talker, listener) = (scene.talker, scene.listeners[0]);
    let talker_uri = scene.net.node_of(talker).uri();
    let outgoing = scene.ask(talker, "getBusInfo");
    let incoming = scene.ask(listener, "getBusInfo");
    let mut peers = Vec::new();
    for (rows, direction) in [(&outgoing, "o"), (&incoming, "i")] {
        for row in array(rows) {
            let [Value::Int(_), Value::String(peer), rest @ .., Value::String(text)] = array(row) else {
                panic!("{row:?}")
            };
            let expected: [Value; 4] = [direction.into(), "TCPROS".into(), "/chatter".into(), true.into()];
            assert_eq!(rest, expected);
            assert!(reads_as_rosnode_does(text), "{text}");
            peers.push(peer.clone());
        }
    }
    peers.sort();
    assert_eq!(peers, ["/l1".to_owned(), "/l2".to_owned(), talker_uri]);
    let mut ids: Vec<&Value> = array(&outgoing).iter().map(|row| &array(row)[0]).collect();
    ids.dedup();
    assert_eq!(ids.len(), 2, "every link has a number of its own");
}

#[test]
fn bus_stats_count_per_link_and_topic() {
    let mut scene = scene();
    let (talker, listener) = (scene.talker, scene.listeners[0]);
    ["one", "three"].iter().for_each(|text| scene.net.publish(talker, "/chatter", text));
    scene.net.run_for(secs(1));
    // Two messages of 3 and 5 bytes, each with its length.
    let stats = scene.ask(talker, "getBusStats");
    let [publications, subscriptions, services] = array(&stats) else { panic!("{stats:?}") };
    assert_eq!((array(subscriptions).len(), array(services).len()), (0, 0));
    let [topic] = array(publications) else {
        panic!("one entry for the topic, not one for each link: {publications:?}")
    };
    let [Value::String(name), Value::Int(sent), rows] = array(topic) else { panic!("{topic:?}") };
    assert_eq!((name.as_str(), *sent, array(rows).len()), ("/chatter", 32, 2));
    for row in array(rows) {
        assert_eq!(
            array(row)[1..],
            [16.into(), 2.into(), true.into(), 0.into()],
            "bytes, messages, connected, dropped"
        );
    }
    let stats = scene.ask(listener, "getBusStats");
    let [publications, subscriptions, _] = array(&stats) else { panic!("{stats:?}") };
    assert_eq!(array(publications).len(), 0);
    let [topic] = array(subscriptions) else { panic!("{subscriptions:?}") };
    let [Value::String(name), rows] = array(topic) else { panic!("{topic:?}") };
    let [row] = array(rows) else { panic!("{rows:?}") };
    assert_eq!(
        (name.as_str(), &array(row)[1..]),
        ("/chatter", &[16.into(), 0.into(), true.into(), 0.into()][..])
    );
}

#[test]
fn ended_links_are_not_listed() {
    let mut scene = scene();
    scene.net.kill(scene.listeners[0]);
    scene.net.run_for(secs(1));
    let rows = scene.ask(scene.talker, "getBusInfo");
    assert_eq!(array(&rows).len(), 1);
}

#[test]
fn wrong_number_of_arguments_gives_status_minus_one() {
    let right: [(&str, &[usize]); 10] = [
        ("getPid", &[1]),
        ("getName", &[1]),
        ("getUri", &[1]),
        ("getMasterUri", &[1]),
        ("getPublications", &[1]),
        ("getSubscriptions", &[1]),
        ("getBusInfo", &[1]),
        ("getBusStats", &[1]),
        ("requestTopic", &[3]),
        ("shutdown", &[1, 2]),
    ];
    let mut scene = scene();
    let talker = scene.talker;
    for (method, counts) in right {
        for count in (0..6).filter(|count| !counts.contains(count)) {
            let params: Vec<Value> = (0..count).map(|_| "/x".into()).collect();
            let (status, text, _) = scene.call(talker, method, &params);
            assert_eq!(status, -1, "{method} with {count}: {text}");
            assert!(text.contains(method), "{text}");
        }
    }
    assert!(scene.net.is_running(talker));
}

#[test]
fn wrong_argument_types_are_errors() {
    let mut scene = scene();
    let talker = scene.talker;
    let wrong: [(&str, Vec<Value>); 2] = [
        ("requestTopic", vec!["/m".into(), 1.into(), texts(&[])]),
        ("requestTopic", vec!["/m".into(), "/chatter".into(), "TCPROS".into()]),
    ];
    for (method, params) in wrong {
        assert_eq!(scene.call(talker, method, &params).0, -1, "{method} {params:?}");
    }
}

#[test]
fn unknown_method_is_fault_minus_one() {
    let mut scene = scene();
    let uri = scene.net.node_of(scene.talker).uri();
    for method in ["getpid", "system.multicall", "registerPublisher", ""] {
        let result = scene.net.call(scene.tool, &uri, method, &["/x".into()]);
        let Err(CallError::Fault { fault, .. }) = result else { panic!("{method}: {result:?}") };
        assert_eq!((fault.code, fault.message), (-1, format!("{method}: unknown method name")));
    }
}

#[test]
fn updates_are_answered_and_parameters_reported() {
    let mut scene = scene();
    let talker = scene.talker;
    let (status, _, _) = scene.call(talker, "paramUpdate", &["/master".into(), "/x/".into(), 7.into()]);
    assert_eq!(status, 1);
    let is_reported = |event: &NodeEvent| matches!(event, NodeEvent::ParameterChanged { key, value: Some(Value::Int(7)) } if key == "/x");
    assert!(scene.net.events(talker).iter().any(is_reported));
    let uri = scene.net.node_of(talker).uri();
    let params = ["/master".into(), "/none".into(), texts(&[])];
    let reply = scene.net.call(scene.tool, &uri, "publisherUpdate", &params);
    assert_eq!(reply, Ok(answer(0, "Unknown Error", 0)), "it is not subscribed to");
}

/// Answers recorded from roscpp 1.15.
#[test]
fn bad_updates_are_answered_as_in_roscpp() {
    let mut scene = scene();
    let listener = scene.listeners[0];
    let uri = scene.net.node_of(listener).uri();
    let mut ask = |method: &str, params: &[Value]| match scene.net.call(scene.tool, &uri, method, params) {
        Ok(answer) => Ok(answer),
        Err(CallError::Fault { fault, .. }) => Err((fault.code, fault.message)),
        Err(error) => panic!("{method} {params:?}: {error}"),
    };
    let type_error = || Err((-1, "type error".to_owned()));
    let (m, t): (Value, Value) = ("/m".into(), "/chatter".into());
    for params in [
        vec![],
        vec![m.clone()],
        vec![m.clone(), t.clone()],
        vec![m.clone(), 5.into(), texts(&[])],
        vec![m.clone(), t.clone(), "http://a:1/".into()],
        vec![m.clone(), t.clone(), 5.into()],
        vec![m.clone(), t.clone(), vec![5.into()].into()],
    ] {
        assert_eq!(ask("publisherUpdate", &params), type_error(), "{params:?}");
    }
    let nonsense = [m.clone(), t.clone(), texts(&["nonsense"])];
    assert_eq!(ask("publisherUpdate", &nonsense), Ok(answer(0, "Bad xml-rpc URI: [nonsense]", 0)));
    for params in [vec![5.into(), t.clone(), texts(&[])], vec![m.clone(), t.clone(), texts(&[]), 7.into()]] {
        assert_eq!(ask("publisherUpdate", &params), Ok(answer(1, "", 0)), "{params:?}");
    }
    let key: Value = "/p".into();
    for params in
        [vec![], vec![m.clone()], vec![m.clone(), key.clone()], vec![m.clone(), key, 1.into(), 7.into()]]
    {
        assert_eq!(ask("paramUpdate", &params), Ok(answer(1, "", 0)), "{params:?}");
    }
    assert_eq!(ask("paramUpdate", &[m, 5.into(), 1.into()]), type_error());
}
