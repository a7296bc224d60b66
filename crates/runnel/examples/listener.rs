//! Prints what it hears.

use runnel::msgs::std_msgs::msg::String;

fn main() -> Result<(), runnel::Error> {
    let context = runnel::Context::new()?;
    let node = context.create_node("listener")?;
    let _chatter =
        node.create_subscription("chatter", 10, |message: &String| println!("heard {}", message.data))?;
    context.spin()
}
