//! Tests of futures that wait for services and publishers.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context as Task, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, block_on};
use crate::ros2_pair::{EndOnDrop, context as ros2_context, new_domain};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Client, Context, Error, Node, ServiceServer};

/// Completes a future on a thread of its own. Returns once it was polled.
fn spawn<T: Send + 'static>(
    future: impl Future<Output = T> + Send + Unpin + 'static,
) -> thread::JoinHandle<T> {
    let (begun, polled) = channel();
    let waiter = thread::spawn(move || {
        let mut future = future;
        block_on(std::future::poll_fn(|task| {
            let result = Pin::new(&mut future).poll(task);
            let _ = begun.send(());
            result
        }))
    });
    polled.recv_timeout(LONG).unwrap();
    waiter
}

fn client(context: &Context) -> Client<SetBool> {
    context.create_node("client").unwrap().create_client("power").unwrap()
}

fn serve(node: &Node) -> ServiceServer {
    let on = |_: &SetBoolRequest| Ok::<_, Error>(SetBoolResponse { success: true, message: "on".into() });
    node.create_service::<SetBool, _>("power", on).unwrap()
}

/// The service is in another process, or in the client's own.
#[test]
fn service_can_be_awaited() {
    for is_local in [false, true] {
        let graph = Graph::new();
        let near = graph.context();
        let far = if is_local { near.clone() } else { graph.context() };
        let client = client(&far);
        let waiter = spawn(client.wait_for_service_async());
        let server = near.create_node("server").unwrap();
        let _service = serve(&server);
        thread::scope(|scope| {
            let _end = EndOnDrop(&near);
            scope.spawn(|| near.spin().unwrap());
            waiter.join().unwrap().unwrap();
            let response = block_on(client.call_async(&SetBoolRequest { data: true })).unwrap();
            assert_eq!(response.message, "on");
            // It is provided already.
            block_on(client.wait_for_service_async()).unwrap();
        });
    }
}

#[test]
fn wait_for_service_ends_with_the_context() {
    let graph = Graph::new();
    let context = graph.context();
    let client = client(&context);
    let waiter = spawn(client.wait_for_service_async());
    context.shutdown();
    assert!(matches!(waiter.join().unwrap(), Err(Error::ShuttingDown)));
    let late = block_on(client.wait_for_service_async());
    assert!(matches!(late, Err(Error::ShuttingDown)), "{late:?}");
}

/// A loop that repeats a wait until it succeeds ends, too.
#[test]
fn blocking_waits_fail_once_the_context_has_ended() {
    let context = ros2_context(new_domain(), true);
    let node = context.create_node("waiter").unwrap();
    let publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let subscription = node.create_subscription("others", 10, |_: &Text| ()).unwrap();
    assert!(!publisher.wait_for_subscribers(1, Duration::ZERO).unwrap());
    assert!(!subscription.wait_for_publishers(1, Duration::ZERO).unwrap());
    assert!(!context.wait_for_ros2_graph(Duration::ZERO, |_| false).unwrap());
    context.shutdown();
    let waits = [
        publisher.wait_for_subscribers(1, LONG),
        subscription.wait_for_publishers(1, LONG),
        context.wait_for_ros2_graph(LONG, |_| false),
    ];
    assert!(waits.iter().all(|waited| matches!(waited, Err(Error::ShuttingDown))), "{waits:?}");
}

/// A dropped wait no longer owns the client's node, whose name is free again then.
#[test]
fn dropped_wait_for_service_ends() {
    let graph = Graph::new();
    let context = graph.context();
    let client = client(&context);
    let mut waiting = client.wait_for_service_async();
    assert!(Pin::new(&mut waiting).poll(&mut Task::from_waker(Waker::noop())).is_pending());
    drop(client);
    assert!(matches!(context.create_node("client"), Err(Error::NodeExists { .. })));
    drop(waiting);
    drop(context.create_node("client").unwrap());
}

#[test]
fn publishers_can_be_awaited_in_each_graph() {
    let (graph, domain) = (Graph::new(), new_domain());
    for ros2 in [false, true] {
        let new = || if ros2 { ros2_context(domain, false) } else { graph.context() };
        let (near, far) = (new(), new());
        let node = near.create_node("listener").unwrap();
        let listener = Arc::new(node.create_subscription("chatter", 10, |_: &Text| ()).unwrap());
        assert!(!listener.wait_for_publishers(1, Duration::ZERO).unwrap());
        let mut talkers = Vec::new();
        for (count, context) in [(1, &near), (2, &far)] {
            let waiter = spawn(listener.wait_for_publishers_async(count));
            let (blocked, begun) = (Arc::clone(&listener), channel());
            let blocking = thread::spawn(move || {
                begun.0.send(()).unwrap();
                blocked.wait_for_publishers(count, LONG).unwrap()
            });
            begun.1.recv_timeout(LONG).unwrap();
            let node = context.create_node(&format!("talker_{count}")).unwrap();
            talkers.push(node.create_publisher::<Text>("chatter", 10).unwrap());
            waiter.join().unwrap().unwrap();
            assert!(blocking.join().unwrap());
            assert_eq!(listener.publisher_count(), count);
        }
        near.shutdown();
        assert!(matches!(
            spawn(listener.wait_for_publishers_async(9)).join().unwrap(),
            Err(Error::ShuttingDown)
        ));
    }
}
