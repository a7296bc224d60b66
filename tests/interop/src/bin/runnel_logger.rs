//! Logs one line of each of two levels every 100 ms: `NAME warns` and `NAME details`. With a number, logs that many
//! lines at once instead, prints `dropped M`, and ends.

use std::time::Duration;

use runnel::{Context, Error, logging};

fn main() -> Result<(), Error> {
    let context = Context::new()?;
    let count = context.arguments().first().map(|count| count.parse::<usize>().expect("a number"));
    let node = context.create_node("logger")?;
    println!("ready");
    if let Some(count) = count {
        (0..count).for_each(|number| runnel::log_warn!(node, "line {number} of many"));
        println!("dropped {}", logging::dropped_lines());
        return Ok(());
    }
    let name = node.full_name().to_owned();
    let _timer = node.clone().create_timer(Duration::from_millis(100), move || {
        runnel::log_warn!(node, "{name} warns");
        runnel::log_debug!(node, "{name} details");
    });
    context.spin()
}
