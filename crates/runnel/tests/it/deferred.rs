//! Tests of services with deferred responses.

use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::common::{Graph, LONG};
use crate::ros2_pair::EndOnDrop;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Client, Context, Error, Responder, ServiceError, ServiceServer};

type Request = (SetBoolRequest, Responder<SetBool>);

/// A service that passes its requests to the test.
fn serve(context: &Context) -> (ServiceServer, Receiver<Request>) {
    let (sender, received) = channel();
    let node = context.create_node("server").unwrap();
    let service = node.create_deferred_service::<SetBool>("power", move |request, responder| {
        sender.send((request, responder)).unwrap();
    });
    (service.unwrap(), received)
}

fn client(context: &Context) -> Client<SetBool> {
    context.create_node("client").unwrap().create_persistent_client("power").unwrap()
}

fn response(message: &str) -> SetBoolResponse {
    SetBoolResponse { success: true, message: message.into() }
}

/// Also for a client of the same process, which cannot answer itself on its own thread.
#[test]
fn another_thread_responds_in_any_order() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (_service, requests) = serve(&near);
    let clients = [client(&far), near.create_node("own").unwrap().create_client("power").unwrap()];
    thread::scope(|scope| {
        let _end = EndOnDrop(&near);
        scope.spawn(|| near.spin().unwrap());
        let calls =
            clients.each_ref().map(|client| scope.spawn(|| client.call(&SetBoolRequest { data: true })));
        let both = [(); 2].map(|()| requests.recv_timeout(LONG).unwrap());
        let ids = both.each_ref().map(|(_, responder)| responder.request_id());
        assert_ne!(ids[0].client(), ids[1].client());
        assert_eq!(ids.map(|id| id.sequence_number()), [1, 1]);
        for (_, responder) in both.into_iter().rev() {
            responder.respond(&response("on"));
        }
        calls.into_iter().for_each(|call| assert_eq!(call.join().unwrap().unwrap().message, "on"));
        let call = scope.spawn(|| clients[0].call(&SetBoolRequest { data: true }));
        let (_, responder) = requests.recv_timeout(LONG).unwrap();
        assert!(ids.iter().any(|id| id.client() == responder.request_id().client()), "it stays connected");
        assert_eq!(responder.request_id().sequence_number(), 2);
        responder.respond(&response("still on"));
        assert_eq!(call.join().unwrap().unwrap().message, "still on");
    });
}

#[test]
fn failed_or_dropped_responder_is_client_error() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (_service, requests) = serve(&near);
    let client = client(&far);
    thread::scope(|scope| {
        let _end = EndOnDrop(&near);
        scope.spawn(|| near.spin().unwrap());
        let ask = |answer: fn(Responder<SetBool>)| {
            let call = scope.spawn(|| client.call(&SetBoolRequest { data: true }));
            answer(requests.recv_timeout(LONG).unwrap().1);
            match call.join().unwrap() {
                Err(Error::Service { why: ServiceError::Failed(why), .. }) => why,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(ask(|responder| responder.fail("it must stay on")), "it must stay on");
        assert_eq!(ask(drop), "the service has not responded");
    });
}
