//! Actions, and types of services, between Runnel and rclpy.

use interop::ros2::{Distro, Origin};
use interop::sheet::PASS;

use super::Direction;
use crate::{ros2_action_types, ros2_actions, ros2_service_types};

/// The release of an rclpy client or server.
fn distro((from, to): Direction) -> Option<Distro> {
    [from, to].into_iter().find_map(|origin| match origin {
        Origin::Ros2(distro) => Some(distro),
        _ => None,
    })
}

/// Whether an implementation has services and actions.
pub fn has(direction: Direction) -> bool {
    distro(direction).is_some()
}

/// Every end of a goal, its feedback, and its cancellation.
pub fn attempt(direction: Direction) -> String {
    let distro = distro(direction).expect("rclpy");
    match direction.0 {
        Origin::Runnel => ros2_actions::check_server(distro),
        _ => ros2_actions::check_client(distro),
    }
    PASS.to_owned()
}

/// Every action type.
pub fn attempt_types(direction: Direction) -> String {
    let distro = distro(direction).expect("rclpy");
    let types = match direction.0 {
        Origin::Runnel => ros2_action_types::check_rclpy_server(distro),
        _ => ros2_action_types::check_rclpy_client(distro),
    };
    format!("{types} types")
}

/// Every service type.
pub fn attempt_service_types(direction: Direction) -> String {
    let distro = distro(direction).expect("rclpy");
    let types = match direction.0 {
        Origin::Runnel => ros2_service_types::check_rclpy_server(distro),
        _ => ros2_service_types::check_rclpy_client(distro),
    };
    format!("{types} types")
}
