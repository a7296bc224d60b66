//! Every service type of the built-in packages that ROS 2 has, between Runnel and rclpy, in both directions.

use std::collections::BTreeSet;
use std::time::Duration;

use interop::TIMEOUT;
use interop::distros::Distro;
use interop::ready;
use interop::ros2::Ros2Graph;
use interop::spinning::Spinning;
use runnel::core::message::Service;
use runnel::core::schema::Kind;
use runnel::{Node, ServiceServer};
use runnel_msgs::{
    action_msgs, composition_interfaces, diagnostic_msgs, example_interfaces, lifecycle_msgs, map_msgs,
    nav_msgs, rcl_interfaces, rosbag2_interfaces, sensor_msgs, std_srvs, tf2_msgs,
    type_description_interfaces, visualization_msgs,
};
use runnel_testkit::process::Peer;
use serde_json::{Value as Json, json};

use crate::ros2_samples::{assert_all_pass, built_in, filled, path, peer};

const LONG: Duration = Duration::from_secs(TIMEOUT);

/// A request and a response of a type, and their values.
fn sample<S: Service>() -> (S::Request, S::Response, Json) {
    let library = runnel_msgs::library();
    let ((request, request_json), (response, response_json)) = (filled(&library), filled(&library));
    let json = json!({ "type": S::ROS2_TYPE, "request": request_json, "response": response_json });
    (request, response, json)
}

fn values<S: Service>() -> Json {
    sample::<S>().2
}

/// Checks requests and responds.
fn serve<S: Service>(node: &Node) -> ServiceServer {
    let (expected, response, _) = sample::<S>();
    let answer = move |request: &S::Request| match *request == expected {
        true => Ok(response.clone()),
        false => Err(format!("{}: {request:?}", S::ROS2_TYPE)),
    };
    node.create_service::<S, _>(&*path(S::ROS2_TYPE), answer).expect("a service")
}

/// Calls the service and checks the response.
fn call<S: Service>(node: &Node, server: &Peer) {
    let (request, expected, _) = sample::<S>();
    let client = node.create_client::<S>(&path(S::ROS2_TYPE)).expect("a client");
    let response = client.call_timeout(&request, LONG);
    assert!(
        response.as_ref().is_ok_and(|response| *response == expected),
        "{response:?}: {}",
        server.output()
    );
}

/// What is done with each type.
struct Checks {
    name: &'static str,
    values: fn() -> Json,
    serve: fn(&Node) -> ServiceServer,
    call: fn(&Node, &Peer),
}

impl Checks {
    const fn of<S: Service>() -> Self {
        Self { name: S::ROS2_TYPE, values: values::<S>, serve: serve::<S>, call: call::<S> }
    }
}

const TYPES: [Checks; 54] = [
    Checks::of::<action_msgs::srv::CancelGoal>(),
    Checks::of::<composition_interfaces::srv::ListNodes>(),
    Checks::of::<composition_interfaces::srv::LoadNode>(),
    Checks::of::<composition_interfaces::srv::UnloadNode>(),
    Checks::of::<diagnostic_msgs::srv::AddDiagnostics>(),
    Checks::of::<diagnostic_msgs::srv::SelfTest>(),
    Checks::of::<example_interfaces::srv::AddTwoInts>(),
    Checks::of::<example_interfaces::srv::SetBool>(),
    Checks::of::<example_interfaces::srv::Trigger>(),
    Checks::of::<lifecycle_msgs::srv::ChangeState>(),
    Checks::of::<lifecycle_msgs::srv::GetAvailableStates>(),
    Checks::of::<lifecycle_msgs::srv::GetAvailableTransitions>(),
    Checks::of::<lifecycle_msgs::srv::GetState>(),
    Checks::of::<map_msgs::srv::GetMapROI>(),
    Checks::of::<map_msgs::srv::GetPointMap>(),
    Checks::of::<map_msgs::srv::GetPointMapROI>(),
    Checks::of::<map_msgs::srv::ProjectedMapsInfo>(),
    Checks::of::<map_msgs::srv::SaveMap>(),
    Checks::of::<map_msgs::srv::SetMapProjections>(),
    Checks::of::<nav_msgs::srv::GetMap>(),
    Checks::of::<nav_msgs::srv::GetPlan>(),
    Checks::of::<nav_msgs::srv::LoadMap>(),
    Checks::of::<nav_msgs::srv::SetMap>(),
    Checks::of::<rcl_interfaces::srv::DescribeParameters>(),
    Checks::of::<rcl_interfaces::srv::GetLoggerLevels>(),
    Checks::of::<rcl_interfaces::srv::GetParameterTypes>(),
    Checks::of::<rcl_interfaces::srv::GetParameters>(),
    Checks::of::<rcl_interfaces::srv::ListParameters>(),
    Checks::of::<rcl_interfaces::srv::SetLoggerLevels>(),
    Checks::of::<rcl_interfaces::srv::SetParameters>(),
    Checks::of::<rcl_interfaces::srv::SetParametersAtomically>(),
    Checks::of::<rosbag2_interfaces::srv::Burst>(),
    Checks::of::<rosbag2_interfaces::srv::GetRate>(),
    Checks::of::<rosbag2_interfaces::srv::IsDiscoveryRunning>(),
    Checks::of::<rosbag2_interfaces::srv::IsPaused>(),
    Checks::of::<rosbag2_interfaces::srv::Pause>(),
    Checks::of::<rosbag2_interfaces::srv::Play>(),
    Checks::of::<rosbag2_interfaces::srv::PlayNext>(),
    Checks::of::<rosbag2_interfaces::srv::Resume>(),
    Checks::of::<rosbag2_interfaces::srv::Seek>(),
    Checks::of::<rosbag2_interfaces::srv::SetRate>(),
    Checks::of::<rosbag2_interfaces::srv::Snapshot>(),
    Checks::of::<rosbag2_interfaces::srv::SplitBagfile>(),
    Checks::of::<rosbag2_interfaces::srv::StartDiscovery>(),
    Checks::of::<rosbag2_interfaces::srv::Stop>(),
    Checks::of::<rosbag2_interfaces::srv::StopDiscovery>(),
    Checks::of::<rosbag2_interfaces::srv::TogglePaused>(),
    Checks::of::<sensor_msgs::srv::SetCameraInfo>(),
    Checks::of::<std_srvs::srv::Empty>(),
    Checks::of::<std_srvs::srv::SetBool>(),
    Checks::of::<std_srvs::srv::Trigger>(),
    Checks::of::<tf2_msgs::srv::FrameGraph>(),
    Checks::of::<type_description_interfaces::srv::GetTypeDescription>(),
    Checks::of::<visualization_msgs::srv::GetInteractiveMarkers>(),
];

fn samples() -> Vec<Json> {
    TYPES.iter().map(|checks| (checks.values)()).collect()
}

/// Has rclpy call services of all types. Returns their number.
pub fn check_rclpy_client(distro: Distro) -> usize {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let node = near.node("servers");
    let _services: Vec<_> = TYPES.iter().map(|checks| (checks.serve)(&node)).collect();
    let names = TYPES.each_ref().map(|checks| checks.name);
    assert_all_pass(peer(&graph, distro, "service_types", "client", &samples()), &names);
    TYPES.len()
}

/// Calls services of all types in rclpy. Returns their number.
pub fn check_rclpy_server(distro: Distro) -> usize {
    let graph = Ros2Graph::new();
    let server = ready(peer(&graph, distro, "service_types", "server", &samples()));
    let context = graph.context();
    let node = context.create_node("client").expect("a node");
    TYPES.iter().for_each(|checks| (checks.call)(&node, &server));
    TYPES.len()
}

#[test]
fn every_service_type_of_ros2_is_tested() {
    let tested = TYPES.each_ref().map(|checks| path(checks.name));
    assert_eq!(BTreeSet::from(tested), built_in(Kind::Service, true));
}

#[test]
fn rclpy_client_calls_every_service_type() {
    for distro in Distro::ALL {
        check_rclpy_client(distro);
    }
}

#[test]
fn rclpy_server_serves_every_service_type() {
    for distro in Distro::ALL {
        check_rclpy_server(distro);
    }
}
