//! Tests of `runnel::tf` between nodes, in both graphs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, block_on, spin_until, wait_until};
use crate::dual_scene::{context, domain};
use crate::logged::{keep_log, wait_logged};
use runnel::core::time::Time;
use runnel::msgs::geometry_msgs::msg::{PointStamped, TransformStamped};
use runnel::msgs::rosgraph_msgs::msg::Clock;
use runnel::msgs::std_msgs::msg::Empty;
use runnel::msgs::tf2_msgs::msg::TFMessage;
use runnel::tf::{
    Buffer, LATEST, StaticTransformBroadcaster, TransformBroadcaster, TransformError, TransformListener,
};
use runnel::{Context, Graphs, Node};

const SHORT: Duration = Duration::from_millis(20);

fn at(milliseconds: i64) -> Time {
    Time::from_nanos(milliseconds * 1_000_000)
}

/// A translation along x.
fn stamped(parent: &str, child: &str, time: Time, x: f64) -> TransformStamped {
    let mut message = TransformStamped::default();
    (message.header.frame_id, message.header.stamp) = (parent.into(), time);
    (message.child_frame_id, message.transform.translation.x) = (child.into(), x);
    message
}

/// A node that listens.
struct Listening {
    buffer: Buffer,
    node: Node,
    _listener: TransformListener,
}

impl Listening {
    fn new(context: &Context) -> Self {
        let (node, buffer) = (context.create_node("listener").unwrap(), Buffer::new(context));
        let listener = TransformListener::new(&node, &buffer).unwrap();
        Self { buffer, node, _listener: listener }
    }

    #[track_caller]
    fn x(&self, target: &str, source: &str, time: Time) -> f64 {
        let found = self.buffer.wait_for_transform(target, source, time, LONG).unwrap();
        found.transform.translation.x
    }
}

/// Two contexts that act as two processes, in the same graphs.
fn pair(graphs: Graphs) -> (Graph, Context, Context) {
    let (graph, domain) = (Graph::new(), domain());
    let [one, other] = [0, 1].map(|_| context(&graph.uri, graphs, domain));
    (graph, one, other)
}

const ALL: [Graphs; 3] = [Graphs::Ros1, Graphs::Ros2, Graphs::Both];

#[test]
fn broadcast_transform_is_looked_up_without_spinning() {
    for graphs in ALL {
        let (_graph, near, far) = pair(graphs);
        let listening = Listening::new(&far);
        let broadcaster = TransformBroadcaster::new(&near.create_node("robot").unwrap()).unwrap();
        assert!(broadcaster.publisher().wait_for_subscribers(1, LONG).unwrap());
        broadcaster.send_transform(&stamped("odom", "base", at(1000), 1.0)).unwrap();
        let two = [stamped("odom", "base", at(2000), 3.0), stamped("map", "odom", at(2000), 10.0)];
        broadcaster.send_transforms(&two).unwrap();
        assert_eq!(listening.x("map", "base", at(2000)), 13.0);
        assert_eq!(listening.x("odom", "base", at(1500)), 2.0);
        let base = listening.buffer.frame("base").unwrap();
        assert_eq!((base.authority.as_str(), base.transforms), ("/robot", 2), "{graphs:?}");
    }
}

#[test]
fn late_listener_gets_all_static_transforms() {
    for graphs in ALL {
        let (_graph, near, far) = pair(graphs);
        let robot = near.create_node("robot").unwrap();
        // As in a program whose parts each have their own.
        let broadcasters = [0, 1].map(|_| StaticTransformBroadcaster::new(&robot).unwrap());
        for (child, x) in [("camera", 1.0), ("camera", 3.0)] {
            broadcasters[0].clone().send_transform(&stamped("base", child, at(5), x)).unwrap();
        }
        broadcasters[1].send_transform(&stamped("base", "lidar", at(5), 2.0)).unwrap();
        let listening = Listening::new(&far);
        assert_eq!(listening.x("base", "lidar", at(123_456)), 2.0);
        assert_eq!(listening.x("base", "camera", LATEST), 3.0, "the last one of a child counts");
    }
}

#[test]
fn transforms_reach_nodes_of_one_process() {
    for graphs in ALL {
        let (_graph, context, _far) = pair(graphs);
        let node = context.create_node("robot").unwrap();
        let fixed = StaticTransformBroadcaster::new(&node).unwrap();
        fixed.send_transform(&stamped("base", "camera", LATEST, 1.0)).unwrap();
        let listening = Listening::new(&context);
        let broadcaster = TransformBroadcaster::new(&node).unwrap();
        assert!(broadcaster.publisher().wait_for_subscribers(1, LONG).unwrap());
        broadcaster.send_transform(&stamped("odom", "base", at(1000), 2.0)).unwrap();
        assert_eq!(listening.x("odom", "camera", at(1000)), 3.0);
        assert_eq!(listening.buffer.frame("base").unwrap().authority, "/robot", "{graphs:?}");
    }
}

#[test]
fn wait_says_what_is_missing() {
    let (_graph, context, _far) = pair(Graphs::Ros2);
    let buffer = Buffer::new(&context);
    let missing = buffer.wait_for_transform("map", "base", LATEST, SHORT).unwrap_err();
    assert!(matches!(missing, TransformError::Lookup { .. }), "{missing}");
    buffer.set_transform(&stamped("map", "base", at(1000), 1.0), "test", false).unwrap();
    let early = buffer.wait_for_transform("map", "base", at(2000), SHORT).unwrap_err();
    assert!(matches!(early, TransformError::Extrapolation { .. }), "{early}");
    // No transform that could still arrive has such a name.
    let invalid = buffer.wait_for_transform("/map", "base", LATEST, LONG * 100).unwrap_err();
    assert!(matches!(invalid, TransformError::InvalidArgument { .. }), "{invalid}");
}

#[test]
fn wait_ends_with_the_context() {
    let (_graph, context, _far) = pair(Graphs::Ros2);
    let buffer = Buffer::new(&context);
    thread::scope(|scope| {
        let waits = scope.spawn(|| buffer.wait_for_transform("map", "base", LATEST, LONG * 100));
        let task = buffer.wait_for_transform_async("map", "base", LATEST);
        let awaits = scope.spawn(|| block_on(task));
        context.shutdown();
        assert!(matches!(waits.join().unwrap(), Err(TransformError::Lookup { .. })));
        assert!(matches!(awaits.join().unwrap(), Err(TransformError::Lookup { .. })));
    });
}

#[test]
fn task_is_woken_by_transform() {
    let (_graph, near, far) = pair(Graphs::Both);
    let listening = Listening::new(&far);
    let broadcaster = TransformBroadcaster::new(&near.create_node("robot").unwrap()).unwrap();
    assert!(broadcaster.publisher().wait_for_subscribers(1, LONG).unwrap());
    let task = listening.buffer.wait_for_transform_async("map", "base", LATEST);
    thread::scope(|scope| {
        let awaits = scope.spawn(|| block_on(task));
        broadcaster.send_transform(&stamped("map", "base", at(1000), 1.0)).unwrap();
        assert_eq!(awaits.join().unwrap().unwrap().transform.translation.x, 1.0);
    });
    let invalid = block_on(listening.buffer.wait_for_transform_async("", "base", LATEST));
    assert!(matches!(invalid, Err(TransformError::InvalidArgument { .. })));
}

#[test]
fn callback_may_wait_for_transform() {
    let (_graph, near, far) = pair(Graphs::Both);
    let listening = Listening::new(&far);
    let robot = near.create_node("robot").unwrap();
    let broadcaster = TransformBroadcaster::new(&robot).unwrap();
    let (begun, found) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (begins, finds, buffer) = (Arc::clone(&begun), Arc::clone(&found), listening.buffer.clone());
    let wait = move |_: &Empty| {
        begins.store(true, Ordering::SeqCst);
        buffer.wait_for_transform("map", "base", LATEST, LONG).unwrap();
        finds.store(true, Ordering::SeqCst);
    };
    let _go = listening.node.create_subscription("go", 1, wait).unwrap();
    let go = robot.create_publisher::<Empty>("go", 1).unwrap();
    for publisher in [&**broadcaster.publisher(), &*go] {
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    }
    thread::scope(|scope| {
        scope.spawn(|| spin_until(&far, "the callback ends", || found.load(Ordering::SeqCst)));
        go.publish(Empty {}).unwrap();
        wait_until("the callback begins", || begun.load(Ordering::SeqCst));
        broadcaster.send_transform(&stamped("map", "base", at(1000), 1.0)).unwrap();
    });
}

#[test]
fn message_is_transformed_with_its_time() {
    let (_graph, context, _far) = pair(Graphs::Ros2);
    let buffer = Buffer::with_cache_time(&context, Duration::from_secs(100));
    for (time, x) in [(1000, 1.0), (2000, 2.0)] {
        buffer.set_transform(&stamped("map", "base", at(time), x), "test", false).unwrap();
    }
    let mut point = PointStamped::default();
    (point.header.frame_id, point.header.stamp, point.point.y) = ("base".into(), at(1500), 7.0);
    let moved = buffer.transform(&point, "map").unwrap();
    assert_eq!((moved.point.x, moved.point.y), (1.5, 7.0));
    assert_eq!((moved.header.frame_id.as_str(), moved.header.stamp), ("map", at(1500)));
    let full = buffer.lookup_transform_full(("base", at(2000)), ("base", at(1000)), "map").unwrap();
    assert_eq!(full.transform.translation.x, -1.0);
    assert_eq!(buffer.latest_common_time("map", "base"), Ok(at(2000)));
    assert_eq!(buffer.frames_between("map", "base").unwrap(), ["base", "map"]);
    assert!(buffer.can_transform("map", "base", at(1500)));
    buffer.clear();
    assert!(!buffer.can_transform("map", "base", at(1500)) && buffer.frames().is_empty());
}

#[test]
fn backward_jump_of_time_clears_the_buffer() {
    let graph = Graph::new();
    graph.ask("setParam", &["/test".into(), "/use_sim_time".into(), true.into()]);
    let (near, far) = (graph.tool(), graph.context());
    let robot = near.create_node("simulator").unwrap();
    let clock = robot.create_publisher::<Clock>("/clock", 1).unwrap();
    let listening = Listening::new(&far);
    let (broadcaster, fixed) =
        (TransformBroadcaster::new(&robot).unwrap(), StaticTransformBroadcaster::new(&robot).unwrap());
    for publisher in [&**broadcaster.publisher(), &**fixed.publisher(), &*clock] {
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    }
    let set_time = |milliseconds: i64| {
        clock.publish(Clock { clock: at(milliseconds) }).unwrap();
        wait_until("the time is received", || far.now() == at(milliseconds));
    };
    set_time(50_000);
    fixed.send_transform(&stamped("base", "camera", at(50_000), 1.0)).unwrap();
    broadcaster.send_transform(&stamped("map", "base", at(50_000), 5.0)).unwrap();
    assert_eq!(listening.x("map", "camera", LATEST), 6.0);
    set_time(1000);
    // It is older than the cache time before the jump.
    broadcaster.send_transform(&stamped("map", "base", at(1000), 2.0)).unwrap();
    assert_eq!(listening.x("map", "camera", at(1000)), 3.0);
    assert_eq!(listening.buffer.frame("base").unwrap().latest, Some(at(1000)));
}

#[test]
fn unsound_transforms_are_logged_and_others_stored() {
    keep_log();
    let (_graph, near, far) = pair(Graphs::Both);
    let listening = Listening::new(&far);
    let node = near.create_node("unsound").unwrap();
    let publisher = node.create_publisher::<TFMessage>("/tf", 10).unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let transforms = vec![
        stamped("a", "a", at(1000), 1.0),
        stamped("a", "b\nforged", at(1000), f64::NAN),
        stamped("a", "c", at(1000), 1.0),
    ];
    publisher.publish(TFMessage { transforms }).unwrap();
    assert_eq!(listening.x("a", "c", at(1000)), 1.0);
    wait_logged(&["[a] to [a] of broadcaster [/unsound]", "TF_SELF_TRANSFORM"]);
    wait_logged(&["[b\\nforged] to [a]", "TF_NAN_INPUT"]);
    assert_eq!(listening.buffer.frames().len(), 2);
}

#[test]
fn dropped_listener_leaves_the_buffer_as_it_is() {
    let (_graph, near, far) = pair(Graphs::Both);
    let broadcaster = TransformBroadcaster::new(&near.create_node("robot").unwrap()).unwrap();
    let Listening { buffer, node, _listener: listener } = Listening::new(&far);
    assert!(broadcaster.publisher().wait_for_subscribers(1, LONG).unwrap());
    broadcaster.send_transform(&stamped("map", "base", at(1000), 1.0)).unwrap();
    buffer.wait_for_transform("map", "base", at(1000), LONG).unwrap();
    assert!(listener.subscriptions().iter().all(|subscription| subscription.dropped() == 0));
    drop((listener, node));
    wait_until("the subscription is gone", || broadcaster.publisher().subscription_count() == 0);
    assert!(buffer.can_transform("map", "base", at(1000)));
}
