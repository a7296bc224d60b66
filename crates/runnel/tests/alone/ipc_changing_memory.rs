//! Tests of a publisher on this host that writes into slots it has lent.

use std::str::from_utf8;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use crate::common::{Graph, spin_until, wait_until};
use crate::fake_publisher::FakePublisher;
use crate::process::alone;
use crate::writer_scene::Writer;
use runnel::core::Message;
use runnel::core::wire::encode;
use runnel::msgs::sensor_msgs::msg::{Image, ImageView, JointState, JointStateView};
use runnel::msgs::std_msgs::msg::Header;
use runnel::{Borrowed, Subscription};
use runnel_io::memory::SharedWords;

/// Length of the slot in bytes.
const BYTES: usize = 4096;

/// Number of messages lent while they change.
const MESSAGES: u32 = 500;

/// A message in a slot, of which the talker inverts every word again and again while `changes`.
struct ChangingMessage {
    memory: SharedWords,
    len: u32,
    changes: AtomicBool,
    over: AtomicBool,
}

impl ChangingMessage {
    fn new<M: Message>(message: &M) -> Self {
        let memory = SharedWords::new("unsteady", BYTES).unwrap();
        let mut bytes = encode(message);
        let len = bytes.len() as u32;
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        for (place, word) in memory.words().iter().zip(bytes.as_chunks().0) {
            place.store(u64::from_le_bytes(*word), Ordering::Relaxed);
        }
        let [changes, over] = [(); 2].map(|()| AtomicBool::new(false));
        Self { memory, len, changes, over }
    }

    fn write_on(&self) {
        while !self.over.load(Ordering::Relaxed) {
            // An even number of inversions restores the message.
            let times = if self.changes.load(Ordering::Relaxed) { 2 } else { 0 };
            for _ in 0..times {
                self.memory.words()[..self.len.div_ceil(8) as usize].iter().for_each(|word| {
                    word.store(!word.load(Ordering::Relaxed), Ordering::Relaxed);
                });
            }
            thread::yield_now();
        }
    }
}

/// A listener with a subscription from `subscribe`, and a talker that changes a lent message from the first callback
/// on. `checked` counts the callbacks.
fn disturb<M: Message>(
    message: &M,
    checked: &AtomicU64,
    subscribe: impl FnOnce(&runnel::Node, Arc<ChangingMessage>) -> Subscription,
) {
    let graph = Graph::new();
    let context = graph.context();
    let changing = Arc::new(ChangingMessage::new(message));
    let subscription = subscribe(&context.create_node("listener").unwrap(), Arc::clone(&changing));
    let fake = FakePublisher::of::<M>(&graph, "/fake", "/talk");
    let mut writer = Writer::of::<M>(&fake);
    writer.announce_memory(changing.memory.fd(), BYTES as u64, 1);
    writer.open(0);
    let lend = |writer: &mut Writer, loan| writer.lend_slot(loan, 0, changing.len);
    thread::scope(|scope| {
        scope.spawn(|| changing.write_on());
        let stops = StopOnDrop(&changing);
        lend(&mut writer, 0);
        spin_until(&context, "the first message", || checked.load(Ordering::SeqCst) == 1);
        for loan in 1..=MESSAGES {
            lend(&mut writer, loan);
            spin_until(&context, "a message", || subscription.received() == u64::from(loan) + 1);
        }
        let all = || checked.load(Ordering::SeqCst) + subscription.malformed() == u64::from(MESSAGES) + 1;
        spin_until(&context, "every message read or refused", all);
        drop(stops);
    });
}

/// Stops the writing when dropped, also when a test fails.
struct StopOnDrop<'a>(&'a ChangingMessage);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

/// Waits until both original and changed numbers were seen.
fn wait_for_change<T: PartialEq>(changing: &ChangingMessage, published: T, look: impl Fn() -> T) {
    changing.changes.store(true, Ordering::Relaxed);
    let mut seen = [false; 2];
    wait_until("the change seen in place", || {
        seen[usize::from(look() == published)] = true;
        seen == [true; 2]
    });
}

fn is_utf_8(text: &str) -> bool {
    from_utf8(text.as_bytes()).is_ok()
}

#[test]
fn view_tolerates_concurrent_writes_of_the_talker() {
    let _alone = alone();
    let name = ["é".repeat(10), "ü".repeat(30)];
    let position: Vec<f64> = (0..100).map(f64::from).collect();
    let header = Header { frame_id: "é".repeat(30), ..Header::default() };
    let message = JointState { header, name: name.to_vec(), position, ..JointState::default() };
    let frame_id = message.header.frame_id.clone();
    let checked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&checked);
    disturb(&message, &checked, |node, changing| {
        let callback = move |view: JointStateView<'_>| {
            if counted.load(Ordering::SeqCst) == 0 {
                wait_for_change(&changing, 99.0, || view.position.iter().last().unwrap());
                assert_eq!(view.header.frame_id, frame_id, "it was copied before");
            }
            assert!(is_utf_8(&view.header.frame_id) && view.name.iter().all(|name| is_utf_8(&name)));
            assert!(
                view.position.to_vec().len() == view.position.len() && view.position.as_slice().is_none()
            );
            counted.fetch_add(1, Ordering::SeqCst);
        };
        node.create_view_subscription::<JointState, _>("talk", 10, callback).unwrap()
    });
}

#[test]
fn kept_message_tolerates_concurrent_writes_of_the_talker() {
    let _alone = alone();
    let message = Image { encoding: "é".repeat(25), data: vec![7; 1001], ..Image::default() };
    let checked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&checked);
    let (into, kept) = channel::<Borrowed<Image>>();
    let (of_another_thread, looked) = (Arc::new(AtomicBool::new(false)), Arc::clone(&checked));
    let done = Arc::clone(&of_another_thread);
    let reader = thread::spawn(move || {
        for image in kept {
            // A malformed message is an error. A well-formed one is complete and does not change.
            let Ok(view) = image.view() else { continue };
            let (encoding, data) = (view.encoding.clone(), view.data.to_vec());
            assert!(is_utf_8(&encoding) && encoding == view.encoding && data.len() == view.data.len());
            done.store(true, Ordering::Relaxed);
        }
    });
    disturb(&message, &checked, |node, changing| {
        let callback = move |image: Borrowed<Image>| {
            if looked.load(Ordering::SeqCst) == 0 {
                let ImageView { data, encoding, .. } = image.view().unwrap();
                wait_for_change(&changing, Some(7), || data.get(500));
                assert_eq!(encoding, "é".repeat(25));
            }
            into.send(image).unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
        };
        node.create_borrowing_subscription("talk", 10, callback).unwrap()
    });
    reader.join().unwrap();
    assert!(of_another_thread.load(Ordering::Relaxed));
}
