use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runnel_io::{Interest, Listener, Reactor, Stream, Token};

use super::client_link::MOST_BYTES;
use super::*;
use crate::data::PendingCall;
use crate::data::unsent::Unsent;
use crate::ready::{NodeQueue, ReadyQueue};

/// A client that reads nothing, and its listener: the kernel completes connections before they are accepted.
fn client(persistent: bool) -> (ClientLink, Listener) {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let stream = Arc::new(Stream::connect(listener.address()).unwrap());
    let reactor = Arc::new(Reactor::new().unwrap());
    // It identifies the connection.
    static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
    let token = Token(CONNECTIONS.fetch_add(1, Ordering::Relaxed));
    reactor.add(&*stream, token, Interest::Read).unwrap();
    let (unsent, linger) = (Unsent::default(), Duration::from_secs(30));
    (ClientLink::new(reactor, token, stream, persistent, unsent, linger), listener)
}

#[test]
fn second_request_of_nonpersistent_client_is_ignored() {
    let (client, _listener) = client(false);
    assert_eq!(client.admit(10), Admission::Accepted { number: 0 });
    assert_eq!(client.admit(10), Admission::Ignored);
    client.answer(0, (10, Ok(vec![1])));
    assert_eq!(client.admit(10), Admission::Ignored);
}

#[test]
fn client_that_reads_no_responses_is_refused() {
    let (client, _listener) = client(true);
    let answer = vec![0; 1 << 20];
    let responses = (0..1000).take_while(|_| {
        let Admission::Accepted { number } = client.admit(10) else { return false };
        client.answer(number, (10, Ok(answer.clone())));
        true
    });
    let megabytes = responses.count();
    assert!((MOST_BYTES >> 20..300).contains(&megabytes), "{megabytes} MB of answers were kept");
}

#[test]
fn responses_are_sent_in_order_of_requests() {
    let (client, listener) = client(true);
    let numbers = [(); 3].map(|()| match client.admit(10) {
        Admission::Accepted { number } => number,
        refused => panic!("{refused:?}"),
    });
    let answer = |index: usize| client.answer(numbers[index], (10, Ok(vec![index as u8])));
    let (stream, _) = listener.accept().unwrap().unwrap();
    let sent = || {
        let mut bytes = [0; 64];
        let count = stream.recv(&mut bytes).unwrap().unwrap_or(0);
        // A response is a success byte, a length of four bytes, and one byte of data.
        bytes[..count].chunks(6).map(|response| response[5]).collect::<Vec<_>>()
    };
    answer(1);
    assert!(sent().is_empty());
    answer(0);
    assert_eq!(sent(), [0, 1]);
    answer(2);
    assert_eq!(sent(), [2]);
}

/// A service whose requests are taken.
fn service(ready: &Arc<ReadyQueue>) -> Arc<ServiceCore> {
    let types = ServiceTypes::of::<runnel_msgs::std_srvs::srv::SetBool>();
    let callback = ServiceCallback::Answers(Box::new(|_| panic!("the request was taken")));
    let dispatch = Dispatch::Executor(NodeQueue::new(Arc::clone(ready)));
    ServiceCore::new("/test".into(), types, (dispatch, &Arc::new(ExclusiveGroup::new())), callback)
}

fn ready_queue() -> Arc<ReadyQueue> {
    Arc::new(ReadyQueue::new(Reactor::new().unwrap().waker().clone()))
}

#[test]
fn service_is_due_after_earlier_requests_were_taken() {
    let (client, _listener) = client(true);
    let (client, ready) = (Arc::new(client), ready_queue());
    let service = service(&ready);
    for byte in [1, 2] {
        assert!(service.push(vec![byte], &client));
        assert_eq!((ready.len(), service.is_ready()), (1, true));
        assert_eq!(service.take().map(|request| request.bytes), Some(vec![byte]));
        assert_eq!((ready.len(), service.is_ready()), (0, false));
    }
}

/// The peer sees the end of the connection although the user still holds a responder.
#[test]
fn ended_connection_leaves_neither_socket_nor_waiting_requests() {
    let (client, listener) = client(true);
    let (client, ready) = (Arc::new(client), ready_queue());
    let (peer, _) = listener.accept().unwrap().unwrap();
    let service = service(&ready);
    assert!(service.push(vec![1], &client) && service.push(vec![2], &client));
    let held = service.take().unwrap();
    assert_eq!((ready.len(), service.is_ready()), (1, true));
    service.forget_client(&client);
    assert_eq!((ready.len(), service.is_ready()), (0, false));
    drop(client);
    assert_eq!(peer.recv(&mut [0; 1]).unwrap(), Some(0), "the socket is closed");
    held.responder.respond(Ok(vec![3]));
    assert!(service.take().is_none());
}

#[test]
fn client_with_most_requests_gives_way_at_the_limit() {
    let service = service(&ready_queue());
    let full: Vec<_> = (0..MOST_UNANSWERED / 100).map(|_| client(true)).collect();
    for (client, _listener) in full {
        let client = Arc::new(client);
        (0..100).for_each(|_| assert!(service.push(vec![1], &client)));
    }
    let (client, listener) = client(true);
    let (client, (peer, _)) = (Arc::new(client), listener.accept().unwrap().unwrap());
    let answer = || {
        let mut bytes = [0; 200];
        let count = peer.recv(&mut bytes).unwrap().unwrap_or(0);
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    // They displace those of the clients that have more.
    (0..90).for_each(|_| assert!(service.push(vec![1], &client)));
    assert_eq!(answer(), "");
    assert_eq!(std::iter::from_fn(|| service.take()).count(), MOST_UNANSWERED);
}

/// The user holds the responders of 900 requests of this process, while 100 of another client wait.
#[test]
fn client_with_most_taken_requests_displaces_none() {
    let service = service(&ready_queue());
    let call = |number| {
        let pending = PendingCall::new();
        let local =
            LocalCall { pending: Arc::clone(&pending), key: ([0; 16], number), events: Arc::default() };
        service.push_local(vec![1], local);
        pending
    };
    let calls: Vec<_> = (0..900).map(call).collect();
    let taken: Vec<_> = std::iter::from_fn(|| service.take()).collect();
    let (waiting, _listener) = client(true);
    let waiting = Arc::new(waiting);
    (0..100).for_each(|_| assert!(service.push(vec![1], &waiting)));
    assert!(matches!(call(900).take(), Some(Ok(Err(why))) if why.contains("have no response yet")));
    assert!(calls.iter().all(|pending| pending.take().is_none()));
    let (other, _listener) = client(true);
    assert!(service.push(vec![2], &Arc::new(other)));
    let left: Vec<_> = std::iter::from_fn(|| service.take()).map(|request| request.bytes[0]).collect();
    assert_eq!((left.len(), left.last()), (100, Some(&2)), "it displaces a waiting request");
    drop(taken);
    assert!(call(901).take().is_none(), "answered requests count no longer");
}

#[test]
fn early_responses_count_as_unsent_ones() {
    let (client, listener) = client(true);
    let (_peer, _) = listener.accept().unwrap().unwrap();
    let half = vec![0; MOST_BYTES / 2 + 1];
    for number in 0..3 {
        assert_eq!(client.admit(10), Admission::Accepted { number });
    }
    client.answer(1, (10, Ok(half.clone())));
    assert!(client.reads_requests());
    client.answer(2, (10, Ok(half)));
    assert!(!client.reads_requests());
    assert_eq!(client.admit(10), Admission::Refused);
}
