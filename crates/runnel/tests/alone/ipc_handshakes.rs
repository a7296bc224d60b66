//! Tests of peers on this host with invalid or missing handshakes: there is no IPC connection, links stay on the
//! network, and other processes lose nothing.

use std::fs;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::common::{LONG, spin_until, wait_until};
use crate::fake_process::{
    ASK, FakeConnection, LocalEnd, OPEN_SAMPLES, OUTBOX_BYTES, accept, connect, hello, high_process_id,
    is_ended, listen, low_process_id, packet, send, token_bytes,
};
use crate::ipc_scene::{Reader, Scene, number_in, subscribe, switch_to_memory};
use crate::logged::count_logged;
use crate::process::{alone, descriptors, resident};
use crate::raw::read_frame;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel_io::Packets;
use runnel_io::memory::SharedWords;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

/// Maximum number of IPC connections and handshakes of a process.
const MAX_CONNECTIONS: usize = 256;

/// Timeout of a handshake.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Receives a message over the network.
fn received_on_network(scene: &Scene, stream: &mut TcpStream) {
    scene.talk(1, 100);
    let message = read_frame(stream).unwrap();
    assert_eq!(number_in(&message[12..]), scene.published.get() - 1);
}

/// Asserts that a handshake like that of `send` fails for a logged reason.
fn refused(scene: &Scene, text: &str, sends_hello: impl FnOnce(&Packets, u128, u128)) {
    println!("{text}");
    let me = low_process_id();
    let (mut stream, process, _) = subscribe(scene, me);
    let text = ["no IPC connection with another process of this host", text];
    let before = count_logged(&text);
    let packets = connect(process);
    sends_hello(&packets, me, process);
    wait_until(&format!("{text:?} logged"), || count_logged(&text) > before);
    wait_until("the connection closed", || is_ended(&packets));
    received_on_network(scene, &mut stream);
    scene.assert_undisturbed();
    scene.wait_for_departure(stream);
}

#[test]
fn invalid_hello_is_refused() {
    let _alone = alone();
    let scene = Scene::new();
    let local = LocalEnd::new();
    let unknown = "its handshake is not Runnel's";
    refused(&scene, unknown, |packets, _, _| send(packets, &[0], &local.fds()));
    refused(&scene, unknown, |packets, me, to| send(packets, &hello(me, to)[..47], &local.fds()));
    // The hello of another version, on a connection of the wrong process.
    refused(&scene, unknown, |packets, _, to| send(packets, &other_hello(to + 1, to), &local.fds()));
    refused(&scene, "its descriptors did not arrive", |packets, me, to| {
        send(packets, &[hello(me, to), vec![0]].concat(), &local.fds());
    });
    let participant = "it is not the expected process";
    refused(&scene, participant, |packets, me, to| send(packets, &hello(me, to + 1), &local.fds()));
    // A process with a higher id must not connect.
    refused(&scene, participant, |packets, _, to| send(packets, &hello(to + 1, to), &local.fds()));
    let mut reader = Reader::new(&scene);
    drop(reader.session.next());
}

const OTHER_VERSION: [&str; 2] = ["is of another version of Runnel", "links with it stay on the network"];

/// A longer hello, of another version.
fn other_hello(from: u128, to: u128) -> Vec<u8> {
    let mut other = [hello(from, to), vec![7; 100]].concat();
    other[15] = b'1';
    other
}

#[test]
fn connecting_process_of_other_version_is_informed() {
    let _alone = alone();
    let scene = Scene::new();
    let me = low_process_id();
    let (mut stream, process, _) = subscribe(&scene, me);
    let before = count_logged(&OTHER_VERSION);
    for _ in 0..3 {
        let packets = connect(process);
        send(&packets, &other_hello(me, process), &LocalEnd::new().fds());
        let (answer, fds) = packet(&packets).expect("an answer");
        assert_eq!((answer, fds.len()), (hello(process, me), 0));
        wait_until("the connection closed", || is_ended(&packets));
        received_on_network(&scene, &mut stream);
    }
    assert_eq!(count_logged(&OTHER_VERSION) - before, 1);
    scene.assert_undisturbed();
}

#[test]
fn accepting_process_of_other_version_is_logged() {
    let _alone = alone();
    let scene = Scene::new();
    let [other, same] = [(); 2].map(|()| high_process_id());
    let [of_other, of_same] = [other, same].map(listen);
    let before = count_logged(&OTHER_VERSION);
    let (mut stream, process, _) = subscribe(&scene, other);
    let packets = accept(&of_other);
    send(&packets, &other_hello(other, process), &[]);
    wait_until("the connection closed", || is_ended(&packets));
    received_on_network(&scene, &mut stream);
    // The failed handshake is tried again. Meanwhile nobody else connects.
    let _stream = subscribe(&scene, same);
    for _ in 0..3 {
        send(&accept(&of_same), &[0], &[]);
    }
    let _another = subscribe(&scene, other);
    send(&accept(&of_same), &[0], &[]);
    assert!(of_other.accept().unwrap().is_none());
    assert_eq!(count_logged(&OTHER_VERSION) - before, 1);
    scene.assert_undisturbed();
}

#[test]
fn hello_with_wrong_descriptors_is_refused() {
    let _alone = alone();
    let scene = Scene::new();
    let local = LocalEnd::new();
    let [page, outbox, bell] = local.fds();
    let short = SharedWords::new("fake-session", OUTBOX_BYTES / 2).unwrap();
    let long = SharedWords::new("fake-session", OUTBOX_BYTES * 2).unwrap();
    let unsealed = memfd_create("fake-session", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&unsealed, OUTBOX_BYTES as u64).unwrap();
    let (pipe, writer) = std::io::pipe().unwrap();
    let file = fs::File::open("/proc/self/exe").unwrap();
    let with = |fds: &[BorrowedFd<'_>], text: &str| {
        refused(&scene, text, |packets, me, to| send(packets, &hello(me, to), fds));
    };
    let lacks = "its hello lacks descriptors";
    with(&[], lacks);
    with(&[page], lacks);
    with(&[page, outbox], lacks);
    with(&[page, unsealed.as_fd(), bell], "lacks the seals");
    with(&[unsealed.as_fd(), outbox, bell], "lacks the seals");
    with(&[page, short.fd(), bell], "are required");
    with(&[page, long.fd(), bell], "are required");
    with(&[long.fd(), outbox, bell], "are required");
    with(&[page, file.as_fd(), bell], "the descriptor is not a memfd");
    with(&[pipe.as_fd(), outbox, bell], "the descriptor is not a memfd");
    with(&[page, outbox, writer.as_fd()], "which is not a Unix stream socket");
    with(&[page, outbox, page], "which is not a Unix stream socket");
    drop(Reader::new(&scene));
}

#[test]
fn excess_descriptors_are_refused_and_closed() {
    let _alone = alone();
    let scene = Scene::new();
    let local = LocalEnd::new();
    let [page, outbox, bell] = local.fds();
    let before = descriptors();
    refused(&scene, "", |packets, me, to| send(packets, &hello(me, to), &[page, outbox, bell, bell]));
    wait_until("all descriptors returned", || descriptors() <= before);
}

#[test]
fn process_gets_only_one_ipc_connection() {
    let _alone = alone();
    let scene = Scene::new();
    let (me, text) = (low_process_id(), "it is not the expected process");
    let (_stream, process, token) = subscribe(&scene, me);
    let mut first = FakeConnection::handshake(me, process);
    let before = count_logged(&[text]);
    let second = connect(process);
    send(&second, &hello(me, process), &LocalEnd::new().fds());
    wait_until("it is named", || count_logged(&[text]) > before);
    wait_until("the second ends", || is_ended(&second));
    switch_to_memory(&mut first, token);
    scene.talk(10, 100);
    scene.assert_undisturbed();
}

#[test]
fn failed_handshake_is_tried_again_later() {
    let _alone = alone();
    let scene = Scene::new();
    let me = high_process_id();
    let listener = listen(me);
    let (mut stream, process, token) = subscribe(&scene, me);
    let answers: [fn(u128, u128) -> Vec<u8>; 3] =
        [|_, _| vec![0; 48], |me, to| hello(me - 1, to), |me, to| hello(me, to - 1)];
    for answer in answers {
        let packets = accept(&listener);
        assert_eq!(packet(&packets).unwrap().0, hello(process, me));
        send(&packets, &answer(me, process), &LocalEnd::new().fds());
        wait_until("the connection closed", || is_ended(&packets));
        received_on_network(&scene, &mut stream);
    }
    let mut session = FakeConnection::handshake_on(accept(&listener), me, process);
    session.push(ASK, 0, &token_bytes(token));
    assert_eq!(session.wait_for(OPEN_SAMPLES).word(0), token as u64);
    scene.assert_undisturbed();
}

#[test]
fn aborted_handshakes_leak_nothing() {
    let _alone = alone();
    let scene = Scene::new();
    let (stream, process, _) = subscribe(&scene, low_process_id());
    let local = LocalEnd::new();
    let come_and_go = |rounds: usize| {
        for round in 0..rounds {
            // Some connections wait until the kernel's queue is full.
            let mut packets = None;
            wait_until("a place in the queue", || {
                packets = try_connect(process);
                packets.is_some()
            });
            let packets = packets.unwrap();
            match round % 4 {
                0 => {}
                1 => send(&packets, &[0; 48], &local.fds()),
                2 => send(&packets, &hello(low_process_id(), process), &local.fds()),
                _ => drop(FakeConnection::handshake_on(packets, low_process_id(), process)),
            }
        }
    };
    let settled = descriptors();
    come_and_go(1000);
    wait_until("all descriptors returned", || descriptors() <= settled);
    let before = resident();
    let logged = || count_logged(&["another process of this host"]);
    let (lines, began) = (logged(), Instant::now());
    come_and_go(9000);
    wait_until("all descriptors returned", || descriptors() <= settled);
    let grown = resident().saturating_sub(before);
    assert!(grown < 4 << 20, "{} KiB after 9000 connections", grown / 1024);
    // Twenty lines in ten seconds, of which a busy machine takes many.
    let spans = began.elapsed().as_secs() as usize / 10 + 2;
    assert!(logged() <= lines + 20 * spans, "{} lines in {spans} spans fill a disk", logged() - lines);
    scene.wait_for_departure(stream);
    drop(Reader::new(&scene));
    scene.talk(100, 5000);
    scene.assert_undisturbed();
}

fn try_connect(process: u128) -> Option<Packets> {
    use runnel_io::unix::UnixAddress;
    Packets::connect(UnixAddress::Abstract(format!("runnel-{process:032x}").as_bytes())).ok()
}

#[test]
fn silent_connections_block_handshakes_only_briefly() {
    let _alone = alone();
    let scene = Scene::new();
    let (_stream, process, _) = subscribe(&scene, low_process_id());
    let began = Instant::now();
    let silent: Vec<Packets> = (0..MAX_CONNECTIONS + 20)
        .map(|_| {
            let mut packets = None;
            wait_until("a place in the queue", || {
                packets = try_connect(process);
                packets.is_some()
            });
            packets.unwrap()
        })
        .collect();
    // All places are in use: a new process stays on the network, where everything works.
    wait_until("more are turned away", || silent.iter().filter(|packets| is_ended(packets)).count() >= 20);
    let late = scene.graph.context();
    let node = late.create_node("late").unwrap();
    let received = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&received);
    let subscription = node.create_subscription("data", 1000, move |_: &UInt8MultiArray| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    });
    let subscription = subscription.unwrap();
    assert!(scene.publisher.wait_for_subscribers(3, LONG).unwrap());
    scene.talk(10, 100);
    spin_until(&late, "messages over the network", || {
        received.load(std::sync::atomic::Ordering::SeqCst) == 10
    });
    // On a busy machine the first handshakes may have timed out by now.
    let by_memory = subscription.shared_memory_count();
    assert!(by_memory == 0 || began.elapsed() >= TIMEOUT, "{by_memory} after {:?}", began.elapsed());
    // After their timeout, the late process gets its IPC connection.
    spin_until(&late, "a link in shared memory", || subscription.shared_memory_count() == 1);
    assert!(began.elapsed() + Duration::from_millis(100) >= TIMEOUT, "{:?}", began.elapsed());
    wait_until("all are turned away", || silent.iter().all(is_ended));
    scene.talk(10, 100);
    spin_until(&late, "messages in shared memory", || {
        received.load(std::sync::atomic::Ordering::SeqCst) == 20
    });
    scene.assert_undisturbed();
}
