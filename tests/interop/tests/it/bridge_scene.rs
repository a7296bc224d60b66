//! A ROS 1 graph and a ROS 2 graph for tests of `runnel bridge`, and Runnel nodes in them.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use interop::ros2::Ros2Graph;
use interop::spinning::Spinning;
use interop::{Master, Server, TIMEOUT, built, wait_until};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions, Graphs, Node, Publisher, QoS, Subscription};
use runnel_testkit::process::{Peer, deadline_in};
use serde_json::Value as Json;

/// A ROS 1 graph and a ROS 2 graph that nothing joins yet.
pub struct TwoGraphs {
    pub master: Master,
    pub ros2: Ros2Graph,
}

impl TwoGraphs {
    pub fn new(server: Server) -> Self {
        let master = Master::start(server);
        let ros2 = Ros2Graph::new().with("ROS_MASTER_URI", master.graph().master_uri());
        Self { master, ros2 }
    }

    pub fn runnel(&self, words: &[&str]) -> Peer {
        let mut command = self.ros2.command(built("runnel"));
        command.args(words);
        Peer::spawn("runnel", command).expect("it starts")
    }

    pub fn bridge(&self) -> Peer {
        self.runnel(&["bridge"])
    }

    pub fn options(&self, graphs: Graphs) -> ContextOptions {
        let master = format!("__master:={}", self.master.graph().master_uri());
        ContextOptions::default()
            .signals(false)
            .arguments([master])
            .graphs(graphs)
            .domain_id(self.ros2.domain())
    }

    /// A Runnel node of this name.
    pub fn end(&self, graphs: Graphs, name: &str) -> End {
        End::new(self.options(graphs), name)
    }

    /// A node in ROS 2 and at another master.
    pub fn end_at(&self, master: &Master, name: &str) -> End {
        let master = format!("__master:={}", master.graph().master_uri());
        End::new(self.options(Graphs::Both).arguments([master]), name)
    }

    /// The rows about a topic in the reports of all bridges: bridge, destination, state.
    pub fn rows(&self, topic: &str) -> Vec<(String, String, String)> {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let rows = self.reported("topics").into_iter().filter(|(_, row)| row["topic"] == topic);
        rows.map(|(bridge, row)| (bridge, text(&row["to"]), text(&row["state"]))).collect()
    }

    /// All rows of a kind, such as `services`, in the reports of all bridges, each with its bridge.
    pub fn reported(&self, kind: &str) -> Vec<(String, Json)> {
        let mut status = self.runnel(&["--json", "bridge", "--status"]);
        status.wait_exit(deadline_in(TIMEOUT)).unwrap();
        let Some(line) = status.lines().into_iter().find(|line| line.starts_with('[')) else {
            return Vec::new();
        };
        let reports: Json = serde_json::from_str(&line).expect("JSON");
        let reports = reports.as_array().into_iter().flatten();
        let rows = reports.flat_map(|report| {
            let bridge = report["bridge"].as_str().unwrap_or_default().to_owned();
            let rows = report[kind].as_array().cloned().unwrap_or_default();
            rows.into_iter().map(move |row| (bridge.clone(), row))
        });
        rows.collect()
    }
}

/// A Runnel node whose context spins.
pub struct End {
    pub node: Node,
    _spinning: Spinning,
}

impl End {
    fn new(options: ContextOptions, name: &str) -> Self {
        let spinning = Spinning::new(Context::with_options(options).expect("a context"));
        Self { node: spinning.node(name), _spinning: spinning }
    }

    pub fn publisher(&self, topic: &str) -> Publisher<Text> {
        self.node.create_publisher(topic, QoS::keep_last(1000)).expect("a publisher")
    }

    pub fn collect(&self, topic: &str) -> Collected {
        self.collect_with(topic, QoS::keep_last(1000))
    }

    pub fn collect_with(&self, topic: &str, qos: QoS) -> Collected {
        let texts = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&texts);
        let take = move |text: &Text| taken.lock().unwrap().push(text.data.clone());
        let subscription = self.node.create_subscription(topic, qos, take);
        Collected { texts, _subscription: subscription.expect("a subscription") }
    }
}

/// Texts that a subscription has received.
pub struct Collected {
    texts: Arc<Mutex<Vec<String>>>,
    _subscription: Subscription,
}

impl Collected {
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().unwrap().clone()
    }

    pub fn has(&self, text: &str) -> bool {
        self.texts.lock().unwrap().iter().any(|other| other == text)
    }

    /// The texts that begin so, without the beginning.
    pub fn of(&self, begins: &str) -> Vec<String> {
        let texts = self.texts.lock().unwrap();
        texts.iter().filter_map(|text| text.strip_prefix(begins)).map(str::to_owned).collect()
    }
}

pub fn publish(publisher: &Publisher<Text>, text: impl Into<String>) {
    publisher.publish(Text { data: text.into() }).expect("it is published");
}

/// Publishes again and again until the condition holds.
pub fn publish_until(what: &str, mut publish: impl FnMut(), is_done: impl Fn() -> bool) {
    wait_until(what, deadline_in(TIMEOUT), || {
        publish();
        thread::sleep(Duration::from_millis(20));
        is_done()
    });
}

/// Publishes one text again and again until it has arrived.
pub fn publish_until_received(publisher: &Publisher<Text>, text: &str, collected: &Collected) {
    publish_until(&format!("{text} has arrived"), || publish(publisher, text), || collected.has(text));
}
