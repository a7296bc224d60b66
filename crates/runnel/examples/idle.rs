//! The smallest node that does its part: one publisher, one subscription, and nothing to do.
//!
//! Built small, with nothing of the system needed at run time:
//! `RUSTFLAGS='-C target-feature=+crt-static' cargo build --profile tiny --target x86_64-unknown-linux-gnu
//! -p runnel --example idle`

use runnel::msgs::std_msgs;

fn main() -> Result<(), runnel::Error> {
    let context = runnel::Context::new()?;
    let node = context.create_node("idle")?;
    let _status = node.create_publisher::<std_msgs::msg::String>("status", 10)?;
    let _commands = node.create_subscription("commands", 10, |_: &std_msgs::msg::String| {})?;
    context.spin()
}
