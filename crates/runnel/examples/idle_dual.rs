//! As `idle`, in the graphs of ROS 1 and ROS 2.

use runnel::msgs::std_msgs;
use runnel::{Context, ContextOptions, Graphs};

fn main() -> Result<(), runnel::Error> {
    let context = Context::with_options(ContextOptions::default().graphs(Graphs::Both))?;
    let node = context.create_node("idle")?;
    let _status = node.create_publisher::<std_msgs::msg::String>("status", 10)?;
    let _commands = node.create_subscription("commands", 10, |_: &std_msgs::msg::String| {})?;
    context.spin()
}
