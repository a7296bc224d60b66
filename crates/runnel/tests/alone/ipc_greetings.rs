//! Peers on the same host that greet badly or not at all: no session comes of it, links stay on the network, and others
//! of the same process lose nothing.

use std::fs;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::common::{LONG, spin_until, wait_until};
use crate::fake_process::{
    ASK, FakeSession, Mine, OPEN_SAMPLES, OUTBOX_BYTES, accept, connect, great_number, hello, is_ended,
    listen, packet, send, small_number, token_bytes,
};
use crate::ipc_scene::{Reader, Scene, go_over, number_in, subscribe};
use crate::logged::count_logged;
use crate::process::{alone, descriptors, resident};
use crate::raw::read_frame;
use runnel::io::Packets;
use runnel::io::memory::SharedWords;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

/// Processes that may have a session with one at a time, or be about to.
const MOST_SESSIONS: usize = 256;

/// How long a process waits for a greeting.
const PATIENCE: Duration = Duration::from_secs(5);

/// A message over the network.
fn heard_on_network(scene: &Scene, stream: &mut TcpStream) {
    scene.talk(1, 100);
    let message = read_frame(stream).unwrap();
    assert_eq!(number_in(&message[12..]), scene.published.get() - 1);
}

/// Who greets as `send` does gets no session, for the reason that is logged.
fn refused(scene: &Scene, says: &str, greets: impl FnOnce(&Packets, u128, u128)) {
    println!("{says}");
    let me = small_number();
    let (mut stream, process, _) = subscribe(scene, me);
    let says = ["no IPC connection with another process of this host", says];
    let before = count_logged(&says);
    let packets = connect(process);
    greets(&packets, me, process);
    wait_until(&format!("{says:?} logged"), || count_logged(&says) > before);
    wait_until("the connection closed", || is_ended(&packets));
    heard_on_network(scene, &mut stream);
    scene.is_undisturbed();
    scene.is_left_by(stream);
}

#[test]
fn invalid_hello_is_refused() {
    let _alone = alone();
    let scene = Scene::new();
    let mine = Mine::new();
    let unknown = "its handshake is not Runnel's";
    refused(&scene, unknown, |packets, _, _| send(packets, &[0], &mine.fds()));
    refused(&scene, unknown, |packets, me, to| send(packets, &hello(me, to)[..47], &mine.fds()));
    // It would not connect.
    refused(&scene, unknown, |packets, _, to| send(packets, &other_hello(to + 1, to), &mine.fds()));
    refused(&scene, "its descriptors did not arrive", |packets, me, to| {
        send(packets, &[hello(me, to), vec![0]].concat(), &mine.fds());
    });
    let stranger = "it is not the expected process";
    refused(&scene, stranger, |packets, me, to| send(packets, &hello(me, to + 1), &mine.fds()));
    // Whose number is greater does not connect.
    refused(&scene, stranger, |packets, _, to| send(packets, &hello(to + 1, to), &mine.fds()));
    let mut reader = Reader::new(&scene);
    drop(reader.session.next());
}

const OTHER_VERSION: [&str; 2] = ["is of another version of Runnel", "links with it stay on the network"];

/// A greeting of another version, which has more to say.
fn other_hello(from: u128, to: u128) -> Vec<u8> {
    let mut other = [hello(from, to), vec![7; 100]].concat();
    other[15] = b'1';
    other
}

#[test]
fn connecting_process_of_other_version_is_informed() {
    let _alone = alone();
    let scene = Scene::new();
    let me = small_number();
    let (mut stream, process, _) = subscribe(&scene, me);
    let before = count_logged(&OTHER_VERSION);
    for _ in 0..3 {
        let packets = connect(process);
        send(&packets, &other_hello(me, process), &Mine::new().fds());
        let (answer, fds) = packet(&packets).expect("an answer");
        assert_eq!((answer, fds.len()), (hello(process, me), 0));
        wait_until("the connection closed", || is_ended(&packets));
        heard_on_network(&scene, &mut stream);
    }
    assert_eq!(count_logged(&OTHER_VERSION) - before, 1);
    scene.is_undisturbed();
}

#[test]
fn accepting_process_of_other_version_is_logged() {
    let _alone = alone();
    let scene = Scene::new();
    let [other, same] = [(); 2].map(|()| great_number());
    let [of_other, of_same] = [other, same].map(listen);
    let before = count_logged(&OTHER_VERSION);
    let (mut stream, process, _) = subscribe(&scene, other);
    let packets = accept(&of_other);
    send(&packets, &other_hello(other, process), &[]);
    wait_until("the connection closed", || is_ended(&packets));
    heard_on_network(&scene, &mut stream);
    // One that greets badly is met again and again, and meanwhile nobody connects to the other.
    let _stream = subscribe(&scene, same);
    for _ in 0..3 {
        send(&accept(&of_same), &[0], &[]);
    }
    let _another = subscribe(&scene, other);
    send(&accept(&of_same), &[0], &[]);
    assert!(of_other.accept().unwrap().is_none());
    assert_eq!(count_logged(&OTHER_VERSION) - before, 1);
    scene.is_undisturbed();
}

#[test]
fn hello_with_wrong_descriptors_is_refused() {
    let _alone = alone();
    let scene = Scene::new();
    let mine = Mine::new();
    let [page, outbox, bell] = mine.fds();
    let short = SharedWords::new("fake-session", OUTBOX_BYTES / 2).unwrap();
    let long = SharedWords::new("fake-session", OUTBOX_BYTES * 2).unwrap();
    let unsealed = memfd_create("fake-session", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&unsealed, OUTBOX_BYTES as u64).unwrap();
    let (pipe, writer) = std::io::pipe().unwrap();
    let file = fs::File::open("/proc/self/exe").unwrap();
    let with = |fds: &[BorrowedFd<'_>], says: &str| {
        refused(&scene, says, |packets, me, to| send(packets, &hello(me, to), fds));
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
    let mine = Mine::new();
    let [page, outbox, bell] = mine.fds();
    let before = descriptors();
    refused(&scene, "", |packets, me, to| send(packets, &hello(me, to), &[page, outbox, bell, bell]));
    wait_until("all descriptors given back", || descriptors() <= before);
}

#[test]
fn process_gets_only_one_ipc_connection() {
    let _alone = alone();
    let scene = Scene::new();
    let (me, says) = (small_number(), "it is not the expected process");
    let (_stream, process, token) = subscribe(&scene, me);
    let mut first = FakeSession::greet(me, process);
    let before = count_logged(&[says]);
    let second = connect(process);
    send(&second, &hello(me, process), &Mine::new().fds());
    wait_until("it is named", || count_logged(&[says]) > before);
    wait_until("the second ends", || is_ended(&second));
    go_over(&mut first, token);
    scene.talk(10, 100);
    scene.is_undisturbed();
}

#[test]
fn failed_handshake_is_tried_again_later() {
    let _alone = alone();
    let scene = Scene::new();
    let me = great_number();
    let listener = listen(me);
    let (mut stream, process, token) = subscribe(&scene, me);
    let answers: [fn(u128, u128) -> Vec<u8>; 3] =
        [|_, _| vec![0; 48], |me, to| hello(me - 1, to), |me, to| hello(me, to - 1)];
    for answer in answers {
        let packets = accept(&listener);
        assert_eq!(packet(&packets).unwrap().0, hello(process, me));
        send(&packets, &answer(me, process), &Mine::new().fds());
        wait_until("the connection closed", || is_ended(&packets));
        heard_on_network(&scene, &mut stream);
    }
    let mut session = FakeSession::greet_on(accept(&listener), me, process);
    session.push(ASK, 0, &token_bytes(token));
    assert_eq!(session.wait_for(OPEN_SAMPLES).word(0), token as u64);
    scene.is_undisturbed();
}

#[test]
fn aborted_handshakes_leak_nothing() {
    let _alone = alone();
    let scene = Scene::new();
    let (stream, process, _) = subscribe(&scene, small_number());
    let mine = Mine::new();
    let come_and_go = |rounds: usize| {
        for round in 0..rounds {
            // Some wait until the kernel keeps no more.
            let mut packets = None;
            wait_until("a place in the queue", || {
                packets = try_connect(process);
                packets.is_some()
            });
            let packets = packets.unwrap();
            match round % 4 {
                0 => {}
                1 => send(&packets, &[0; 48], &mine.fds()),
                2 => send(&packets, &hello(small_number(), process), &mine.fds()),
                _ => drop(FakeSession::greet_on(packets, small_number(), process)),
            }
        }
    };
    let settled = descriptors();
    come_and_go(1000);
    wait_until("all descriptors given back", || descriptors() <= settled);
    let before = resident();
    let logged = || count_logged(&["another process of this host"]);
    let (lines, began) = (logged(), Instant::now());
    come_and_go(9000);
    wait_until("all descriptors given back", || descriptors() <= settled);
    let grown = resident().saturating_sub(before);
    assert!(grown < 4 << 20, "{} KiB after 9000 connections", grown / 1024);
    // Twenty in ten seconds, of which a busy machine takes many.
    let spans = began.elapsed().as_secs() as usize / 10 + 2;
    assert!(logged() <= lines + 20 * spans, "{} lines in {spans} spans fill a disk", logged() - lines);
    scene.is_left_by(stream);
    drop(Reader::new(&scene));
    scene.talk(100, 5000);
    scene.is_undisturbed();
}

fn try_connect(process: u128) -> Option<Packets> {
    use runnel::io::unix::UnixAddress;
    Packets::connect(UnixAddress::Abstract(format!("runnel-{process:032x}").as_bytes())).ok()
}

#[test]
fn silent_connections_block_handshakes_only_briefly() {
    let _alone = alone();
    let scene = Scene::new();
    let (_stream, process, _) = subscribe(&scene, small_number());
    let began = Instant::now();
    let silent: Vec<Packets> = (0..MOST_SESSIONS + 20)
        .map(|_| {
            let mut packets = None;
            wait_until("a place in the queue", || {
                packets = try_connect(process);
                packets.is_some()
            });
            packets.unwrap()
        })
        .collect();
    // All places are taken: who comes now stays on the network, where everything goes on.
    wait_until("more are turned away", || silent.iter().filter(|packets| is_ended(packets)).count() >= 20);
    let late = scene.graph.context();
    let node = late.create_node("late").unwrap();
    let heard = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&heard);
    let subscription = node.create_subscription("data", 1000, move |_: &UInt8MultiArray| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    });
    let subscription = subscription.unwrap();
    assert!(scene.publisher.wait_for_subscribers(3, LONG).unwrap());
    scene.talk(10, 100);
    spin_until(&late, "messages over the network", || heard.load(std::sync::atomic::Ordering::SeqCst) == 10);
    // On a busy machine all this may last until the first of them are turned away.
    let by_memory = subscription.shared_memory_count();
    assert!(by_memory == 0 || began.elapsed() >= PATIENCE, "{by_memory} after {:?}", began.elapsed());
    // After a while they are turned away, and who was late gets a session by itself.
    spin_until(&late, "a link in shared memory", || subscription.shared_memory_count() == 1);
    assert!(began.elapsed() + Duration::from_millis(100) >= PATIENCE, "{:?}", began.elapsed());
    wait_until("all are turned away", || silent.iter().all(is_ended));
    scene.talk(10, 100);
    spin_until(&late, "messages in shared memory", || heard.load(std::sync::atomic::Ordering::SeqCst) == 20);
    scene.is_undisturbed();
}
