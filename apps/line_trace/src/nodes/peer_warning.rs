//! Warning of a node that finds no peer, with the graphs that it searches: robot and tracer may be in different ones.

use std::time::Duration;

use runnel::{Context, Graphs, Node, Timer};

/// How long a publisher may take to appear.
const PEER_TIMEOUT: Duration = Duration::from_secs(5);

/// Warns once if `count` is still 0 after [`PEER_TIMEOUT`]. The warning lives as long as the timer.
pub(super) fn warn_without_publisher(
    context: &Context,
    node: &Node,
    topic: &'static str,
    count: impl Fn() -> usize + Send + 'static,
) -> Timer {
    let graphs = context.graphs();
    let mut checked = false;
    node.create_timer(PEER_TIMEOUT, move || {
        if !std::mem::replace(&mut checked, true) && count() == 0 {
            log::warn!("{}", warning(topic, graphs));
        }
    })
}

fn warning(topic: &str, graphs: Graphs) -> String {
    let (searched, hint) = match graphs {
        Graphs::Ros1 => ("ROS 1", "nodes that are only in ROS 2 are not found. Try: --ros2 or --both"),
        Graphs::Ros2 => ("ROS 2", "nodes that are only in ROS 1 are not found. Try: --both"),
        _ => ("ROS 1 and ROS 2", "check the publisher's master, domain and namespace"),
    };
    format!("no publisher of {topic} in {searched} within {} s: {hint}", PEER_TIMEOUT.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warning_names_searched_and_missed_graphs() {
        let expected = "no publisher of light_sensors in ROS 1 within 5 s: nodes that are only in ROS 2 are not found. \
                        Try: --ros2 or --both";
        assert_eq!(warning("light_sensors", Graphs::Ros1), expected);
        assert!(warning("x", Graphs::Ros2).contains("in ROS 2 within 5 s: nodes that are only in ROS 1"));
        assert!(warning("x", Graphs::Both).contains("in ROS 1 and ROS 2 within"));
    }
}
