//! The hand-over in every interleaving of a few threads. Loom reports one that waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::thread;

use crate::ready::Runnable;
use crate::ready::interleavings::queue::ReadyQueue;
use crate::sync::model::{AtomicBool, Waker, explore, explore_within};
use handover::{Handover, Poller};

#[expect(dead_code, reason = "the models do not use all of it")]
#[expect(clippy::duplicate_mod, reason = "the same code, of other primitives")]
#[path = "handover.rs"]
mod handover;

mod primitives {
    pub(super) use crate::sync::Class;
    pub(super) use crate::sync::model::{
        Asked as Mutex, AskedGuard as MutexGuard, AtomicBool, AtomicU8, AtomicUsize, Ordering, Waker, fence,
    };

    pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock()
    }

    pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
        mutex.try_lock()
    }
}

/// What is polled: a reactor in which nothing happens, so that only a wake ends a wait.
struct Polled {
    waker: Waker,
    /// How often another thread has had it.
    visits: usize,
}

fn handed_over() -> Arc<Handover<Polled>> {
    let waker = Waker::new();
    Arc::new(Handover::new(Polled { waker: waker.clone(), visits: 0 }, waker))
}

fn visit(handover: &Handover<Polled>) {
    handover.take().visits += 1;
}

/// Polls until other threads have had it so often.
fn poll_until(handover: &Handover<Polled>, visits: usize) {
    loop {
        handover.yield_to_wanting();
        let polled = handover.take();
        if polled.visits == visits {
            return;
        }
        handover.poll_as(Poller::Executor);
        if !handover.is_wanted() {
            polled.waker.wait();
        }
        handover.leave(polled);
        // One that wants it may not have come to the gate yet.
        thread::yield_now();
    }
}

#[test]
fn thread_that_polls_lets_another_go_first() {
    explore(|| {
        let handover = handed_over();
        let visitor = Arc::clone(&handover);
        let visitor = thread::spawn(move || visit(&visitor));
        poll_until(&handover, 1);
        visitor.join().unwrap();
    });
}

#[test]
fn thread_that_polls_lets_two_go_first() {
    explore_within(2, || {
        let handover = handed_over();
        let visitors = [0, 1].map(|_| {
            let visitor = Arc::clone(&handover);
            thread::spawn(move || visit(&visitor))
        });
        poll_until(&handover, 2);
        visitors.into_iter().for_each(|visitor| visitor.join().unwrap());
    });
}

/// Waits in the background as long as the context runs.
fn poll_in_background(handover: &Handover<Polled>, ended: &AtomicBool) {
    while !ended.load(Ordering::SeqCst) {
        handover.yield_to_wanting();
        if let Some(polled) = handover.try_take() {
            handover.poll_as(Poller::Background);
            if !handover.is_wanted() {
                polled.waker.wait();
            }
            handover.leave(polled);
        }
        thread::yield_now();
    }
}

#[test]
fn background_thread_hands_over_and_ends_with_the_context() {
    explore_within(2, || {
        let (handover, ended) = (handed_over(), Arc::new(AtomicBool::new(false)));
        let (polled, until) = (Arc::clone(&handover), Arc::clone(&ended));
        let background = thread::spawn(move || poll_in_background(&polled, &until));
        visit(&handover);
        ended.store(true, Ordering::SeqCst);
        handover.wake();
        background.join().unwrap();
    });
}

#[test]
fn one_background_thread_runs_once_a_thread_that_spins_has_left() {
    explore(|| {
        let handover = handed_over();
        assert!(handover.begin_background(), "none runs yet");
        let background = Arc::clone(&handover);
        // It has found the other thread polling for so long that it wants to end.
        let background = thread::spawn(move || {
            background.end_background();
            background.resume_background()
        });
        let polled = handover.take();
        handover.poll_as(Poller::Executor);
        handover.leave(polled);
        let begun = handover.begin_background();
        let resumed = background.join().unwrap();
        assert!(begun != resumed, "another was begun: {begun}; the first goes on: {resumed}");
    });
}

/// Two threads that spin, as the executor has them.
struct Scene {
    handover: Arc<Handover<Polled>>,
    ready: ReadyQueue,
    stop: AtomicBool,
    runs: AtomicUsize,
}

impl Scene {
    fn new() -> Arc<Self> {
        let handover = handed_over();
        let ready = ReadyQueue::new(handover.take().waker.clone());
        Arc::new(Self { handover, ready, stop: AtomicBool::new(false), runs: AtomicUsize::new(0) })
    }

    fn spin(&self) {
        while !self.stop.load(Ordering::SeqCst) {
            self.step();
        }
    }

    fn step(&self) {
        let is_led = || self.handover.is_polled_by(Poller::Executor);
        if let Some(due) = self.ready.pop() {
            due.run();
        } else if is_led() {
            self.ready.follow(None, is_led);
        } else {
            self.handover.yield_to_wanting();
            let polled = self.handover.take();
            self.handover.poll_as(Poller::Executor);
            let stops = self.stop.load(Ordering::SeqCst) || self.handover.is_wanted();
            if !stops && self.ready.sleep_if_empty() {
                polled.waker.wait();
            }
            self.ready.awake();
            self.handover.leave(polled);
            thread::yield_now();
        }
    }
}

/// Ends the spinning when it has run so often.
struct Last(Arc<Scene>, usize);

impl Runnable for Last {
    fn run(&self) {
        let Self(scene, count) = self;
        if scene.runs.fetch_add(1, Ordering::Relaxed) + 1 == *count {
            scene.stop.store(true, Ordering::SeqCst);
            scene.ready.close();
        }
    }
}

#[test]
fn two_threads_that_spin_run_each_callback_and_end() {
    for count in [1, 2] {
        explore_within(1, move || {
            let scene = Scene::new();
            let spinners = [0, 1].map(|_| {
                let spinner = Arc::clone(&scene);
                thread::spawn(move || spinner.spin())
            });
            (0..count).for_each(|_| scene.ready.push(Arc::new(Last(Arc::clone(&scene), count))));
            spinners.into_iter().for_each(|spinner| spinner.join().unwrap());
            assert_eq!((scene.runs.load(Ordering::Relaxed), scene.ready.len()), (count, 0));
        });
    }
}
