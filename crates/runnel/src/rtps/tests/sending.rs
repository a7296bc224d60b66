//! Threads that publish at the same time, also while one of them is within the system call that sends.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use runnel_io::udp::MOST_AT_ONCE;
use runnel_rtps::wire::{Message, Submessage};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, ipproto, recv, socket_with};

use super::*;
use crate::sync::try_lock;

/// Sets what is called before each system call that sends.
pub(crate) fn before_sending(rtps: &Rtps, before: impl Fn() + Send + Sync + 'static) {
    assert!(rtps.sockets.before_sending.set(Box::new(before)).is_ok());
}

/// Two participants, with a writer in one and its reader in the other.
pub(crate) fn pair(domain: u16, qos: QoS) -> (Arc<Rtps>, Rtps, Arc<Writer>) {
    let open = || Rtps::open(&settings(domain, "127.0.0.1:0"), waker()).unwrap();
    let (a, b) = (open(), open());
    let writer = a.create_writer(chatter(qos));
    b.create_reader(chatter(qos));
    publish_until_received(&a, &writer, &b);
    (Arc::new(a), b, writer)
}

fn write(rtps: &Rtps, writer: &Writer, text: &str) {
    drop(rtps.write(writer, frame(text)));
}

/// The messages that a participant receives, without those of `publish_until_received`.
fn texts(rtps: &Rtps) -> Vec<String> {
    let texts = poll_once(rtps).into_iter().map(|(_, bytes)| String::from_utf8(bytes[4..].to_vec()).unwrap());
    // Payloads are padded.
    let texts = texts.map(|text| text.trim_end_matches('\0').to_owned());
    texts.filter(|text| text != "hello...").collect()
}

/// Receives until there are `count` messages.
fn received(rtps: &Rtps, count: usize) -> Vec<String> {
    let (until, mut all) = (StdInstant::now() + LONG, Vec::new());
    while all.len() < count {
        assert!(StdInstant::now() < until, "only {} of {count}: {all:?}", all.len());
        all.extend(texts(rtps));
        thread::yield_now();
    }
    all
}

/// Stops the first thread that sends until it is released, and reports that it has stopped.
fn hold_first_sender(rtps: &Rtps) -> (Receiver<()>, Sender<()>) {
    let ((inside, is_inside), (let_go, is_let_go)) = (mpsc::channel(), mpsc::channel());
    let held = std::sync::Mutex::new(Some((inside, is_let_go)));
    before_sending(rtps, move || {
        let first = held.lock().unwrap().take();
        if let Some((inside, is_let_go)) = first {
            inside.send(()).unwrap();
            is_let_go.recv().unwrap();
        }
    });
    (is_inside, let_go)
}

#[test]
fn participant_is_free_while_datagrams_are_sent() {
    require_private_network();
    let (a, b, writer) = pair(68, QoS::keep_last(10).best_effort());
    let (rtps, locked) = (Arc::downgrade(&a), Arc::new(AtomicU32::new(0)));
    let count = Arc::clone(&locked);
    before_sending(&a, move || {
        let rtps = rtps.upgrade().unwrap();
        count.fetch_add(u32::from(try_lock(&rtps.core).is_none()), Ordering::SeqCst);
    });
    write(&a, &writer, "one");
    // Several batches of fragments.
    write(&a, &writer, &"long".repeat(1_000_000));
    a.create_writer(chatter(QoS::default()));
    assert_eq!(received(&b, 1), ["one"]);
    assert_eq!(locked.load(Ordering::SeqCst), 0);
}

#[test]
fn publisher_does_not_wait_for_sending_thread() {
    require_private_network();
    let (a, b, writer) = pair(69, QoS::keep_last(10).best_effort());
    let (inside, let_go) = hold_first_sender(&a);
    let texts: Vec<String> = (0..MOST_AT_ONCE).map(|number| format!("{number:08}")).collect();
    thread::scope(|scope| {
        scope.spawn(|| write(&a, &writer, &texts[0]));
        inside.recv_timeout(LONG).unwrap();
        let (done, is_done) = mpsc::channel();
        let (a, writer, texts) = (&a, &writer, &texts);
        scope.spawn(move || {
            texts[1..].iter().for_each(|text| write(a, writer, text));
            // The driver's work is not delayed either.
            a.handle_timeout();
            done.send(()).unwrap();
        });
        let outcome = is_done.recv_timeout(LONG);
        let_go.send(()).unwrap();
        outcome.expect("another thread publishes meanwhile");
    });
    assert_eq!(received(&b, texts.len()), texts, "the thread that was held sent them all, its own first");
}

#[test]
fn samples_beyond_outbox_are_not_overwritten() {
    require_private_network();
    let (a, b, writer) = pair(70, QoS::keep_last(1).best_effort());
    let (inside, let_go) = hold_first_sender(&a);
    let texts: Vec<String> = (0..4 * MOST_AT_ONCE).map(|number| format!("{number:08}")).collect();
    let written = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| write(&a, &writer, &texts[0]));
        inside.recv_timeout(LONG).unwrap();
        scope.spawn(|| {
            for text in &texts[1..] {
                write(&a, &writer, text);
                written.fetch_add(1, Ordering::SeqCst);
            }
        });
        // As many as fit.
        while written.load(Ordering::SeqCst) < MOST_AT_ONCE as u32 {
            thread::yield_now();
        }
        (0..1000).for_each(|_| thread::yield_now());
        let meanwhile = written.load(Ordering::SeqCst);
        let_go.send(()).unwrap();
        assert_eq!(meanwhile, MOST_AT_ONCE as u32, "the next one waits");
    });
    assert_eq!(received(&b, texts.len()), texts);
}

#[test]
fn publisher_does_not_wait_for_the_participant() {
    require_private_network();
    let (a, b, writer) = pair(71, QoS::keep_last(10));
    let texts: Vec<String> = (0..EACH).map(|number| format!("{number:08}")).collect();
    let (done, is_done) = mpsc::channel();
    thread::scope(|scope| {
        let participant = lock(&a.core);
        let (a, writer, texts) = (&a, &writer, &texts);
        scope.spawn(move || {
            texts.iter().for_each(|text| write(a, writer, text));
            done.send(()).unwrap();
        });
        let outcome = is_done.recv_timeout(LONG);
        drop(participant);
        outcome.expect("it publishes meanwhile");
    });
    assert_eq!(received(&b, texts.len()), texts);
}

#[test]
fn writer_sends_during_system_call_of_another() {
    require_private_network();
    let (a, b, writer) = pair(72, QoS::keep_last(10).best_effort());
    let other = a.create_writer(chatter(QoS::keep_last(10).best_effort()));
    publish_until_received(&a, &other, &b);
    let (inside, let_go) = hold_first_sender(&a);
    thread::scope(|scope| {
        scope.spawn(|| write(&a, &writer, "one"));
        inside.recv_timeout(LONG).unwrap();
        let (a, other) = (&a, &other);
        let (done, is_done) = mpsc::channel();
        scope.spawn(move || {
            write(a, other, "two");
            done.send(()).unwrap();
        });
        let outcome = is_done.recv_timeout(LONG);
        // The second writer's message is on the wire before the first writer's.
        let first = outcome.is_ok().then(|| received(&b, 1));
        let_go.send(()).unwrap();
        assert_eq!(first, Some(vec!["two".to_owned()]));
    });
    assert_eq!(received(&b, 1), ["one"]);
}

const THREADS: u32 = 4;
/// Messages in flight per thread: few enough for the sockets' buffers.
const EACH: u32 = 40;
const ROUNDS: u32 = 25;

/// Collects the sequence numbers of a writer's samples from the datagrams that a raw socket has received.
fn numbers_on_the_wire(raw: &impl std::os::fd::AsFd, writer: EntityId, numbers: &mut Vec<i64>) {
    const HEADERS: usize = 20 + 8;
    let mut packet = [0; 2048];
    while let Ok((_, length)) = recv(raw, &mut packet[..], RecvFlags::DONTWAIT) {
        let Some(Ok(message)) = packet[..length].get(HEADERS..).map(Message::parse) else { continue };
        numbers.extend(message.submessages().filter_map(|one| match one {
            Ok(Submessage::Data(data)) if data.writer == writer => Some(data.number.0),
            _ => None,
        }));
    }
}

#[test]
fn four_threads_on_one_best_effort_writer_lose_and_reorder_nothing() {
    Host::new().run(|| {
        let (a, b, writer) = pair(74, QoS::keep_last(1).best_effort());
        let kind = SocketType::RAW;
        let raw = socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, Some(ipproto::UDP)).unwrap();
        let mut numbers = Vec::new();
        for round in 0..ROUNDS {
            let before = numbers.len();
            let all = thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (a, writer) = (&a, &writer);
                    let text = move |number| format!("{thread} {:08}", round * EACH + number);
                    scope.spawn(move || (0..EACH).for_each(|number| write(a, writer, &text(number))));
                }
                received(&b, (THREADS * EACH) as usize)
            });
            let mut by_thread: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
            for text in &all {
                by_thread.entry(&text[..1]).or_default().push(text[2..].parse().unwrap());
            }
            let expected: Vec<u32> = (round * EACH..(round + 1) * EACH).collect();
            assert!(by_thread.values().all(|numbers| *numbers == expected), "{by_thread:?}");
            numbers_on_the_wire(&raw, writer.id(), &mut numbers);
            assert_eq!(numbers.len() - before, all.len());
        }
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    });
}

#[test]
fn four_threads_publish_reliably_while_readers_answer_and_join() {
    require_private_network();
    let (a, b, writer) = pair(76, QoS::keep_last(100_000));
    let late = Rtps::open(&settings(76, "127.0.0.1:0"), waker()).unwrap();
    let (has_joined, published) = (AtomicBool::new(false), std::sync::Mutex::new(BTreeMap::new()));
    let (until, mut all) = (StdInstant::now() + LONG, Vec::new());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (a, writer, has_joined, published) = (&a, &writer, &has_joined, &published);
            scope.spawn(move || {
                let mut number = 0;
                while number < EACH || !has_joined.load(Ordering::SeqCst) && StdInstant::now() < until {
                    write(a, writer, &format!("{thread} {number:08}"));
                    number += 1;
                    thread::yield_now();
                }
                published.lock().unwrap().insert(thread, number);
            });
        }
        late.create_reader(chatter(QoS::keep_last(100_000)));
        let is_over = || {
            let published = published.lock().unwrap();
            (published.len() == THREADS as usize).then(|| published.values().sum::<u32>() as usize)
        };
        while is_over() != Some(all.len()) || writer.unacknowledged() > 0 {
            let to_come = writer.unacknowledged();
            assert!(StdInstant::now() < until, "{} of {:?} came, {to_come} to come", all.len(), is_over());
            poll_once(&a);
            poll_once(&late);
            let readers = a.read(|participant| participant.matched(writer.id()).len());
            has_joined.store(readers == 2, Ordering::SeqCst);
            all.extend(texts(&b));
        }
    });
    for (thread, count) in published.into_inner().unwrap() {
        let own = all.iter().filter_map(|text| text.strip_prefix(&format!("{thread} ")));
        let own: Vec<u32> = own.map(|number| number.parse().unwrap()).collect();
        assert_eq!(own, (0..count).collect::<Vec<_>>(), "of thread {thread}");
    }
}
