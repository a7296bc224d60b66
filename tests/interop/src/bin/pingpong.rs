//! A Runnel node for `tests/it/data_path.rs` to watch from outside: `pingpong ping|pong COUNT BYTES [WAY]`. `ping` sends
//! COUNT messages of so many bytes, each when the one before has come back, and then `pingpong` prints `done`; `pong`
//! sends back what comes until a signal ends it. With `udp` they ask each other for datagrams. With `ros2-udp` they are of
//! the ROS 2 graph and ask for best effort, with `ros2-memory` they begin once they read each other's messages in shared
//! memory.

use std::env;
use std::error::Error;
use std::time::{Duration, Instant};

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, ContextOptions, Graphs, Node, Publisher, QoS, SubscriptionOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let way = arguments.last().map_or("", String::as_str);
    let graphs = if way.starts_with("ros2") { Graphs::Ros2 } else { Graphs::Ros1 };
    let context = Context::with_options(ContextOptions::default().graphs(graphs))?;
    let qos = match way {
        "ros2-udp" => QoS::keep_last(10).best_effort(),
        _ => QoS::keep_last(10),
    };
    let options = SubscriptionOptions::from(qos);
    let options = if way == "udp" { options.udpros() } else { options };
    match arguments.as_slice() {
        [role, count, bytes, ..] if role == "ping" => {
            ping(&context, &context.create_node("ping")?, (qos, options), count.parse()?, bytes.parse()?)
        }
        [role, ..] if role == "pong" => pong(&context, &context.create_node("pong")?, (qos, options)),
        _ => Err("which end: ping COUNT BYTES or pong?".into()),
    }
}

fn ping(
    context: &Context,
    node: &Node,
    (qos, options): (QoS, SubscriptionOptions),
    count: u64,
    bytes: usize,
) -> Result<(), Box<dyn Error>> {
    let publisher = node.create_publisher("ping", qos)?;
    let (answering, ending, mut answers) = (publisher.clone(), context.clone(), 0);
    let _answers = node.create_subscription("pong", options, move |answer: &UInt8MultiArray| {
        answers += 1;
        // Only a publisher that keeps all messages can refuse one.
        if answers == count || answering.publish(answer).is_err() {
            ending.shutdown();
        }
    })?;
    // The other end takes messages only once its answers have a way.
    wait_for_other(context, &publisher)?;
    publisher.publish(UInt8MultiArray { data: vec![0; bytes], ..UInt8MultiArray::default() })?;
    context.spin()?;
    println!("done");
    Ok(())
}

fn pong(
    context: &Context,
    node: &Node,
    (qos, options): (QoS, SubscriptionOptions),
) -> Result<(), Box<dyn Error>> {
    let publisher = node.create_publisher("pong", qos)?;
    wait_for_other(context, &publisher)?;
    let (answering, ending) = (publisher.clone(), context.clone());
    let _questions = node.create_subscription("ping", options, move |message: &UInt8MultiArray| {
        if answering.publish(message).is_err() {
            ending.shutdown();
        }
    })?;
    Ok(context.spin()?)
}

fn wait_for_other(context: &Context, publisher: &Publisher<UInt8MultiArray>) -> Result<(), Box<dyn Error>> {
    let until = Instant::now() + Duration::from_secs(20);
    if !publisher.wait_for_subscribers(1, Duration::from_secs(20))? {
        return Err(format!("nobody subscribes to {}", publisher.topic()).into());
    }
    let by_memory = env::args().next_back().is_some_and(|way| way == "ros2-memory");
    while by_memory && publisher.shared_memory_count() == 0 {
        if Instant::now() > until {
            return Err(format!("{} stays on the network", publisher.topic()).into());
        }
        context.spin_once(Duration::from_millis(1))?;
    }
    Ok(())
}
