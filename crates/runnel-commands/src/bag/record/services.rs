//! Services by which a recording is controlled, and the topic that requests snapshots.
//!
//! In ROS 2 they are those of rosbag2's recorder. ROS 1 has no such services, so they are of types that its users have.

use std::convert::Infallible;

use runnel::core::message::Service;
use runnel::msgs::rosbag2_interfaces::srv::{
    IsDiscoveryRunning, IsDiscoveryRunningResponse, IsPaused, IsPausedResponse, Pause, Resume, Snapshot,
    SnapshotResponse, SplitBagfile, StartDiscovery, StartDiscoveryResponse, Stop, StopDiscovery,
    StopDiscoveryResponse,
};
use runnel::msgs::std_srvs::srv::{Trigger, TriggerResponse};
use runnel::{Graphs, Node, QoS, RawMessage, ServiceServer, Subscription, SubscriptionOptions};

use super::recorder::Control;
use crate::error::CliError;

/// The services and the subscription. They end when this is dropped.
pub struct Services {
    _servers: Vec<ServiceServer>,
    _snapshot_requests: Option<Subscription>,
}

/// Creates services of one node.
struct Servers<'a> {
    node: &'a Node,
    control: &'a Control,
    servers: Vec<ServiceServer>,
}

impl Services {
    /// Provides the services, and subscribes to the topic. A service that cannot be provided is named: the recording is more
    /// important.
    ///
    /// # Errors
    /// When the topic cannot be subscribed.
    pub fn start(node: &Node, control: &Control, snapshot_topic: Option<&str>) -> Result<Self, CliError> {
        let mut servers = Servers { node, control, servers: Vec::new() };
        match node.context().graphs() {
            Graphs::Ros1 => servers.provide_in_ros1(),
            Graphs::Ros2 | Graphs::Both => servers.provide_in_ros2(),
        }
        let subscribe = |topic: &str| {
            let control = control.clone();
            let options = SubscriptionOptions::from(QoS::keep_last(1).reliability_best_available());
            let request = move |_: &RawMessage<'_>| {
                control.snapshot();
            };
            node.create_raw_subscription(topic, None, options, request)
        };
        let snapshot_requests = snapshot_topic.map(subscribe).transpose()?;
        Ok(Self { _servers: servers.servers, _snapshot_requests: snapshot_requests })
    }
}

impl Servers<'_> {
    fn provide_in_ros2(&mut self) {
        self.provide::<Pause>("pause", |control| {
            control.set_paused(true);
            Default::default()
        });
        self.provide::<Resume>("resume", |control| {
            control.set_paused(false);
            Default::default()
        });
        self.provide::<IsPaused>("is_paused", |control| IsPausedResponse { paused: control.is_paused() });
        self.provide::<SplitBagfile>("split_bagfile", |control| {
            control.split();
            Default::default()
        });
        self.provide::<Snapshot>("snapshot", |control| SnapshotResponse { success: control.snapshot() });
        self.provide::<Stop>("stop", |control| {
            control.stop();
            Default::default()
        });
        self.provide::<StartDiscovery>("start_discovery", |control| {
            let (return_code, error_string) = result(!control.set_discovery(true), "it is running");
            StartDiscoveryResponse { return_code, error_string }
        });
        self.provide::<StopDiscovery>("stop_discovery", |control| {
            let (return_code, error_string) = result(control.set_discovery(false), "it is not running");
            StopDiscoveryResponse { return_code, error_string }
        });
        self.provide::<IsDiscoveryRunning>("is_discovery_running", |control| IsDiscoveryRunningResponse {
            running: control.discovers(),
        });
    }

    fn provide_in_ros1(&mut self) {
        self.provide_trigger("pause", |control| {
            control.set_paused(true);
            (true, "paused")
        });
        self.provide_trigger("resume", |control| {
            control.set_paused(false);
            (true, "recording")
        });
        self.provide_trigger("is_paused", |control| match control.is_paused() {
            true => (true, "paused"),
            false => (false, "recording"),
        });
        self.provide_trigger("split", |control| match control.split() {
            true => (true, "the next bag has begun"),
            false => (false, "the recording has ended, or is in snapshot mode"),
        });
        self.provide_trigger("snapshot", |control| match control.snapshot() {
            true => (true, "written"),
            false => (false, "there is nothing to write"),
        });
        self.provide_trigger("stop", |control| {
            control.stop();
            (true, "the recording ends")
        });
    }

    fn provide_trigger(
        &mut self,
        name: &str,
        answer: impl Fn(&Control) -> (bool, &'static str) + Send + 'static,
    ) {
        self.provide::<Trigger>(name, move |control| {
            let (success, message) = answer(control);
            TriggerResponse { success, message: message.into() }
        });
    }

    fn provide<S: Service>(&mut self, name: &str, answer: impl Fn(&Control) -> S::Response + Send + 'static) {
        let control = self.control.clone();
        let answer = move |_: &S::Request| Ok::<_, Infallible>(answer(&control));
        match self.node.create_service::<S, _>(&*format!("~{name}"), answer) {
            Ok(server) => self.servers.push(server),
            Err(why) => log::warn!("service {name} of the recorder is not available: {why}"),
        }
    }
}

/// Return code and error as the services of discovery have them.
fn result(is_changed: bool, why: &str) -> (i32, String) {
    if is_changed { (0, String::new()) } else { (1, format!("discovery: {why}")) }
}
