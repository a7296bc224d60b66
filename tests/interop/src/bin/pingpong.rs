//! Ping-pong node that `tests/it/data_path.rs` observes with strace: `pingpong ping|pong COUNT BYTES [TRANSPORT]`.
//! `ping` sends COUNT messages of BYTES bytes, each when the previous one has come back, and then prints `done`;
//! `pong` sends back every message until a signal ends it. `udp` selects UDPROS; `ros2-udp` ROS 2 with best effort;
//! `ros2-memory` ROS 2, starting once both links use shared memory.

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
    // The other end accepts messages only once its answers have a path.
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
    let until = Instant::now() + Duration::from_secs(60);
    if !publisher.wait_for_subscribers(1, Duration::from_secs(60))? {
        return Err(format!("no subscriber of {}", publisher.topic()).into());
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
