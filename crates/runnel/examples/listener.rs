//! Prints each message of `chatter`.

use runnel::msgs::std_msgs;

fn main() -> Result<(), runnel::Error> {
    let context = runnel::Context::new()?;
    let node = context.create_node("listener")?;
    let _chatter = node.create_subscription("chatter", 10, |message: &std_msgs::msg::String| {
        println!("heard {}", message.data)
    })?;
    context.spin()
}
