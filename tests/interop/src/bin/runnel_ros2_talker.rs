//! A talker in the ROS 2 graph: takes the words of the other talkers and prints what they print (`peers/rclpy/talker.py`),
//! for texts and bytes.

use std::path::Path;
use std::time::Duration;

use interop::ros2_words::{Words, bytes, crc, say, text};
use runnel::core::Message;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use runnel::{Context, Error, Publisher};

/// How often is looked who is there.
const LOOK: Duration = Duration::from_millis(1);

fn main() -> Result<(), Error> {
    let words = Words::of_command_line();
    match words.type_name.as_str() {
        "std_msgs/msg/String" => talk::<Text>(&words, text),
        "std_msgs/msg/UInt8MultiArray" => talk::<UInt8MultiArray>(&words, bytes),
        other => panic!("no talker of {other}"),
    }
}

fn talk<M: Message>(words: &Words, made: fn(u32, usize) -> M) -> Result<(), Error> {
    let context = words.context()?;
    let node = context.create_node("talker")?;
    let mut publisher = node.create_publisher::<M>(&words.topic, words.qos)?;
    publisher.set_max_blocking_time(Duration::from_secs(60));
    say("ready");
    let mut matched = 0;
    let waits =
        |matched| matched < words.wait || words.after.as_ref().is_some_and(|gate| !Path::new(gate).exists());
    while context.ok() && waits(matched) {
        turn(&context, &publisher, &mut matched)?;
    }
    for number in (1..).take_while(|number| words.count == 0 || *number <= words.count) {
        let message = made(number, words.size_of(number));
        let told = crc(&message);
        publisher.publish(message)?;
        say(&format!("sent {number} {told}"));
        if words.rate > 0.0 {
            context.sleep(Duration::from_secs_f64(1.0 / words.rate))?;
        }
        if !context.ok() {
            return Ok(());
        }
    }
    say("done");
    while context.ok() {
        turn(&context, &publisher, &mut matched)?;
    }
    Ok(())
}

fn turn<M: Message>(context: &Context, publisher: &Publisher<M>, matched: &mut usize) -> Result<(), Error> {
    context.spin_once(LOOK)?;
    let now = publisher.subscription_count();
    if now != std::mem::replace(matched, now) {
        say(&format!("matched {now}"));
    }
    Ok(())
}
