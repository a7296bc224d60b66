//! A listener in the ROS 2 graph: takes the words of the other listeners and prints what they print
//! (`peers/rclpy/listener.py`), for texts and bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use interop::ros2_words::{Words, crc, say};
use runnel::Error;
use runnel::core::Message;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};

/// How often is looked who is there.
const LOOK: Duration = Duration::from_millis(1);

fn main() -> Result<(), Error> {
    let words = Words::of_command_line();
    match words.type_name.as_str() {
        "std_msgs/msg/String" => listen::<Text>(&words),
        "std_msgs/msg/UInt8MultiArray" => listen::<UInt8MultiArray>(&words),
        other => panic!("no listener of {other}"),
    }
}

fn listen<M: Message>(words: &Words) -> Result<(), Error> {
    let context = words.context()?;
    let node = context.create_node("listener")?;
    let heard = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&heard);
    let most = words.count;
    let subscription = node.create_subscription(&words.topic, words.qos, move |message: &M| {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        if most == 0 || number <= most {
            say(&format!("got {number} {}", crc(message)));
        }
    })?;
    say("ready");
    let mut matched = 0;
    while context.ok() && (most == 0 || heard.load(Ordering::Relaxed) < most) {
        context.spin_once(LOOK)?;
        let now = subscription.publisher_count();
        if now != std::mem::replace(&mut matched, now) {
            say(&format!("matched {now}"));
        }
    }
    Ok(())
}
