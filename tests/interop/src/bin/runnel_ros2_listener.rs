//! ROS 2 listener with the options and output of the other listeners (`peers/rclpy/listener.py`), for texts and
//! bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use interop::ros2_options::{PeerOptions, crc, print_line};
use runnel::Error;
use runnel::core::Message;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};

/// How often the number of matched publishers is checked.
const POLL: Duration = Duration::from_millis(1);

fn main() -> Result<(), Error> {
    let options = PeerOptions::from_command_line();
    match options.type_name.as_str() {
        "std_msgs/msg/String" => subscribe::<Text>(&options),
        "std_msgs/msg/UInt8MultiArray" => subscribe::<UInt8MultiArray>(&options),
        other => panic!("no listener of {other}"),
    }
}

fn subscribe<M: Message>(options: &PeerOptions) -> Result<(), Error> {
    let context = options.context()?;
    let node = context.create_node("listener")?;
    let received = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&received);
    let most = options.count;
    let subscription = node.create_subscription(&options.topic, options.qos, move |message: &M| {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        if most == 0 || number <= most {
            print_line(&format!("got {number} {}", crc(message)));
        }
    })?;
    print_line("ready");
    let mut matched = 0;
    while context.ok() && (most == 0 || received.load(Ordering::Relaxed) < most) {
        context.spin_once(POLL)?;
        let now = subscription.publisher_count();
        if now != std::mem::replace(&mut matched, now) {
            print_line(&format!("matched {now}"));
        }
    }
    Ok(())
}
