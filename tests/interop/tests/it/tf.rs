//! Transforms with the originals: the buffer against that of tf2 in C++, nodes with tf2_ros in ROS 1 and with rclpy in
//! ROS 2, and the commands.

use std::fs;
use std::time::Duration;

use interop::ros2::{Distro, Ros2Graph};
use interop::{Master, Ros1Graph, Server, TIMEOUT, is_full, outcome, ready};
use runnel::core::time::Time;
use runnel::msgs::geometry_msgs::msg::TransformStamped;
use runnel::tf::{
    Buffer, BufferCore, LATEST, Quaternion, StaticTransformBroadcaster, Transform, TransformBroadcaster,
    TransformError, TransformListener, Vector3,
};
use runnel::{Context, ContextOptions, Node};
use runnel_testkit::net::Rng;
use runnel_testkit::process::{Peer, Signal, deadline_in};
use serde_json::{Value as Json, json};

const LONG: Duration = Duration::from_secs(TIMEOUT);

/// Nanoseconds of a millisecond.
const MS: i64 = 1_000_000;

fn stamped(parent: &str, child: &str, nanoseconds: i64, transform: Transform) -> TransformStamped {
    let mut message = TransformStamped { transform: transform.into(), ..TransformStamped::default() };
    (message.header.frame_id, message.child_frame_id) = (parent.into(), child.into());
    message.header.stamp = Time::from_nanos(nanoseconds);
    message
}

/// Transforms and look-ups of one seed, for both buffers.
struct Case {
    rng: Rng,
    frames: usize,
}

/// Time of the first transform, in milliseconds. The original's Python passes times as doubles, which hold today's only
/// to 100 ns.
const FIRST: i64 = 1_000_000;

impl Case {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let frames = 2 + rng.below(10);
        Self { rng, frames }
    }

    /// A number from -1 to 1.
    fn number(&mut self) -> f64 {
        (self.rng.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn transform(&mut self) -> Transform {
        let [x, y, z, a, b, c, angle] = [(); 7].map(|()| self.number());
        let rotation = Quaternion::from_axis_angle(Vector3::new(a, b, c), angle * 3.0);
        Transform::new(Vector3::new(x, y, z), rotation)
    }

    /// A time at which transforms are, or between such times. With `wide`, some are older than the cache time.
    fn time(&mut self, wide: bool) -> i64 {
        (FIRST + self.rng.below(if wide { 15_000 } else { 40 }) as i64) * MS
    }

    /// Transforms in random order, with changes of parents, static ones and loops. No time of a frame comes twice,
    /// which the versions of tf2 treat differently.
    fn transforms(&mut self) -> Vec<(TransformStamped, bool)> {
        let (wide, loops) = (self.rng.percent(30), self.rng.percent(20));
        let mut messages = Vec::new();
        for child in 1..self.frames {
            let (is_static, changes) = (self.rng.percent(20), self.rng.percent(20));
            let mut times: Vec<i64> = (0..1 + self.rng.below(8)).map(|_| self.time(wide)).collect();
            times.sort_unstable();
            times.dedup();
            times.truncate(if is_static { 1 } else { times.len() });
            let parent = |case: &mut Self| {
                let among = if loops { case.frames } else { child };
                let parent = case.rng.below(among);
                if parent == child { 0 } else { parent }
            };
            let mut above = parent(self);
            for time in times {
                let transform = self.transform();
                messages.push((stamped(&above.to_string(), &child.to_string(), time, transform), is_static));
                above = if changes { parent(self) } else { above };
            }
        }
        for end in (1..messages.len()).rev() {
            messages.swap(end, self.rng.below(end + 1));
        }
        messages
    }

    fn name(&mut self) -> String {
        self.rng.below(self.frames + 1).to_string()
    }
}

fn set(message: &TransformStamped, is_static: bool) -> Json {
    let (moved, turned) = (message.transform.translation, message.transform.rotation);
    json!({ "set": [
        message.header.frame_id,
        message.child_frame_id,
        message.header.stamp.as_nanos(),
        [moved.x, moved.y, moved.z],
        [turned.x, turned.y, turned.z, turned.w],
        is_static,
    ] })
}

/// The name that tf2's Python gives to an error.
fn exception(error: &TransformError) -> &'static str {
    match error {
        TransformError::Lookup { .. } | TransformError::Loop { .. } => "LookupException",
        TransformError::Connectivity { .. } => "ConnectivityException",
        TransformError::Extrapolation { .. } => "ExtrapolationException",
        TransformError::InvalidArgument { .. } => "InvalidArgumentException",
        other => panic!("{other}"),
    }
}

/// Whether two buffers have given the same answer.
fn is_same(ours: &Result<TransformStamped, TransformError>, theirs: &Json) -> bool {
    let found = match ours {
        Err(error) => return theirs["error"] == exception(error),
        Ok(found) => found,
    };
    let numbers = |key: &str| -> Vec<f64> {
        theirs[key].as_array().into_iter().flatten().filter_map(Json::as_f64).collect()
    };
    let (moved, turned) = (numbers("moved"), numbers("turned"));
    let ([x, y, z], [qx, qy, qz, qw]) = (&moved[..], &turned[..]) else { return false };
    let distance = (Vector3::new(*x, *y, *z) - found.transform.translation.into()).norm();
    let angle = Quaternion::new(*qx, *qy, *qz, *qw).angle_to(found.transform.rotation.into());
    distance < 1e-6 && angle < 1e-6 && theirs["stamp"] == found.header.stamp.as_nanos()
}

/// Asks our buffer 200 times, and appends the lines that ask the original the same. Returns our answers.
fn ask(seed: u64, lines: &mut Vec<String>) -> Vec<Result<TransformStamped, TransformError>> {
    let (mut case, mut core, mut ours) = (Case::new(seed), BufferCore::default(), Vec::new());
    lines.push(json!({ "new": [] }).to_string());
    for (message, is_static) in case.transforms() {
        // A transform that is too old is refused by both.
        let _ = core.set_transform(&message, "test", is_static);
        lines.push(set(&message, is_static).to_string());
    }
    for _ in 0..200 {
        let (target, source, fixed) = (case.name(), case.name(), case.name());
        let wide = case.rng.percent(20);
        let [time, other] = [(); 2].map(|()| if case.rng.percent(30) { 0 } else { case.time(wide) });
        let [at, at_other] = [time, other].map(Time::from_nanos);
        if case.rng.percent(70) {
            lines.push(json!({ "look": [target, source, time] }).to_string());
            ours.push(core.lookup_transform(&target, &source, at));
        } else {
            lines.push(json!({ "full": [target, time, source, other, fixed] }).to_string());
            ours.push(core.lookup_transform_full((&target, at), (&source, at_other), &fixed));
        }
    }
    ours
}

/// Random transforms and look-ups, each answered by the original buffer and by ours.
#[test]
fn buffer_answers_as_the_original() {
    let graph = Ros1Graph::at("http://127.0.0.1:9");
    let (mut lines, seeds) = (Vec::new(), if is_full() { 0..200 } else { 0..20 });
    let ours: Vec<_> =
        seeds.flat_map(|seed| ask(seed, &mut lines).into_iter().map(move |ours| (seed, ours))).collect();
    let file = graph.home().join("lines");
    fs::write(&file, lines.join("\n")).unwrap();
    let answers = outcome(graph.rospy("tf_core.py", &[&file.display().to_string()])).success();
    let answers: Vec<Json> = answers.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let is_question = |line: &&String| line.starts_with("{\"look\"") || line.starts_with("{\"full\"");
    let asked: Vec<_> = lines.iter().filter(is_question).collect();
    assert_eq!((answers.len(), ours.len()), (asked.len(), asked.len()));
    for ((asked, theirs), (seed, ours)) in asked.iter().zip(&answers).zip(&ours) {
        assert!(is_same(ours, theirs), "seed {seed}: {asked}: {ours:?}, the original has {theirs}");
    }
}

/// A node in a graph of this process, and what it has received.
struct Listening {
    buffer: Buffer,
    _node: Node,
    _listener: TransformListener,
}

impl Listening {
    fn new(context: &Context) -> Self {
        let (node, buffer) = (context.create_node("listening").unwrap(), Buffer::new(context));
        let listener = TransformListener::new(&node, &buffer).unwrap();
        Self { buffer, _node: node, _listener: listener }
    }

    /// Checks what the peers broadcast: `base` moves by 10 m a second, 1000 s after the start; `camera` stands 1 m
    /// ahead of it.
    fn check(&self) {
        let at = |milliseconds: i64| Time::from_nanos(milliseconds * MS);
        let found = self.buffer.wait_for_transform("odom", "base", at(1_004_900), LONG).unwrap();
        assert!((found.transform.translation.x - 49.0).abs() < 1e-9, "{found:?}");
        let between = self.buffer.wait_for_transform("odom", "base", at(1_001_250), LONG).unwrap();
        assert!((between.transform.translation.x - 12.5).abs() < 1e-9, "{between:?}");
        let yaw = Quaternion::from(between.transform.rotation).to_rpy()[2];
        assert!((yaw - 0.125).abs() < 1e-9, "{yaw}");
        let fixed = self.buffer.wait_for_transform("base", "camera", LATEST, LONG).unwrap();
        assert_eq!(fixed.transform.translation.x, 1.0);
        let all = self.buffer.wait_for_transform("odom", "camera", at(1_000_000), LONG).unwrap();
        assert!((all.transform.translation.x - 1.0).abs() < 1e-9, "{all:?}");
    }
}

/// What the peers broadcast, by Runnel.
fn broadcast(node: &Node) -> (TransformBroadcaster, StaticTransformBroadcaster) {
    let fixed = StaticTransformBroadcaster::new(node).unwrap();
    let turned = |yaw: f64| Quaternion::from_rpy(0.0, 0.0, yaw);
    let along = |x: f64, yaw: f64| Transform::new(Vector3::new(x, 0.0, 0.0), turned(yaw));
    fixed.send_transform(&stamped("base", "camera", 0, along(1.0, 0.5))).unwrap();
    fixed.send_transform(&stamped("base", "lidar", 0, along(2.0, 0.0))).unwrap();
    let moving = TransformBroadcaster::new(node).unwrap();
    for publisher in [&**moving.publisher(), &**fixed.publisher()] {
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    }
    for step in 0..50_i32 {
        let along = along(f64::from(step), f64::from(step) / 100.0);
        moving
            .send_transform(&stamped("odom", "base", (1_000_000 + i64::from(step) * 100) * MS, along))
            .unwrap();
    }
    (moving, fixed)
}

fn ros1_context(graph: &Ros1Graph) -> Context {
    let options = ContextOptions::default().signals(false);
    Context::with_options(options.arguments([format!("__master:={}", graph.master_uri())])).unwrap()
}

fn line(peer: &mut Peer, wanted: &str) -> String {
    peer.wait_for_line(|line| line.starts_with(wanted), deadline_in(TIMEOUT)).unwrap()
}

#[test]
fn ros1_broadcasters_are_received() {
    let master = Master::start(Server::Rosmaster);
    let context = ros1_context(master.graph());
    let listening = Listening::new(&context);
    let _peer = ready(master.graph().rospy("transforms.py", &["broadcast"]));
    listening.check();
    assert_eq!(listening.buffer.frame("base").unwrap().authority, "/transforms");
}

#[test]
fn ros1_listener_receives_broadcasters() {
    let master = Master::start(Server::Rosmaster);
    let context = ros1_context(master.graph());
    let asked = ["look", "odom", "base", "1001.25", "base", "lidar", "0", "lidar", "camera", "5"];
    let mut peer = ready(master.graph().rospy("transforms.py", &asked));
    let _broadcasters = broadcast(&context.create_node("robot").unwrap());
    line(&mut peer, "12.500000 0.000000 0.000000 0.000000 0.000000 0.0624");
    line(&mut peer, "2.000000 0.000000 0.000000 0.000000 0.000000 0.000000 1.000000");
    line(&mut peer, "-1.000000 0.000000 0.000000 0.000000 0.000000 0.2474");
}

#[test]
fn commands_show_ros1_transforms() {
    let master = Master::start(Server::Rosmaster);
    let mut peer = ready(master.graph().rospy("transforms.py", &["broadcast"]));
    let mut echo = master.graph().runnel("runnel", &["tf", "echo", "odom", "camera", "5", "--ros1"]);
    line(&mut peer, "sent");
    line(&mut echo, "At time 1004.900000000");
    line(&mut echo, "- Translation: [49.");
    line(&mut echo, "- Rotation: in Quaternion (xyzw) [0.000, 0.000, 0.4");
    line(&mut echo, "- Rotation: in RPY (degree) [0.000, 0.000, 56.7");
    echo.signal(Signal::INT).unwrap();
    assert!(echo.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", echo.output());
}

#[test]
fn static_command_reaches_ros1_listener() {
    let master = Master::start(Server::Rosmaster);
    let options = ["--x", "1", "--yaw", "0.5", "--frame-id", "base", "--child-frame-id", "camera"];
    let _new = master.graph().runnel("runnel", &[&["tf", "static", "--ros1"], &options[..]].concat());
    let words = ["0", "0", "-0.5", "0", "0", "0", "1", "camera", "lens"];
    let _old = master.graph().runnel("runnel", &[&["tf", "static", "--ros1"], &words[..]].concat());
    let mut peer = ready(master.graph().rospy("transforms.py", &["look", "base", "lens", "0"]));
    line(&mut peer, "1.000000 0.000000 -0.500000 0.000000 0.000000 0.247404 0.968912");
    let view = |name: &str| {
        let words = ["tf", "view_frames", "--ros1", "--time", "5", "-o", name];
        outcome(master.graph().runnel("runnel", &words)).success().join("\n")
    };
    let has_all = |text: &str| {
        text.contains("base\n└── camera    static, /runnel_tf_static")
            && text.contains("    └── lens    static, /runnel_tf_static")
    };
    // On a busy machine it may not receive all in this time.
    let mut names = ["robot", "again", "once_more"].into_iter();
    let name = names.find(|name| has_all(&view(name))).expect("both transforms");
    let file = |end: &str| fs::read_to_string(master.graph().home().join(name).with_extension(end)).unwrap();
    assert!(file("gv").contains("\"camera\" -> \"lens\""), "{}", file("gv"));
    assert!(file("svg").contains(">lens</text>"));
}

/// Runnel receives the transforms that rclpy broadcasts.
pub fn check_broadcasters_of_rclpy(distro: Distro) {
    let graph = Ros2Graph::new();
    let context = graph.context();
    let listening = Listening::new(&context);
    let _peer = ready(graph.rclpy(distro, "transforms.py", "transforms", &["broadcast"]));
    listening.check();
    assert_eq!(listening.buffer.frame("base").unwrap().authority, "/transforms");
}

#[test]
fn rclpy_broadcasters_are_received() {
    check_broadcasters_of_rclpy(Distro::Kilted);
}

/// rclpy receives the transforms that Runnel broadcasts.
pub fn check_own_broadcasters(distro: Distro) {
    let graph = Ros2Graph::new();
    let context = graph.context();
    let mut peer = ready(graph.rclpy(distro, "transforms.py", "transforms", &["listen"]));
    let _broadcasters = broadcast(&context.create_node("robot").unwrap());
    let mut has = |words: &[&str]| {
        let has_all = |line: &str| words.iter().all(|word| line.contains(word));
        peer.wait_for_line(has_all, deadline_in(TIMEOUT)).unwrap();
    };
    has(&["\"frame_id\":\"base\"", "\"child_frame_id\":\"camera\"", "\"translation\":{\"x\":1.0"]);
    has(&["\"child_frame_id\":\"lidar\"", "\"translation\":{\"x\":2.0"]);
    has(&[
        "\"sec\":1004,\"nanosec\":900000000",
        "\"child_frame_id\":\"base\"",
        "\"translation\":{\"x\":49.0",
    ]);
}

#[test]
fn rclpy_receives_broadcasters() {
    check_own_broadcasters(Distro::Kilted);
}

#[test]
fn commands_show_rclpy_transforms() {
    let graph = Ros2Graph::new();
    // Moving transforms are sent once, so that both commands must be matched before.
    let words = ["broadcast", "--wait", "2"];
    let mut peer = ready(graph.rclpy(Distro::Kilted, "transforms.py", "transforms", &words));
    let command = |words: &[&str]| {
        let mut command = graph.command(interop::built("runnel"));
        command.args([&["tf"], words, &["--ros2"]].concat());
        Peer::spawn("runnel", command).unwrap()
    };
    let mut echo = command(&["echo", "odom", "camera", "-n", "1", "--json"]);
    let mut monitor = command(&["monitor", "odom", "camera", "--json"]);
    line(&mut peer, "sent");
    let found: Json = serde_json::from_str(&line(&mut echo, "{")).unwrap();
    assert_eq!((&found["source"], &found["target"]), (&json!("odom"), &json!("camera")), "{found}");
    let all = |line: &str| {
        let report: Json = serde_json::from_str(line).unwrap_or_default();
        let of = |frame: &str| {
            let mut frames = report["frames"].as_array().into_iter().flatten();
            frames.any(|row| row["frame"] == frame && row["broadcaster"] == "/transforms")
        };
        report["path"] == json!(["camera", "base", "odom"]) && of("base") && of("camera")
    };
    monitor.wait_for_line(all, deadline_in(TIMEOUT)).unwrap();
}
