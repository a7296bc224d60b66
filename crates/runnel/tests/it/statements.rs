//! Tests of the statements on ROS 1 connections whose two ends support them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::{Graph, spin_until, wait_until};
use crate::fake_process::{
    ASK, BEGIN, BYTES, END, FakeConnection, POSITION, SAMPLE, SAMPLE_BEGIN, SKIPS, low_process_id, sample,
    stated, token_bytes,
};
use crate::fake_publisher::FakePublisher;
use crate::ipc_scene::{Reader, number_in, numbered, subscribe_to, subscribe_with_fields};
use crate::logged::{keep_log, wait_logged};
use crate::raw::{Ports, framed_text};
use crate::writer_scene::{Scene, Writer};
use runnel::core::Message;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use runnel::{Context, Graphs, Publisher};
use runnel_rtps::wire::EntityId;
use rustix::net::sockopt::set_socket_recv_buffer_size;

/// Length of messages of which a few hundred fill a connection.
const LONG: usize = 50_000;

/// A talker that queues two messages for a slow subscriber.
fn talker(graph: &Graph) -> (Context, Publisher<UInt8MultiArray>, Ports) {
    talker_with_depth(graph, 2)
}

/// A talker with this depth.
fn talker_with_depth(graph: &Graph, depth: usize) -> (Context, Publisher<UInt8MultiArray>, Ports) {
    let context = graph.context();
    let talker = context.create_node("talker").unwrap().create_publisher("data", depth).unwrap();
    let ports = Ports::of(&graph.context(), "/talker", "/data");
    (context, talker, ports)
}

/// The next frame of a connection: a message, or kind and number of a statement.
fn next_frame(stream: &mut TcpStream) -> Result<Vec<u8>, (u64, u64)> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).unwrap();
    let length = u32::from_le_bytes(head);
    let mut bytes = vec![0; if length == u32::MAX { 24 } else { length as usize }];
    stream.read_exact(&mut bytes).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    if length == u32::MAX { Err((number(0), number(16))) } else { Ok(bytes) }
}

/// Publishes until this many messages were dropped, more than the depth. Returns the number of published messages.
fn publish_too_much(talker: &Publisher<UInt8MultiArray>, first: u32, dropped: u64) -> u32 {
    let mut next = first;
    while talker.dropped() < dropped {
        talker.publish(numbered(next, LONG)).unwrap();
        next += 1;
    }
    next
}

#[test]
fn skip_statements_mark_dropped_messages() {
    let graph = Graph::new();
    let (_context, talker, ports) = talker(&graph);
    let (mut stream, _, _) = subscribe_to(ports.tcpros, "/data", low_process_id());
    wait_until("it is joined", || talker.subscription_count() == 1);
    let (mut published, mut counted, mut stated) = (0, 1, 0);
    // It falls behind again and again. Each time the numbers continue from the statement.
    for round in 1..=3 {
        published = publish_too_much(&talker, published, 20 * round);
        loop {
            match next_frame(&mut stream) {
                Ok(message) => {
                    assert_eq!(u64::from(number_in(&message[12..])) + 1, counted, "round {round}");
                    counted += 1;
                }
                Err((kind, number)) => {
                    assert!(kind == SKIPS && number > counted, "statement {kind} of {number} at {counted}");
                    (counted, stated) = (number, stated + number - counted);
                }
            }
            if counted > u64::from(published) {
                break;
            }
        }
        assert_eq!(stated, talker.dropped(), "round {round}");
    }
}

#[test]
fn subscriber_without_statements_stays_on_the_network() {
    for text in [&[][..], &[("runnel_delivery", "2")]] {
        let graph = Graph::new();
        let (_context, talker, ports) = talker(&graph);
        let me = low_process_id();
        let (mut stream, process, token) = subscribe_with_fields(ports.tcpros, "/data", me, text);
        wait_until("it is joined", || talker.subscription_count() == 1);
        let mut session = FakeConnection::handshake(me, process);
        session.push(ASK, 0, &token_bytes(token));
        wait_until("it is read", || session.peer_word(POSITION) == session.written);
        let published = publish_too_much(&talker, 0, 20);
        let mut last = None;
        while last != Some(published - 1) {
            let message = next_frame(&mut stream).expect("a message, and no statement");
            last = Some(number_in(&message[12..]));
        }
        assert_eq!((talker.shared_memory_count(), session.next().is_none()), (0, true), "{text:?}");
    }
}

#[test]
fn stated_skips_count_as_lost() {
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let skip = |to: u64| stated(writer.token, SKIPS, to);
    // A repeated skip counts nothing.
    let bytes = [framed_text("first"), skip(5), skip(3), framed_text("fifth"), skip(7)].concat();
    writer.stream.write_all(&bytes).unwrap();
    scene.receives("fifth");
    spin_until(&scene.far, "those after it are lost", || scene.subscription.lost() == 4);
    // Shared memory likewise.
    writer.open(6);
    writer.send_sample(&framed_text("seventh")[4..]);
    writer.next += 10;
    writer.send_sample(&framed_text("eighteenth")[4..]);
    scene.receives("eighteenth");
    assert_eq!(scene.subscription.lost(), 14);
    assert_eq!(*scene.received.lock().unwrap(), ["first", "fifth", "seventh", "eighteenth"]);
    scene.assert_undisturbed();
}

#[test]
fn message_resent_after_memory_arrives_once() {
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    writer.open(0);
    (1..=3).for_each(|number| writer.send_sample(&framed_text(&format!("message {number}"))[4..]));
    scene.receives("message 3");
    // It was suspended, and the publisher does not know what it has read.
    let begin = stated(writer.token, BEGIN | 3 << 32, 2);
    let again = (2..=4).map(|number| framed_text(&format!("message {number}")));
    writer.stream.write_all(&[vec![begin], again.collect()].concat().concat()).unwrap();
    scene.receives("message 4");
    assert_eq!(
        *scene.received.lock().unwrap(),
        (1..=4).map(|number| format!("message {number}")).collect::<Vec<_>>()
    );
    assert_eq!(scene.subscription.lost(), 0);
    // Samples of shared memory wait for messages that the connection has yet to deliver.
    writer.session.push(SAMPLE, 1, &sample(4, &framed_text("by memory as well")[4..]));
    writer.stream.write_all(&framed_text("message 5")).unwrap();
    scene.receives("message 5");
    assert!(!scene.received.lock().unwrap().iter().any(|received| received == "by memory as well"));
    scene.assert_undisturbed();
}

#[test]
fn publisher_without_statements_gets_no_memory_request() {
    let scene = Scene::new();
    let silent = FakePublisher::new(&scene.graph, "/silent", "/talk");
    let me = low_process_id();
    let (mut stream, asked) = silent.accept_header();
    assert_eq!(asked.get("runnel_delivery"), Some("1"));
    let process = crate::fake_process::hex(me);
    let fields = [("callerid", "/silent"), ("md5sum", Text::MD5), ("type", "std_msgs/String")];
    let fields = fields.into_iter().chain([("runnel_process", &*process)]);
    let header = runnel_ros1::header::ConnectionHeader::new(fields).emit();
    stream.write_all(&[header, framed_text("by the network")].concat()).unwrap();
    let listener = crate::fake_process::unhex(asked.get("runnel_process").unwrap());
    let mut session = FakeConnection::handshake(me, listener);
    session.push(ASK, 0, &token_bytes(7));
    wait_until("the IPC connection is read", || session.peer_word(POSITION) == session.written);
    scene.receives("by the network");
    assert!(session.next().is_none());
    scene.assert_undisturbed();
}

#[test]
fn handover_with_full_buffers_loses_nothing() {
    let graph = Graph::new();
    let (_context, talker, ports) = talker_with_depth(&graph, 64);
    let me = low_process_id();
    let linked = subscribe_to(ports.tcpros, "/data", me);
    wait_until("it is joined", || talker.subscription_count() == 1);
    // A full connection accepts more once the kernel has delivered data in transit and grown its buffers: less than the
    // queue, since this end's buffer does not grow.
    set_socket_recv_buffer_size(&linked.0, LONG).unwrap();
    let published = publish_too_much(&talker, 0, 20);
    // The queue goes by shared memory, and the message that the connection had begun is completed there.
    let token = linked.2;
    let mut session = FakeConnection::handshake(me, linked.1);
    session.push(ASK, 0, &token_bytes(token));
    let open = session.wait_for(crate::fake_process::OPEN_SAMPLES);
    let mut reader = Reader { stream: linked.0, session, token };
    let (from, mut counted) = (open.word(5), 1);
    while counted < from {
        match next_frame(&mut reader.stream) {
            Ok(message) => {
                assert_eq!(u64::from(number_in(&message[12..])) + 1, counted);
                counted += 1;
            }
            Err((kind, number)) => {
                assert!(kind == SKIPS && number > counted);
                counted = number;
            }
        }
    }
    assert_eq!(counted, from);
    assert!(from <= u64::from(published), "the connection took all that waited");
    // Messages published from now on go behind these.
    talker.publish(numbered(published, LONG)).unwrap();
    let last = u64::from(published) + 1;
    assert_eq!(received_by_memory(&mut reader.session, last), (from..=last).collect::<Vec<_>>());
    // The connection has none of these: its next frame is a Begin.
    reader.session.packets.shutdown().unwrap();
    reader.session.set(END, 1);
    let (statement, _) = next_frame(&mut reader.stream).expect_err("a Begin");
    assert_eq!(statement & 0xffff_ffff, BEGIN);
}

/// Numbers of the samples in shared memory, up to this one. Asserts that each is complete.
fn received_by_memory(session: &mut FakeConnection, last: u64) -> Vec<u64> {
    let (mut numbers, mut piece) = (Vec::new(), Vec::new());
    wait_until("the last of them", || {
        let Some(record) = session.next() else {
            // The ring may have been full, and has space now.
            session.ring();
            return false;
        };
        match record.kind {
            SAMPLE_BEGIN => {
                numbers.push(record.word(0));
                piece = record.payload[16..].to_vec();
            }
            BYTES => piece.extend_from_slice(&record.payload),
            _ => return false,
        }
        let is_whole = piece.len() == 12 + LONG;
        if is_whole {
            assert_eq!(Some(u64::from(number_in(&piece[12..])) + 1), numbers.last().copied());
        }
        is_whole && numbers.last() == Some(&last)
    });
    numbers
}

/// Id of a pair of a writer and a reader, in a statement of this kind and epoch.
fn pair_statement(kind: u64, epoch: u64, [writer, reader]: [u32; 2], number: u64) -> Vec<u8> {
    let kind = kind | 1 << 16 | epoch << 32;
    let stream = u64::from(writer) << 32 | u64::from(reader);
    let words = [kind, stream, number].map(u64::to_le_bytes).concat();
    [u32::MAX.to_le_bytes().to_vec(), words].concat()
}

const REACHED: u64 = 3;
const LEAVE: u64 = 5;
const ASK_FOR_RTPS: u64 = 6;
const RETURN: u64 = 7;

/// A fake subscriber of a dual node.
fn subscribe_as_dual(ports: &Ports) -> TcpStream {
    let text = [("runnel_delivery", "1"), ("runnel_origin", "00000000000000ff")];
    subscribe_with_fields(ports.tcpros, "/data", low_process_id(), &text).0
}

#[test]
fn invalid_subscriber_statement_ends_only_its_link() {
    keep_log();
    let graph = Graph::new();
    let context = Context::with_options(graph.options().graphs(Graphs::Both)).unwrap();
    let publisher = context.create_node("talker").unwrap().create_publisher("data", 2).unwrap();
    let ports = Ports::of(&graph.context(), "/talker", "/data");
    let mut honest = subscribe_to(ports.tcpros, "/data", low_process_id()).0;
    wait_until("it is joined", || publisher.subscription_count() == 1);
    // A participant's user writers are numbered from 1.
    let writers = (1..64).map(|number| u32::from_be_bytes(EntityId::user_writer(number).0));
    let of_writers = |kind: u64, epoch: u64, number: u64| {
        writers
            .clone()
            .flat_map(move |writer| pair_statement(kind, epoch, [writer, 7], number))
            .collect::<Vec<u8>>()
    };
    let asks = |readers: std::ops::Range<u32>| {
        let writers = writers.clone();
        readers.flat_map(move |reader| {
            let writers = writers.clone();
            writers.flat_map(move |writer| pair_statement(ASK_FOR_RTPS, 0, [writer, reader], 1))
        })
    };
    for (nonsense, why) in [
        (vec![7; 28], "is no statement"),
        (of_writers(BEGIN, 1, 1), "a statement of a kind that is the publisher's"),
        (of_writers(REACHED, 9, 1), "epoch 9"),
        (asks(0..1100).collect(), "requests more than 1024 unknown readers"),
    ] {
        let mut hostile = subscribe_as_dual(&ports);
        wait_until("it is joined", || publisher.subscription_count() == 2);
        // The connection may be closed before everything is read.
        let _ = hostile.write_all(&nonsense);
        wait_until("its link has ended", || publisher.subscription_count() == 1);
        wait_logged(&["topic /data: subscriber [/hostile]", why]);
    }
    // A valid statement about an unknown reader does no harm.
    let mut odd = subscribe_as_dual(&ports);
    wait_until("it is joined", || publisher.subscription_count() == 2);
    odd.write_all(&[of_writers(RETURN, 0, 1), of_writers(8, 77, 1), of_writers(9, 0, 1)].concat()).unwrap();
    for stream in [&mut honest, &mut odd] {
        publisher.publish(numbered(5, 100)).unwrap();
        let message = std::iter::from_fn(|| Some(next_frame(stream))).find_map(Result::ok).unwrap();
        assert_eq!(number_in(&message[12..]), 5);
    }
}

/// A fake publisher of a dual node. Returns its connection and the link's token.
fn publish_as_dual(fake: &FakePublisher) -> TcpStream {
    let (mut stream, asked) = fake.accept_header();
    assert_eq!(asked.get("runnel_delivery"), Some("1"));
    let fields = [
        ("callerid", "/dual"),
        ("md5sum", Text::MD5),
        ("type", "std_msgs/String"),
        ("runnel_delivery", "1"),
        ("runnel_origin", "00000000000000ff"),
    ];
    stream.write_all(&runnel_ros1::header::ConnectionHeader::new(fields).emit()).unwrap();
    stream
}

#[test]
fn invalid_publisher_statement_ends_only_its_link() {
    keep_log();
    let scene = Scene::new();
    let fake = FakePublisher::new(&scene.graph, "/dual", "/talk");
    for (nonsense, why) in [
        (pair_statement(LEAVE, 1 << 30, [1, 2], 1), "epoch 1073741824 is not plausible"),
        (pair_statement(ASK_FOR_RTPS, 0, [1, 2], 1), "it sent a statement that only subscribers send"),
    ] {
        let mut stream = publish_as_dual(&fake);
        stream.write_all(&[framed_text("before"), nonsense].concat()).unwrap();
        scene.receives("before");
        spin_until(&scene.far, "its link has ended", || stream.read(&mut [0]).is_ok_and(|count| count == 0));
        wait_logged(&["topic /talk: publisher [/dual]", why]);
        scene.received.lock().unwrap().clear();
    }
    // A pair that the subscriber does not know stays with the link, and the subscriber states that.
    let mut stream = publish_as_dual(&fake);
    let leaves = pair_statement(LEAVE, 1, [1, 2], u64::MAX >> 1);
    stream.write_all(&[leaves, framed_text("received all the same")].concat()).unwrap();
    scene.receives("received all the same");
    let mut answer = [0; 28];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer.to_vec(), pair_statement(RETURN, 0, [1, 2], 1));
    scene.assert_undisturbed();
}

#[test]
fn publisher_that_reads_no_statements_loses_its_link() {
    keep_log();
    let scene = Scene::new();
    let fake = FakePublisher::new(&scene.graph, "/dual", "/talk");
    let mut stream = publish_as_dual(&fake);
    // Each statement is answered, since the subscriber does not know the pair. The kernel accepts some hundred thousand
    // answers.
    let ended = (0..4000_u64).any(|batch| {
        let epochs = 1 + batch * 500..=(batch + 1) * 500;
        let leaves: Vec<u8> = epochs.flat_map(|epoch| pair_statement(LEAVE, epoch, [1, 2], 1)).collect();
        scene.far.spin_once(Duration::ZERO).unwrap();
        stream.write_all(&leaves).is_err()
    });
    assert!(ended, "its answers are kept without end");
    wait_logged(&[
        "topic /talk: publisher [/dual]",
        "it does not read the answers to more than 4096 statements",
    ]);
    scene.assert_undisturbed();
}
