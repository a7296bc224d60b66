//! ROS 2 talker with the options and output of the other talkers (`peers/rclpy/talker.py`), for texts and bytes.

use std::path::Path;
use std::time::Duration;

use interop::ros2_options::{PeerOptions, bytes, crc, print_line, text};
use runnel::core::Message;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use runnel::{Context, Error, Publisher};

/// How often the number of matched subscriptions is checked.
const POLL: Duration = Duration::from_millis(1);

fn main() -> Result<(), Error> {
    let options = PeerOptions::from_command_line();
    match options.type_name.as_str() {
        "std_msgs/msg/String" => publish_all::<Text>(&options, text),
        "std_msgs/msg/UInt8MultiArray" => publish_all::<UInt8MultiArray>(&options, bytes),
        other => panic!("no talker of {other}"),
    }
}

fn publish_all<M: Message>(options: &PeerOptions, made: fn(u32, usize) -> M) -> Result<(), Error> {
    let context = options.context()?;
    let node = context.create_node("talker")?;
    let mut publisher = node.create_publisher::<M>(&options.topic, options.qos)?;
    publisher.set_max_blocking_time(Duration::from_secs(60));
    print_line("ready");
    let mut matched = 0;
    let waits = |matched| {
        matched < options.wait || options.after.as_ref().is_some_and(|gate| !Path::new(gate).exists())
    };
    while context.ok() && waits(matched) {
        turn(&context, &publisher, &mut matched)?;
    }
    for number in (1..).take_while(|number| options.count == 0 || *number <= options.count) {
        let message = made(number, options.size_of(number));
        let described = crc(&message);
        publisher.publish(message)?;
        print_line(&format!("sent {number} {described}"));
        if options.rate > 0.0 {
            context.sleep(Duration::from_secs_f64(1.0 / options.rate))?;
        }
        if !context.ok() {
            return Ok(());
        }
    }
    print_line("done");
    while context.ok() {
        turn(&context, &publisher, &mut matched)?;
    }
    Ok(())
}

fn turn<M: Message>(context: &Context, publisher: &Publisher<M>, matched: &mut usize) -> Result<(), Error> {
    context.spin_once(POLL)?;
    let now = publisher.subscription_count();
    if now != std::mem::replace(matched, now) {
        print_line(&format!("matched {now}"));
    }
    Ok(())
}
