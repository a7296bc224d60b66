//! ROS 2 node that logs a line of each level in its logger `part`, and ends: `a line of warn`.

use runnel::logging::Level;
use runnel::{Context, Error};

fn main() -> Result<(), Error> {
    let context = Context::with_options(runnel::ContextOptions::default().graphs(runnel::Graphs::Ros2))?;
    let node = context.create_node("logger")?;
    let part = node.logger().child("part");
    part.set_level(Level::Debug);
    runnel::log_debug!(part, "a line of debug");
    runnel::log_info!(part, "a line of info");
    runnel::log_warn!(part, "a line of warn");
    runnel::log_error!(part, "a line of error");
    runnel::log_fatal!(part, "a line of fatal");
    Ok(())
}
