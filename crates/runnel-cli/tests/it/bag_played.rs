//! Bags that tests play, and a node that receives their messages.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use runnel::msgs::std_msgs::msg::UInt64;
use runnel::{Context, Graphs, QoS, Subscription};
use runnel_bag::disk::Plain;
use runnel_bag::mcap::{Profile, Writer};
use runnel_bag::{BagWriter, Channel, Encoding, NewMessage, Schema, SchemaLanguage};
use runnel_testkit::process::{Peer, deadline_in};

use crate::bag_scene::{STEP, Scene, Spinning, wait_until};

pub const MILLISECOND: u64 = 1_000_000;
pub const HOUR: u64 = 3600 * 1000 * MILLISECOND;
/// Log time of the first message.
pub const START: u64 = 1_700_000_000 * 1000 * MILLISECOND;

pub const DATA: &str = "/data";
pub const GATE: &str = "/gate";

/// Writes `run.mcap` with messages on these topics, numbered from 0, at these nanoseconds from the start.
pub fn write(scene: &Scene, messages: &[(&str, u64)]) {
    let messages: Vec<_> = messages.iter().map(|(topic, time)| (*topic, *time, *time)).collect();
    write_sent(scene, [channel(DATA), channel(GATE)], &messages);
}

/// The same on these channels, with the times at which messages were received and sent.
pub fn write_sent(scene: &Scene, channels: [Channel; 2], messages: &[(&str, u64, u64)]) {
    let file = Plain::new(File::create_new(scene.path().join("run.mcap")).expect("a new file"));
    let mut writer = Writer::on_disk(file, Profile::Ros2).expect("it begins");
    write_into(&mut writer, &channels, messages, 0);
}

/// Writes messages, numbered from `first`, and completes the file.
pub fn write_into(
    writer: &mut impl BagWriter,
    channels: &[Channel; 2],
    messages: &[(&str, u64, u64)],
    first: u64,
) {
    let ids = [0, 1].map(|channel: usize| writer.add_channel(&channels[channel]).expect("a channel"));
    for (&(topic, received, sent), number) in messages.iter().zip(first..) {
        let (log_time, channel) = (START + received, ids[usize::from(topic == GATE)]);
        let data = [&[0, 1, 0, 0], &number.to_le_bytes()[..]].concat();
        let publish_time = START + sent;
        let message = NewMessage { channel, log_time, publish_time, sequence: 0, data: (&data[..]).into() };
        writer.write(&message).expect("written");
    }
    writer.finish().expect("complete");
}

pub fn channel(topic: &str) -> Channel {
    Channel {
        topic: topic.into(),
        type_name: "std_msgs/msg/UInt64".into(),
        encoding: Encoding::Cdr,
        schema: Schema { language: SchemaLanguage::Ros2Msg, data: b"uint64 data\n".to_vec() },
        ..Channel::default()
    }
}

/// The numbers that a node receives.
pub struct Received {
    numbers: Arc<Mutex<Vec<u64>>>,
    _subscriptions: Vec<Subscription>,
    spinning: Spinning,
}

impl Received {
    /// Receives both topics.
    pub fn new(scene: &Scene) -> Self {
        let spinning = scene.nodes(Graphs::Ros2, &[]);
        let node = spinning.context.create_node("receiver").expect("a node");
        let numbers = Arc::new(Mutex::new(Vec::new()));
        let subscribe = |topic| {
            let numbers = Arc::clone(&numbers);
            let take = move |message: &UInt64| {
                numbers.lock().unwrap_or_else(PoisonError::into_inner).push(message.data);
            };
            node.create_subscription(topic, QoS::keep_last(100), take).expect("a subscription")
        };
        let _subscriptions = [DATA, GATE].map(subscribe).into();
        Self { numbers, _subscriptions, spinning }
    }

    /// The context of the node.
    pub fn context(&self) -> &Context {
        &self.spinning.context
    }

    pub fn numbers(&self) -> Vec<u64> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until this many are received.
    pub fn wait_for(&self, count: usize) -> Vec<u64> {
        wait_until(&format!("{count} messages are received"), || self.numbers().len() >= count);
        self.numbers()
    }

    /// Those received until now, which may have come from the two topics in any order.
    pub fn sorted(&self, count: usize) -> Vec<u64> {
        let mut numbers = self.wait_for(count);
        numbers.sort_unstable();
        numbers
    }
}

pub fn play(scene: &Scene, options: &str) -> Peer {
    scene.peer(scene.path(), &format!("bag play run.mcap {options}"))
}

/// Calls a service of the player. Returns the response.
pub fn call(scene: &Scene, name: &str, request: &str) -> String {
    let service = format!("/rosbag2_player/{name}");
    let request = Some(request).filter(|request| !request.is_empty());
    scene.call(&[&[service.as_str()], request.as_slice()].concat())
}

/// Waits until the player ends. Returns what it has printed.
pub fn end(mut player: Peer) -> String {
    let status = player.wait_exit(deadline_in(STEP)).expect("it ends");
    assert!(status.success(), "{}", player.output());
    player.output()
}
