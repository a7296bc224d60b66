//! Contexts whose nodes are not in the ROS 1 graph: no master, and nothing of ROS 1 that they would wait for.

mod common;

use std::time::Duration;

use runnel::core::time::Instant;
use runnel::io::clock;
use runnel::msgs::std_msgs::String as Text;
use runnel::msgs::std_srvs::Trigger;
use runnel::{Context, ContextOptions, Error, Graphs};

/// Far less than the shortest wait for a master.
const AT_ONCE: Duration = Duration::from_millis(500);

fn context(arguments: &[&str]) -> Context {
    let options = ContextOptions::default().signals(false).arguments(arguments.iter().copied());
    Context::with_options(options.graphs(Graphs::Ros2)).unwrap()
}

fn text(data: &str) -> Text {
    Text { data: data.into() }
}

fn assert_at_once(start: Instant) {
    let took = clock::monotonic().since(start);
    assert!(took < AT_ONCE, "{took:?}");
}

#[test]
fn a_node_without_ros_1_is_made_publishes_and_ends_at_once_though_no_master_could_be_named() {
    let start = clock::monotonic();
    let context = context(&["__master:=nonsense", "_rate:=5"]);
    let node = context.create_node("talker").unwrap();
    let chatter = node.create_publisher::<Text>("chatter", 10).unwrap();
    let heard = node.create_subscription("other", 10, |_: &Text| {}).unwrap();
    chatter.publish(text("hello")).unwrap();
    assert_eq!((chatter.published(), heard.publisher_count()), (1, 0));
    runnel::log_info!(node, "logged");
    context.spin_some().unwrap();
    drop((chatter, heard, node));
    context.shutdown();
    context.spin().unwrap();
    drop(context);
    assert_at_once(start);
}

#[test]
fn what_ros_1_alone_has_is_refused_by_name() {
    let start = clock::monotonic();
    let context = context(&[]);
    let node = context.create_node("node").unwrap();
    let refused = [
        node.set_param("rate", 5).err(),
        node.get_param::<i32>("rate").err(),
        node.watch_param("rate", |_, _| {}).err(),
        node.create_service::<Trigger, Error>("reset", |_| Ok(Default::default())).err(),
        node.create_client::<Trigger>("reset").err(),
        node.wait_for_service("reset", Duration::from_secs(60)).err(),
        context.call_master("getPid", &[], Duration::from_secs(60)).err(),
    ];
    for (which, error) in refused.into_iter().enumerate() {
        assert!(matches!(error, Some(Error::NotInGraph { .. })), "{which}: {error:?}");
    }
    assert_at_once(start);
}
