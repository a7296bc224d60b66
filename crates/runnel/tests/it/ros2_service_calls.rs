//! Pending calls in ROS 2 whose client or server changes meanwhile.

use std::sync::mpsc::channel;
use std::thread;

use crate::common::LONG;
use crate::ros2_pair::{EndOnDrop, context, new_domain};
use runnel::Context;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};

const REQUEST: SetBoolRequest = SetBoolRequest { data: true };

/// Runs `body` while contexts spin.
fn while_spinning(contexts: &[&Context], body: impl FnOnce()) {
    thread::scope(|scope| {
        let _ends: Vec<_> = contexts.iter().copied().map(EndOnDrop).collect();
        for context in contexts {
            scope.spawn(|| context.spin().unwrap());
        }
        body();
    });
}

fn answer(request: &SetBoolRequest) -> Result<SetBoolResponse, String> {
    Ok(SetBoolResponse { success: request.data, message: "on".into() })
}

/// As in ROS 1.
#[test]
fn callback_of_dropped_client_gets_response() {
    let domain = new_domain();
    let (near, far) = (context(domain, false), context(domain, false));
    while_spinning(&[&near, &far], || {
        let node = far.create_node("client").unwrap();
        let client = node.create_client::<SetBool>("power").unwrap();
        let (answered, response) = channel();
        client.call_with(&REQUEST, None, move |response| answered.send(response).unwrap()).unwrap();
        drop(client);
        let server = near.create_node("server").unwrap();
        let _server = server.create_service::<SetBool, _>("power", answer).unwrap();
        assert!(response.recv_timeout(LONG).unwrap().unwrap().success);
        let is_gone = |graph: &runnel::Ros2Graph| graph.count_clients("/power") == 0;
        assert!(near.wait_for_ros2_graph(LONG, is_gone).unwrap(), "the client stays without calls");
    });
}

#[test]
fn call_of_dropped_client_and_node_is_abandoned() {
    let context = context(new_domain(), false);
    while_spinning(&[&context], || {
        let node = context.create_node("client").unwrap();
        let client = node.create_client::<SetBool>("power").unwrap();
        let (answered, response) = channel();
        client.call_with(&REQUEST, None, move |response| answered.send(response.is_ok()).unwrap()).unwrap();
        drop((client, node));
        assert!(response.recv_timeout(LONG).is_err(), "nothing answers");
    });
}

#[test]
fn call_before_service_of_own_process_starts_is_answered() {
    let context = context(new_domain(), false);
    while_spinning(&[&context], || {
        let node = context.create_node("robot").unwrap();
        let client = node.create_client::<SetBool>("power").unwrap();
        let (answered, response) = channel();
        client.call_with(&REQUEST, None, move |response| answered.send(response).unwrap()).unwrap();
        let _server = node.create_service::<SetBool, _>("power", answer).unwrap();
        assert!(response.recv_timeout(LONG).unwrap().unwrap().success);
    });
}
