//! Tests of received descriptors whose closing blocks: only a thread for this purpose waits for them.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common::wait_until;
use crate::fake_process::{FULL, LocalEnd, MAPPED, connect, hello, low_process_id, segment_packet, send};
use crate::ipc_scene::{Reader, Scene, subscribe};
use crate::process::{alone, descriptors};
use runnel_io::Packets;
use runnel_io::unix::MAX_FDS;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sockopt};

/// Longer than any test takes.
const FOREVER: Duration = Duration::from_secs(10_000);

/// Longer than a close takes that does not block.
const MAX_CLOSE: Duration = Duration::from_secs(5);

/// A connection whose second end reads nothing: closing the first end blocks.
fn blocking_connection() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    near.set_nonblocking(true).unwrap();
    while near.write(&[7; 1 << 16]).is_ok_and(|sent| sent > 0) {}
    sockopt::set_socket_linger(&near, Some(FOREVER)).unwrap();
    (near.into(), far)
}

/// Reads everything, so that closing no longer blocks.
fn drain(mut far: TcpStream) {
    let mut buffer = vec![0; 1 << 20];
    loop {
        match far.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => return assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
}

/// The talker reads nothing for 50 ms, in which the test closes the passed descriptors.
fn delay_talker(scene: &Scene) {
    scene.talking.spin_once(Duration::ZERO).unwrap();
}

/// Closes a passed socket here, so that the receiver holds it alone. If the receiver was faster, this close would
/// block: it is released after a while, and nothing was tested.
fn close_here(near: OwnedFd, far: TcpStream) -> TcpStream {
    let (closed, is_closed) = channel();
    let again = far.try_clone().unwrap();
    let watching = thread::spawn(move || {
        if is_closed.recv_timeout(MAX_CLOSE).is_err() {
            drain(again);
        }
    });
    drop(near);
    let _ = closed.send(());
    watching.join().unwrap();
    far
}

/// Asserts that a passed socket blocks nobody: messages arrive, and others connect. The result of `pass` is kept
/// meanwhile.
fn blocks_nobody<T>(what: &str, pass: impl FnOnce(&Scene, BorrowedFd<'_>) -> T) {
    println!("{what}");
    let scene = Scene::new();
    scene.talk(20, 100_000);
    drop(Reader::new(&scene));
    wait_until("it is gone", || scene.publisher.subscription_count() == 1);
    let before = descriptors();
    let (near, far) = blocking_connection();
    let kept = pass(&scene, near.as_fd());
    let far = close_here(near, far);
    scene.talk(10, 100);
    scene.talk(10, 100_000);
    scene.assert_undisturbed();
    // Connecting needs the driver that received the descriptor.
    drop(Reader::with_others(&scene));
    drop(kept);
    drop(Reader::with_others(&scene));
    scene.assert_undisturbed();
    drain(far);
    wait_until("all descriptors returned", || descriptors() <= before);
}

/// Sends more descriptors than a packet may have, which `Packets` refuses.
fn send_many(packets: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
    let mut space = vec![std::mem::MaybeUninit::uninit(); 4096];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
    let slices = [std::io::IoSlice::new(bytes)];
    rustix::net::sendmsg(packets, &slices, &mut control, SendFlags::empty()).unwrap();
}

/// A subscriber whose process has connected and does its handshake now. Returns what to keep open.
fn sends_hello(
    scene: &Scene,
    with: impl FnOnce(&Packets, Vec<u8>, &LocalEnd),
) -> (TcpStream, Packets, LocalEnd) {
    let me = low_process_id();
    let (stream, process, _) = subscribe(scene, me);
    let (packets, local) = (connect(process), LocalEnd::new());
    delay_talker(scene);
    with(&packets, hello(me, process), &local);
    (stream, packets, local)
}

#[test]
fn lingering_socket_as_memory_blocks_nobody() {
    let _alone = alone();
    blocks_nobody("a segment", |scene, fd| {
        let reader = Reader::new(scene);
        delay_talker(scene);
        send(&reader.session.packets, &segment_packet(0, 4096, 2), &[fd]);
        reader
    });
    blocks_nobody("the memory of a greeting", |scene, fd| {
        sends_hello(scene, |packets, hello, local| {
            let [page, _, bell] = local.fds();
            send(packets, &hello, &[page, fd, bell]);
        })
    });
    blocks_nobody("a doorbell", |scene, fd| {
        sends_hello(scene, |packets, hello, local| {
            let [page, outbox, _] = local.fds();
            send(packets, &hello, &[page, outbox, fd]);
        })
    });
}

#[test]
fn lingering_socket_behind_invalid_segment_blocks_nobody() {
    let _alone = alone();
    blocks_nobody("a segment once no more are mapped", |scene, fd| {
        let reader = Reader::new(scene);
        let page = reader.session.local.page.fd();
        send(&reader.session.packets, &segment_packet(0, 4096, 2), &[page]);
        wait_until("no more is mapped", || reader.session.peer_word(MAPPED) & FULL != 0);
        delay_talker(scene);
        send(&reader.session.packets, &segment_packet(1, 4096, 2), &[fd]);
        reader
    });
}

#[test]
fn lingering_socket_among_others_blocks_nobody() {
    let _alone = alone();
    blocks_nobody("too many in a session", |scene, fd| {
        let reader = Reader::new(scene);
        delay_talker(scene);
        send_many(&reader.session.packets, &segment_packet(0, 4096, 2), &[fd; MAX_FDS + 10]);
        reader
    });
    blocks_nobody("too many in a greeting", |scene, fd| {
        sends_hello(scene, |packets, hello, _| send_many(packets, &hello, &[fd; MAX_FDS + 10]))
    });
    blocks_nobody("behind what ends the session", |scene, fd| {
        let reader = Reader::new(scene);
        delay_talker(scene);
        send(&reader.session.packets, &[1], &[]);
        let _ = reader.session.packets.send(&segment_packet(0, 4096, 2), &[fd]);
        reader
    });
    blocks_nobody("behind what is no greeting", |scene, fd| {
        sends_hello(scene, |packets, hello, _| {
            send(packets, &hello[..7], &[]);
            let _ = packets.send(&hello, &[fd]);
        })
    });
}

#[test]
fn lingering_socket_in_doorbell_queue_blocks_nobody() {
    let _alone = alone();
    blocks_nobody("a doorbell that brings something", |scene, fd| {
        sends_hello(scene, |packets, hello, local| {
            let [page, outbox, _] = local.fds();
            let (bell, behind) = UnixStream::pair().unwrap();
            send_many(&behind, b"x", &[fd]);
            send(packets, &hello, &[page, outbox, bell.as_fd()]);
        })
    });
}
