//! Loom tests of the handover: every interleaving of a few threads. Loom reports a thread that waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::sync::Mutex;
use loom::thread;

use crate::ready::Task;
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

/// The polled value: a reactor without events, so that only a wake ends a wait.
struct Polled {
    waker: Waker,
    /// How often another thread has locked it.
    visits: usize,
}

fn handed_over() -> Arc<Handover<Polled>> {
    let waker = Waker::new();
    Arc::new(Handover::new(Polled { waker: waker.clone(), visits: 0 }, waker))
}

fn visit(handover: &Handover<Polled>) {
    handover.take().visits += 1;
}

/// Polls once with the value locked.
fn poll(handover: &Handover<Polled>, polled: MutexGuard<'_, Polled>, poller: Poller) {
    handover.poll_as(poller);
    let is_wanted = handover.is_wanted();
    if !is_wanted {
        polled.waker.wait();
    }
    handover.leave(polled);
    if is_wanted {
        // The thread that wants the value may not have locked the gate yet.
        thread::yield_now();
    }
}

/// Polls until other threads have locked the value `visits` times.
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
fn polling_thread_yields_to_another() {
    explore(|| {
        let handover = handed_over();
        let visitor = Arc::clone(&handover);
        let visitor = thread::spawn(move || visit(&visitor));
        poll_until(&handover, 1);
        visitor.join().unwrap();
    });
}

#[test]
fn polling_thread_yields_to_two_others() {
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

/// Polls as the background thread until the context ends.
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
fn leaving_thread_is_followed_by_one_background_thread() {
    explore(|| {
        let handover = handed_over();
        assert!(handover.begin_background(), "none runs yet");
        let background = Arc::clone(&handover);
        // It has seen the other thread poll for long enough to end.
        let background = thread::spawn(move || {
            background.end_background();
            background.resume_background()
        });
        let polled = handover.take();
        handover.poll_as(Poller::Executor);
        handover.leave(polled);
        let begun = handover.begin_background();
        let resumed = background.join().unwrap();
        assert!(begun != resumed, "another was started: {begun}; the first continues: {resumed}");
    });
}

/// Two threads of an executor.
struct Scene {
    handover: Arc<Handover<Polled>>,
    ready: ReadyQueue,
    /// Input for the polling thread.
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
        let has_leader = || self.handover.is_polled_by(Poller::Executor);
        if let Some(due) = self.ready.pop() {
            due.run();
        } else if has_leader() {
            self.ready.follow(None, has_leader);
        } else {
            self.handover.yield_to_wanting();
            let polled = self.handover.take();
            self.handover.poll_as(Poller::Executor);
            let must_not_wait = self.stop.load(Ordering::SeqCst) || self.handover.is_wanted();
            if !must_not_wait && self.ready.sleep_if_empty() {
                polled.waker.wait();
            }
            if std::mem::take(&mut *self.arrived.lock().unwrap()) {
                self.ready.push(Arc::new(Received(Arc::clone(self))));
            }
            self.ready.clear_asleep();
            self.handover.leave(polled);
            if must_not_wait {
                thread::yield_now();
            }
        }
    }

    fn end(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.ready.close();
    }
}

/// Ends the spinning after this many runs.
struct Last(Arc<Scene>, usize);

impl Task for Last {
    fn run(&self) {
        let Self(scene, count) = self;
        if scene.runs.fetch_add(1, Ordering::Relaxed) + 1 == *count {
            scene.end();
        }
    }
}

#[test]
fn two_executor_threads_run_each_callback_and_end() {
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

/// Runs until another thread has received the input.
struct Awaiting(Arc<Scene>);

impl Task for Awaiting {
    fn run(&self) {
        let Self(scene) = self;
        *scene.arrived.lock().unwrap() = true;
        scene.handover.wake();
        scene.found.wait();
        scene.end();
    }
}

/// The input was received.
struct Received(Arc<Scene>);

impl Task for Received {
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

/// Two threads that wait for different entities. One polls for both.
struct Waiters {
    handover: Arc<Handover<Polled>>,
    signals: [Arc<Signal>; 2],
    /// Input for the polling thread.
    arrived: Mutex<[bool; 2]>,
    /// Entities that the polling thread has made ready.
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

/// The second thread's input arrives after the first thread has its own and no longer polls. With more preemptions they
/// hand over to each other for longer than loom explores.
#[test]
fn waiting_thread_takes_over_polling() {
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
