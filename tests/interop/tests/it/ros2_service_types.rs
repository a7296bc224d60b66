//! Every service type of the built-in packages that ROS 2 has, between Runnel and rclpy, in both directions.

use std::any::Any;
use std::time::Duration;

use interop::TIMEOUT;
use interop::distros::Distro;
use runnel::Node;
use runnel::core::message::Service;
use runnel::core::schema::Kind;
use runnel_msgs::{
    action_msgs, composition_interfaces, diagnostic_msgs, example_interfaces, lifecycle_msgs, map_msgs,
    nav_msgs, rcl_interfaces, rosbag2_interfaces, sensor_msgs, std_srvs, tf2_msgs,
    type_description_interfaces, visualization_msgs,
};
use runnel_testkit::process::Peer;
use serde_json::{Value as Json, json};

use crate::ros2_samples::{self, TypeChecks, built_in, filled, path, paths};

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
fn serve<S: Service>(node: &Node) -> Box<dyn Any> {
    let (expected, response, _) = sample::<S>();
    let answer = move |request: &S::Request| match *request == expected {
        true => Ok(response.clone()),
        false => Err(format!("{}: {request:?}", S::ROS2_TYPE)),
    };
    Box::new(node.create_service::<S, _>(&*path(S::ROS2_TYPE), answer).expect("a service"))
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

const fn checks<S: Service>() -> TypeChecks {
    TypeChecks { name: S::ROS2_TYPE, values: values::<S>, serve: serve::<S>, use_server: call::<S> }
}

const TYPES: [TypeChecks; 54] = [
    checks::<action_msgs::srv::CancelGoal>(),
    checks::<composition_interfaces::srv::ListNodes>(),
    checks::<composition_interfaces::srv::LoadNode>(),
    checks::<composition_interfaces::srv::UnloadNode>(),
    checks::<diagnostic_msgs::srv::AddDiagnostics>(),
    checks::<diagnostic_msgs::srv::SelfTest>(),
    checks::<example_interfaces::srv::AddTwoInts>(),
    checks::<example_interfaces::srv::SetBool>(),
    checks::<example_interfaces::srv::Trigger>(),
    checks::<lifecycle_msgs::srv::ChangeState>(),
    checks::<lifecycle_msgs::srv::GetAvailableStates>(),
    checks::<lifecycle_msgs::srv::GetAvailableTransitions>(),
    checks::<lifecycle_msgs::srv::GetState>(),
    checks::<map_msgs::srv::GetMapROI>(),
    checks::<map_msgs::srv::GetPointMap>(),
    checks::<map_msgs::srv::GetPointMapROI>(),
    checks::<map_msgs::srv::ProjectedMapsInfo>(),
    checks::<map_msgs::srv::SaveMap>(),
    checks::<map_msgs::srv::SetMapProjections>(),
    checks::<nav_msgs::srv::GetMap>(),
    checks::<nav_msgs::srv::GetPlan>(),
    checks::<nav_msgs::srv::LoadMap>(),
    checks::<nav_msgs::srv::SetMap>(),
    checks::<rcl_interfaces::srv::DescribeParameters>(),
    checks::<rcl_interfaces::srv::GetLoggerLevels>(),
    checks::<rcl_interfaces::srv::GetParameterTypes>(),
    checks::<rcl_interfaces::srv::GetParameters>(),
    checks::<rcl_interfaces::srv::ListParameters>(),
    checks::<rcl_interfaces::srv::SetLoggerLevels>(),
    checks::<rcl_interfaces::srv::SetParameters>(),
    checks::<rcl_interfaces::srv::SetParametersAtomically>(),
    checks::<rosbag2_interfaces::srv::Burst>(),
    checks::<rosbag2_interfaces::srv::GetRate>(),
    checks::<rosbag2_interfaces::srv::IsDiscoveryRunning>(),
    checks::<rosbag2_interfaces::srv::IsPaused>(),
    checks::<rosbag2_interfaces::srv::Pause>(),
    checks::<rosbag2_interfaces::srv::Play>(),
    checks::<rosbag2_interfaces::srv::PlayNext>(),
    checks::<rosbag2_interfaces::srv::Resume>(),
    checks::<rosbag2_interfaces::srv::Seek>(),
    checks::<rosbag2_interfaces::srv::SetRate>(),
    checks::<rosbag2_interfaces::srv::Snapshot>(),
    checks::<rosbag2_interfaces::srv::SplitBagfile>(),
    checks::<rosbag2_interfaces::srv::StartDiscovery>(),
    checks::<rosbag2_interfaces::srv::Stop>(),
    checks::<rosbag2_interfaces::srv::StopDiscovery>(),
    checks::<rosbag2_interfaces::srv::TogglePaused>(),
    checks::<sensor_msgs::srv::SetCameraInfo>(),
    checks::<std_srvs::srv::Empty>(),
    checks::<std_srvs::srv::SetBool>(),
    checks::<std_srvs::srv::Trigger>(),
    checks::<tf2_msgs::srv::FrameGraph>(),
    checks::<type_description_interfaces::srv::GetTypeDescription>(),
    checks::<visualization_msgs::srv::GetInteractiveMarkers>(),
];

/// The rclpy program.
const PROGRAM: &str = "service_types";

/// Has rclpy call services of all types. Returns their number.
pub fn check_rclpy_client(distro: Distro) -> usize {
    ros2_samples::check_rclpy_client(distro, PROGRAM, &TYPES)
}

/// Calls services of all types in rclpy. Returns their number.
pub fn check_rclpy_server(distro: Distro) -> usize {
    ros2_samples::check_rclpy_server(distro, PROGRAM, &TYPES)
}

#[test]
fn every_service_type_of_ros2_is_tested() {
    assert_eq!(paths(&TYPES), built_in(Kind::Service, true));
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
