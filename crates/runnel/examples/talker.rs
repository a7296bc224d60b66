//! Publishes `hello N` ten times a second.

use runnel::msgs::std_msgs::msg::String;

fn main() -> Result<(), runnel::Error> {
    let context = runnel::Context::new()?;
    let node = context.create_node("talker")?;
    let chatter = node.create_publisher::<String>("chatter", 10)?;
    let mut rate = runnel::Rate::new(&context, 10.0);
    let mut count = 0;
    while context.ok() {
        chatter.publish(String { data: format!("hello {count}") })?;
        count += 1;
        rate.sleep()?;
    }
    Ok(())
}
