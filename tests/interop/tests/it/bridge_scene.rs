//! A ROS 1 graph and a ROS 2 graph for tests of `runnel bridge`.

use interop::ros2::Ros2Graph;
use interop::{Master, Server, TIMEOUT, built};
use runnel::{ContextOptions, Graphs};
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
