//! Prints `now SECONDS` when ROS time has changed, in whole seconds.

use std::time::Duration;

use runnel::{Context, Error};

fn main() -> Result<(), Error> {
    let context = Context::new()?;
    let node = context.create_node("clocked")?;
    println!("ready");
    let mut printed = None;
    // Wall clock: ROS time may stand still.
    let _timer = node.clone().create_wall_timer(Duration::from_millis(10), move || {
        let now = node.now().sec;
        if printed.replace(now) != Some(now) {
            println!("now {now}");
        }
    });
    context.spin()
}
