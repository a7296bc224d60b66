//! Test of a suspended process, for example in a debugger: it does not mistake its pause for silence of a peer.

use std::io::Write;
use std::time::Duration;

use crate::child_process::{print_line, run_role_if_child, start};
use crate::common::LONG;
use crate::fake_publisher::FakePublisher;
use crate::ipc_scene::Scene;
use crate::process::alone;
use crate::raw::framed_text;
use runnel::core::Message;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use runnel::{Context, ContextOptions};
use runnel_testkit::process::{Signal, deadline_in};

const ENTRY: &str = "receive_stall::resumed_subscriber_reads_before_timeouts";

const TIMEOUT: Duration = Duration::from_secs(2);

/// Subscribes by the network and by shared memory.
fn subscribe() {
    let options = ContextOptions::default().arguments([""; 0]).receive_timeout(TIMEOUT);
    let context = Context::with_options(options).unwrap();
    let node = context.create_node("stopped").unwrap();
    let data = node.create_subscription("data", 100, |_: &UInt8MultiArray| ()).unwrap();
    while data.shared_memory_count() == 0 {
        context.spin_once(Duration::from_millis(10)).unwrap();
    }
    let print = |message: &Text| print_line(&format!("received {}", message.data));
    let _texts = node.create_subscription("texts", 10, print).unwrap();
    let mut is_begun = false;
    loop {
        context.spin_once(Duration::from_millis(10)).unwrap();
        if !is_begun && context.receive_budget().in_use > 0 {
            is_begun = true;
            print_line("begun");
        }
    }
}

#[test]
fn resumed_subscriber_reads_before_timeouts() {
    run_role_if_child(|_, _| subscribe());
    let _alone = alone();
    let scene = Scene::new();
    let fake = FakePublisher::new(&scene.graph, "/paused", "/texts");
    let mut subscriber = start(&scene, ENTRY, "subscribes", "");
    let text = framed_text("whole");
    let mut paused = fake.accept_and_send("/paused", Text::MD5, &text[..6]);
    subscriber.wait_for_line(|line| line == "begun", deadline_in(LONG.as_secs())).unwrap();
    subscriber.stop(deadline_in(LONG.as_secs())).unwrap();
    paused.write_all(&text[6..]).unwrap();
    scene.talk(10, 100);
    std::thread::sleep(TIMEOUT + Duration::from_millis(500));
    subscriber.signal(Signal::CONT).unwrap();
    subscriber.wait_for_line(|line| line == "received whole", deadline_in(LONG.as_secs())).unwrap();
}
