//! The hand-over in every interleaving of a few threads. Loom reports one that waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::sync::Mutex;
use loom::thread;

use crate::ready::Runnable;
use crate::ready::interleavings::queue::ReadyQueue;
use crate::ready::interleavings::signal::Signal;
use crate::sync::model::{AtomicBool, Waker, explore, explore_within};
use handover::{Handover, Poller};
use primitives::MutexGuard;

#[expect(clippy::duplicate_mod, reason = "the same code, of other primitives")]
#[path = "handover.rs"]
mod handover;

#[expect(clippy::duplicate_mod, reason = "the same code, of other primitives")]
#[path = "parked.rs"]
mod parked;

mod primitives {
    pub(super) use crate::ready::interleavings::signal::Signal;
    pub(super) use crate::sync::Class;
    pub(super) use crate::sync::model::{
        AtomicBool, AtomicU8, AtomicUsize, Mutex as ListMutex, Ordering, TryLockGuard as MutexGuard,
        TryLockMutex as Mutex, Waker, fence, lock as lock_list,
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

/// Polls once, with it in hand.
fn poll(handover: &Handover<Polled>, polled: MutexGuard<'_, Polled>, poller: Poller) {
    handover.poll_as(poller);
    let is_wanted = handover.is_wanted();
    if !is_wanted {
        polled.waker.wait();
    }
    handover.leave(polled);
    if is_wanted {
        // The thread that wants it may not have come to the gate yet.
        thread::yield_now();
    }
}

/// Polls until other threads have had it so often.
fn poll_until(handover: &Handover<Polled>, visits: usize) {
    loop {
        handover.yield_to_wanting();
        let polled = handover.take();
        if polled.visits == visits {
            return;
        }
        poll(handover, polled, Poller::Executor);
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
        match handover.try_take() {
            Some(polled) => poll(handover, polled, Poller::Background),
            None => thread::yield_now(),
        }
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
    /// Something has arrived that a thread which polls is to find.
    arrived: Mutex<bool>,
    found: Waker,
    stop: AtomicBool,
    runs: AtomicUsize,
}

impl Scene {
    fn new() -> Arc<Self> {
        let handover = handed_over();
        let ready = ReadyQueue::new(handover.take().waker.clone());
        let (arrived, stop) = (Mutex::new(false), AtomicBool::new(false));
        Arc::new(Self { handover, ready, arrived, found: Waker::new(), stop, runs: AtomicUsize::new(0) })
    }

    fn spin(self: &Arc<Self>) {
        while !self.stop.load(Ordering::SeqCst) {
            self.step();
        }
    }

    fn step(self: &Arc<Self>) {
        let is_led = || self.handover.is_polled_by(Poller::Executor);
        if let Some(due) = self.ready.pop() {
            due.run();
        } else if is_led() {
            self.ready.follow(None, is_led);
        } else {
            self.handover.yield_to_wanting();
            let polled = self.handover.take();
            self.handover.poll_as(Poller::Executor);
            let looks_only = self.stop.load(Ordering::SeqCst) || self.handover.is_wanted();
            if !looks_only && self.ready.sleep_if_empty() {
                polled.waker.wait();
            }
            if std::mem::take(&mut *self.arrived.lock().unwrap()) {
                self.ready.push(Arc::new(Found(Arc::clone(self))));
            }
            self.ready.awake();
            self.handover.leave(polled);
            if looks_only {
                thread::yield_now();
            }
        }
    }

    fn end(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.ready.close();
    }
}

/// Ends the spinning when it has run so often.
struct Last(Arc<Scene>, usize);

impl Runnable for Last {
    fn run(&self) {
        let Self(scene, count) = self;
        if scene.runs.fetch_add(1, Ordering::Relaxed) + 1 == *count {
            scene.end();
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

/// Runs until something has arrived, which another thread is to find.
struct Awaiting(Arc<Scene>);

impl Runnable for Awaiting {
    fn run(&self) {
        let Self(scene) = self;
        *scene.arrived.lock().unwrap() = true;
        scene.handover.wake();
        scene.found.wait();
        scene.end();
    }
}

/// It was found.
struct Found(Arc<Scene>);

impl Runnable for Found {
    fn run(&self) {
        self.0.found.wake();
    }
}

#[test]
fn another_thread_polls_while_a_callback_runs() {
    explore_within(1, || {
        let scene = Scene::new();
        let spinner = Arc::clone(&scene);
        let spinner = thread::spawn(move || spinner.spin());
        scene.ready.push(Arc::new(Awaiting(Arc::clone(&scene))));
        scene.spin();
        spinner.join().unwrap();
    });
}

/// Two threads that wait, each for an entity of its own, of which one polls for both.
struct Waiters {
    handover: Arc<Handover<Polled>>,
    signals: [Arc<Signal>; 2],
    /// What a thread that polls is to find.
    arrived: Mutex<[bool; 2]>,
    /// What it has found.
    is_ready: Mutex<[bool; 2]>,
}

impl Waiters {
    fn new() -> Arc<Self> {
        let handover = handed_over();
        let signals = [0, 1].map(|_| Signal::new(handover.take().waker.clone()));
        Arc::new(Self { handover, signals, arrived: Mutex::default(), is_ready: Mutex::default() })
    }

    fn arrive(&self, entity: usize) {
        self.arrived.lock().unwrap()[entity] = true;
        self.handover.wake();
    }

    fn wait(&self, entity: usize) {
        let signal = &self.signals[entity];
        loop {
            signal.reset();
            if self.is_ready.lock().unwrap()[entity] {
                self.handover.wake_parked();
                return;
            }
            if let Some(polled) = self.handover.take_or_park(signal, None) {
                self.poll(polled, signal);
            }
        }
    }

    fn poll(&self, polled: MutexGuard<'_, Polled>, signal: &Signal) {
        self.handover.poll_as(Poller::Waiter);
        let waits = signal.begin_polling() && !self.handover.is_wanted();
        if waits {
            polled.waker.wait();
        }
        let arrived = std::mem::take(&mut *self.arrived.lock().unwrap());
        for (entity, _) in arrived.iter().enumerate().filter(|(_, arrived)| **arrived) {
            self.is_ready.lock().unwrap()[entity] = true;
            self.signals[entity].set();
        }
        self.handover.leave(polled);
        signal.end_polling();
        if !waits {
            thread::yield_now();
        }
    }
}

/// What the second thread waits for arrives once the first has what it waited for, and polls no longer. Interrupted more often, they
/// take it from each other for longer than loom follows.
#[test]
fn thread_that_waits_polls_once_the_other_has_what_it_waited_for() {
    explore_within(1, || {
        let waiters = Waiters::new();
        let [first, second] = [(); 2].map(|()| Arc::clone(&waiters));
        let first = thread::spawn(move || {
            first.wait(0);
            first.arrive(1);
        });
        let second = thread::spawn(move || second.wait(1));
        waiters.arrive(0);
        [first, second].into_iter().for_each(|thread| thread.join().unwrap());
    });
}
