//! A recorder with a publisher in the same process.

use std::time::Duration;

use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions, Graphs, QoS};
use runnel_bag::Compression;
use runnel_bag::mcap::Profile;

use super::{Options, Recorder};
use crate::bag::record::output::OutputFiles;
use crate::bag::record::sink::SinkOptions;
use crate::bag::record::topic_selection::TopicSelection;
use crate::bag::storage::Storage;
use crate::types::Types;

fn options(topic: &str) -> Options {
    Options {
        topics: TopicSelection { names: [topic.to_owned()].into(), ..TopicSelection::default() },
        static_topics: [].into(),
        depth: 1000,
        qos_overrides: [].into(),
        sink: SinkOptions::default(),
        max_loss: Duration::from_secs(1),
        sim_time: false,
        discovery: false,
        udp: false,
    }
}

#[test]
fn messages_that_have_arrived_are_recorded_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let of_context = ContextOptions::default().arguments([""; 0]).graphs(Graphs::Ros2).signals(false);
    let context = Context::with_options(of_context.rosout(false).sim_time(false)).expect("a context");
    let node = context.create_node("record").expect("a node");
    let base = folder.path().join("a");
    let files = OutputFiles::new(base, (Storage::Mcap, Compression::None.into()), Profile::None);
    let recorder =
        Recorder::new(&node, Box::new(files), options("/a"), || Types::new(&[])).expect("it subscribes");
    let publisher = node.create_publisher::<Text>("/a", QoS::keep_last(1000)).expect("a publisher");
    for number in 0..100 {
        publisher.publish(Text { data: number.to_string() }).expect("it is published");
    }
    // No thread has run callbacks.
    context.shutdown();
    let progress = recorder.finish().expect("it is written");
    let counts = progress.topics["/a"];
    assert_eq!((counts.messages, counts.absent()), (100, 0));
}
