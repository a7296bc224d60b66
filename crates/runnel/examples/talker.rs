//! Publishes `hello N` ten times a second.

use runnel::msgs::std_msgs;

fn main() -> Result<(), runnel::Error> {
    let context = runnel::Context::new()?;
    let node = context.create_node("talker")?;
    let chatter = node.create_publisher::<std_msgs::msg::String>("chatter", 10)?;
    let mut rate = runnel::Rate::new(&context, 10.0)?;
    let mut count = 0;
    while context.ok() {
        chatter.publish(std_msgs::msg::String { data: format!("hello {count}") })?;
        count += 1;
        rate.sleep()?;
    }
    Ok(())
}
