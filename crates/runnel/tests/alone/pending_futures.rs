//! Test that pending futures use no CPU time.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, block_on};
use crate::process::alone;
use crate::ros2_pair::EndOnDrop;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Context, Responder};

/// Period without any wake of a thread.
const QUIET: Duration = Duration::from_secs(1);

/// Context switches of this process's threads, without the calling thread. A thread that stays asleep makes no system
/// call.
fn switches_of_other_threads() -> u64 {
    let own = fs::read_link("/proc/thread-self").unwrap();
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let others = tasks.filter(|task| task.file_name() != own.file_name());
    let switches = |task: &Path| {
        let status = fs::read_to_string(task.join("status")).unwrap_or_default();
        let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        counts.map(|(_, count)| count.trim().parse::<u64>().unwrap()).sum::<u64>()
    };
    others.map(|task| switches(&task)).sum()
}

/// Waits for a period without wakes. A thread that starts, or checks a last time whether it is needed, may wake at
/// first.
fn assert_quiet() {
    let mut all = Vec::new();
    while all.last() != Some(&0) {
        assert!(all.len() < 15, "wakes per period: {all:?}");
        let before = switches_of_other_threads();
        thread::sleep(QUIET);
        all.push(switches_of_other_threads().saturating_sub(before));
    }
}

/// Awaits a response, a message, publishers and subscribers while the service holds the request.
fn wait_quietly(near: &Context, far: &Context) {
    let (held, responders) = channel::<Responder<SetBool>>();
    let server = near.create_node("server").unwrap();
    let _service = server.create_deferred_service::<SetBool>("power", move |_, responder| {
        held.send(responder).unwrap();
    });
    let talker = server.create_publisher::<Text>("chatter", 10).unwrap();
    let node = far.create_node("client").unwrap();
    let client = node.create_client::<SetBool>("power").unwrap();
    let mut stream = node.create_stream::<Text>("chatter", 10).unwrap();
    let listener = node.create_subscription("chatter", 10, |_: &Text| {}).unwrap();
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    thread::scope(|scope| {
        let _ends = [near, far].map(EndOnDrop);
        scope.spawn(|| near.spin().unwrap());
        let call = scope.spawn(|| block_on(client.call_async(&SetBoolRequest { data: true })));
        let message = scope.spawn(|| block_on(stream.next()).map(|message| message.data.clone()));
        let publishers = scope.spawn(|| block_on(listener.wait_for_publishers_async(2)));
        let subscribers = scope.spawn(|| block_on(talker.wait_for_subscribers_async(2)));
        let responder = responders.recv_timeout(LONG).unwrap();
        assert_quiet();
        responder.respond(&SetBoolResponse { success: true, message: "on".into() });
        talker.publish(Text { data: "hello".into() }).unwrap();
        assert_eq!(call.join().unwrap().unwrap().message, "on");
        assert_eq!(message.join().unwrap().as_deref(), Some("hello"));
        let _second = server.create_subscription("chatter", 10, |_: &Text| {}).unwrap();
        subscribers.join().unwrap().unwrap();
        let _third = near.create_node("talker").unwrap().create_publisher::<Text>("chatter", 10).unwrap();
        publishers.join().unwrap().unwrap();
    });
}

#[test]
fn pending_futures_make_no_system_calls() {
    let _alone = alone();
    let graph = Graph::new();
    wait_quietly(&graph.context(), &graph.context());
}
