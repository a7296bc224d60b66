//! Descriptors whose closing waits, handed over by a process of the same host: nobody waits for them but a thread that does
//! nothing else.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common::wait_until;
use crate::fake_process::{FULL, MAPPED, Mine, connect, gift, hello, send, small_number};
use crate::ipc_scene::{Reader, Scene, subscribe};
use crate::process::{alone, descriptors};
use runnel::io::Packets;
use runnel::io::unix::MAX_FDS;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sockopt};

/// Longer than any test takes.
const EVER: Duration = Duration::from_secs(10_000);

/// Longer than closing takes that does not wait.
const LATE: Duration = Duration::from_secs(5);

/// The two ends of a connection of which the second takes nothing more: to close the first waits for that.
fn stuck() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    near.set_nonblocking(true).unwrap();
    while near.write(&[7; 1 << 16]).is_ok_and(|sent| sent > 0) {}
    sockopt::set_socket_linger(&near, Some(EVER)).unwrap();
    (near.into(), far)
}

/// Takes all there is, so that closing waits no longer.
fn let_go(mut far: TcpStream) {
    let mut buffer = vec![0; 1 << 20];
    loop {
        match far.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => return assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
}

/// Nobody looks at what comes to the talker for 50 ms, in which the test closes what it hands over.
fn leave_time(scene: &Scene) {
    scene.talking.spin_once(Duration::ZERO).unwrap();
}

/// Closes a socket that was handed over, at once, so that who got it is the last to hold it. Where that came too late, this
/// close would wait, and is let go after a while: then nothing was tried.
fn close_here(near: OwnedFd, far: TcpStream) -> TcpStream {
    let (closed, is_closed) = channel();
    let again = far.try_clone().unwrap();
    let watching = thread::spawn(move || {
        if is_closed.recv_timeout(LATE).is_err() {
            let_go(again);
        }
    });
    drop(near);
    let _ = closed.send(());
    watching.join().unwrap();
    far
}

/// A socket that is handed over holds up nobody: others are heard, and others join. What `hands_over` gives is kept meanwhile.
fn holds_up_nobody<T>(what: &str, hands_over: impl FnOnce(&Scene, BorrowedFd<'_>) -> T) {
    println!("{what}");
    let scene = Scene::new();
    scene.talk(20, 100_000);
    drop(Reader::new(&scene));
    wait_until("it is gone", || scene.publisher.subscription_count() == 1);
    let before = descriptors();
    let (near, far) = stuck();
    let kept = hands_over(&scene, near.as_fd());
    let far = close_here(near, far);
    scene.talk(10, 100);
    scene.talk(10, 100_000);
    scene.is_undisturbed();
    // Joining takes the driver that the descriptor was handed to.
    drop(Reader::beside_others(&scene));
    drop(kept);
    drop(Reader::beside_others(&scene));
    scene.is_undisturbed();
    let_go(far);
    wait_until("all descriptors given back", || descriptors() <= before);
}

/// Sends more descriptors than a packet may have, which `Packets` would refuse.
fn send_many(packets: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
    let mut space = vec![std::mem::MaybeUninit::uninit(); 4096];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
    let slices = [std::io::IoSlice::new(bytes)];
    rustix::net::sendmsg(packets, &slices, &mut control, SendFlags::empty()).unwrap();
}

/// A subscriber whose process has connected, and greets now. Gives what is to be kept.
fn greets(scene: &Scene, with: impl FnOnce(&Packets, Vec<u8>, &Mine)) -> (TcpStream, Packets, Mine) {
    let me = small_number();
    let (stream, process, _) = subscribe(scene, me);
    let (packets, mine) = (connect(process), Mine::new());
    leave_time(scene);
    with(&packets, hello(me, process), &mine);
    (stream, packets, mine)
}

#[test]
fn lingering_socket_as_memory_blocks_nobody() {
    let _alone = alone();
    holds_up_nobody("a segment", |scene, fd| {
        let reader = Reader::new(scene);
        leave_time(scene);
        send(&reader.session.packets, &gift(0, 4096, 2), &[fd]);
        reader
    });
    holds_up_nobody("the memory of a greeting", |scene, fd| {
        greets(scene, |packets, hello, mine| {
            let [page, _, bell] = mine.fds();
            send(packets, &hello, &[page, fd, bell]);
        })
    });
    holds_up_nobody("a doorbell", |scene, fd| {
        greets(scene, |packets, hello, mine| {
            let [page, outbox, _] = mine.fds();
            send(packets, &hello, &[page, outbox, fd]);
        })
    });
}

#[test]
fn lingering_socket_behind_invalid_segment_blocks_nobody() {
    let _alone = alone();
    holds_up_nobody("a segment once no more are mapped", |scene, fd| {
        let reader = Reader::new(scene);
        let page = reader.session.mine.page.fd();
        send(&reader.session.packets, &gift(0, 4096, 2), &[page]);
        wait_until("no more is mapped", || reader.session.told(MAPPED) & FULL != 0);
        leave_time(scene);
        send(&reader.session.packets, &gift(1, 4096, 2), &[fd]);
        reader
    });
}

#[test]
fn lingering_socket_among_others_blocks_nobody() {
    let _alone = alone();
    holds_up_nobody("too many in a session", |scene, fd| {
        let reader = Reader::new(scene);
        leave_time(scene);
        send_many(&reader.session.packets, &gift(0, 4096, 2), &[fd; MAX_FDS + 10]);
        reader
    });
    holds_up_nobody("too many in a greeting", |scene, fd| {
        greets(scene, |packets, hello, _| send_many(packets, &hello, &[fd; MAX_FDS + 10]))
    });
    holds_up_nobody("behind what ends the session", |scene, fd| {
        let reader = Reader::new(scene);
        leave_time(scene);
        send(&reader.session.packets, &[1], &[]);
        let _ = reader.session.packets.send(&gift(0, 4096, 2), &[fd]);
        reader
    });
    holds_up_nobody("behind what is no greeting", |scene, fd| {
        greets(scene, |packets, hello, _| {
            send(packets, &hello[..7], &[]);
            let _ = packets.send(&hello, &[fd]);
        })
    });
}

#[test]
fn lingering_socket_in_doorbell_queue_blocks_nobody() {
    let _alone = alone();
    holds_up_nobody("a doorbell that brings something", |scene, fd| {
        greets(scene, |packets, hello, mine| {
            let [page, outbox, _] = mine.fds();
            let (bell, behind) = UnixStream::pair().unwrap();
            send_many(&behind, b"x", &[fd]);
            send(packets, &hello, &[page, outbox, bell.as_fd()]);
        })
    });
}
