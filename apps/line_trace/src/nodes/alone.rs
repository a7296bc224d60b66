//! Says that a node has nobody to work with, and where it looks: robot and tracer may be in different graphs.

use std::time::Duration;

use runnel::{Context, Graphs, Node, Timer};

/// How long the others may take to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tells once that `nobody` does what they should, unless `count` counts some by then. The timer keeps it going.
pub(super) fn tell(
    context: &Context,
    node: &Node,
    nobody: &'static str,
    count: impl Fn() -> usize + Send + 'static,
) -> Timer {
    let graphs = context.graphs();
    let mut told = false;
    node.create_timer(PATIENCE, move || {
        if !std::mem::replace(&mut told, true) && count() == 0 {
            log::warn!("{}", text(nobody, graphs));
        }
    })
}

fn text(nobody: &str, graphs: Graphs) -> String {
    let (here, others) = match graphs {
        Graphs::Ros1 => ("ROS 1", "who is in ROS 2 alone is not met, see --ros2 and --both"),
        Graphs::Ros2 => ("ROS 2", "who is in ROS 1 alone is not met, see --both"),
        _ => ("ROS 1 and ROS 2", "do they have this master, this domain and this namespace?"),
    };
    format!("{nobody} in {here} within {} s: {others}", PATIENCE.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_is_named_and_the_one_that_is_not_looked_at() {
        let expected = "nobody publishes light_sensors in ROS 1 within 5 s: who is in ROS 2 alone is not met, see \
                        --ros2 and --both";
        assert_eq!(text("nobody publishes light_sensors", Graphs::Ros1), expected);
        assert!(text("x", Graphs::Ros2).contains("in ROS 2 within 5 s: who is in ROS 1 alone"));
        assert!(text("x", Graphs::Both).contains("in ROS 1 and ROS 2 within"));
    }
}
