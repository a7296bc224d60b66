//! Answers every message on `ping` with the same one on `pong`.

use runnel::msgs::std_msgs::msg::UInt8MultiArray;

fn main() -> Result<(), runnel::Error> {
    let context = runnel::Context::new()?;
    let node = context.create_node("pong")?;
    let pong = node.create_publisher::<UInt8MultiArray>("pong", 10)?;
    let _ping = node.create_subscription("ping", 10, move |message: &UInt8MultiArray| {
        if let Err(error) = pong.publish(message) {
            eprintln!("{error}");
        }
    })?;
    context.spin()
}
