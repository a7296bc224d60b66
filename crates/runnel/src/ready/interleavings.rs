//! Loom tests of the queue: every interleaving of a few threads. Loom reports a thread that sleeps for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::thread;

use super::Task;
use crate::sync::Class;
use crate::sync::model::{AtomicBool, Mutex, Waker, explore, explore_within, lock};
use listeners::Listeners;
use queue::ReadyQueue;
use signal::Signal;

#[expect(dead_code, reason = "the models do not use all of it")]
#[expect(clippy::duplicate_mod, reason = "the same code, of other primitives")]
#[path = "queue.rs"]
pub(crate) mod queue;

#[expect(clippy::duplicate_mod, reason = "the same code, of other primitives")]
#[path = "signal.rs"]
pub(crate) mod signal;

#[expect(dead_code, reason = "the models do not use all of it")]
#[expect(clippy::duplicate_mod, reason = "the same code, of other primitives")]
#[path = "listeners.rs"]
pub(crate) mod listeners;

mod primitives {
    pub(super) use crate::sync::Class;
    pub(super) use crate::sync::model::{
        AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, Waker, fence, lock, thread_token,
    };
}

/// An entity and its waiting thread.
struct Waiting {
    is_ready: Mutex<bool>,
    listeners: Listeners,
    signal: Arc<Signal>,
    reactor: Waker,
}

impl Waiting {
    fn new() -> Arc<Self> {
        let reactor = Waker::new();
        let (is_ready, signal) = (Mutex::new(Class::GuardCondition, false), Signal::new(reactor.clone()));
        Arc::new(Self { is_ready, listeners: Listeners::new(), signal, reactor })
    }

    fn become_ready(&self) {
        *lock(&self.is_ready) = true;
        self.listeners.notify();
    }

    fn wait(&self, once: impl Fn(&Self)) {
        self.listeners.add(&std::task::Waker::from(Arc::clone(&self.signal)));
        loop {
            self.signal.reset();
            if *lock(&self.is_ready) {
                return;
            }
            once(self);
        }
    }

    fn poll(&self) {
        if self.signal.begin_polling() {
            self.reactor.wait();
        }
        self.signal.end_polling();
    }

    fn park(&self) {
        self.signal.park(None, || true);
    }
}

#[test]
fn ready_entity_wakes_its_waiter() {
    for once in [Waiting::poll, Waiting::park] {
        explore(move || {
            let waiting = Waiting::new();
            let entity = Arc::clone(&waiting);
            let entity = thread::spawn(move || entity.become_ready());
            waiting.wait(once);
            entity.join().unwrap();
        });
    }
}

/// Counts its runs.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Task for Counted {
    fn run(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A queue, its reactor and a callback.
struct Scene {
    ready: ReadyQueue,
    waker: Waker,
    callback: Arc<Counted>,
}

impl Scene {
    fn new() -> Arc<Self> {
        let waker = Waker::new();
        Arc::new(Self { ready: ReadyQueue::new(waker.clone()), waker, callback: Arc::default() })
    }

    fn push(&self) {
        self.ready.push(Arc::clone(&self.callback) as Arc<dyn Task>);
    }

    /// Runs `count` callbacks, waiting for them in the reactor.
    fn run(&self, count: usize) {
        for _ in 0..count {
            self.next().run();
        }
    }

    fn next(&self) -> Arc<dyn Task> {
        loop {
            if let Some(due) = self.ready.pop() {
                return due;
            }
            if self.ready.sleep_if_empty() {
                self.waker.wait();
            }
            self.ready.clear_asleep();
        }
    }

    fn runs(&self) -> usize {
        self.callback.0.load(Ordering::Relaxed)
    }
}

#[test]
fn due_callback_wakes_thread_in_reactor() {
    explore(|| {
        let scene = Scene::new();
        let pusher = Arc::clone(&scene);
        let pusher = thread::spawn(move || pusher.push());
        scene.run(1);
        pusher.join().unwrap();
        assert_eq!((scene.runs(), scene.ready.len()), (1, 0));
    });
}

#[test]
fn callbacks_of_two_threads_run_once_each() {
    explore_within(2, || {
        let scene = Scene::new();
        let pushers = [0, 1].map(|_| {
            let pusher = Arc::clone(&scene);
            thread::spawn(move || pusher.push())
        });
        scene.run(2);
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        assert_eq!((scene.runs(), scene.ready.len()), (2, 0));
    });
}

/// The thread stops waiting after it was notified of the callback.
#[test]
fn leaving_thread_passes_its_notification_on() {
    explore_within(2, || {
        let scene = Scene::new();
        let leaving = Arc::clone(&scene);
        let leaving = thread::spawn(move || {
            leaving.ready.follow(None, || true);
            leaving.ready.wake_another();
        });
        let pusher = Arc::clone(&scene);
        let pusher = thread::spawn(move || pusher.push());
        scene.run(1);
        scene.ready.close();
        [leaving, pusher].into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((scene.runs(), scene.ready.len()), (1, 0));
    });
}

/// Executor threads. One at a time leads, which means that it waits in the reactor.
struct Spinning {
    scene: Arc<Scene>,
    has_leader: AtomicBool,
    has_ended: AtomicBool,
    /// Input for the leading thread.
    arrived: Mutex<bool>,
    found: Waker,
}

impl Spinning {
    fn spin(&self) {
        let Scene { ready, waker, .. } = &*self.scene;
        let has_leader = || self.has_leader.load(Ordering::SeqCst);
        let leads =
            || self.has_leader.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        while !self.has_ended.load(Ordering::SeqCst) {
            if let Some(due) = ready.pop() {
                due.run();
            } else if !leads() {
                ready.follow(None, has_leader);
            } else {
                if ready.sleep_if_empty() && !self.has_ended.load(Ordering::SeqCst) {
                    waker.wait();
                }
                ready.clear_asleep();
                if std::mem::take(&mut *lock(&self.arrived)) {
                    self.found.wake();
                }
                self.has_leader.store(false, Ordering::SeqCst);
            }
        }
    }
}

/// Runs until the leading thread has received the input.
struct Awaiting(Arc<Spinning>);

impl Task for Awaiting {
    fn run(&self) {
        let Self(spinning) = self;
        *lock(&spinning.arrived) = true;
        spinning.scene.waker.wake();
        spinning.found.wait();
        spinning.has_ended.store(true, Ordering::SeqCst);
        spinning.scene.ready.close();
    }
}

/// Only the push wakes the follower.
#[test]
fn follower_leads_while_callback_runs() {
    explore_within(2, || {
        let spinning = Arc::new(Spinning {
            scene: Scene::new(),
            has_leader: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            arrived: Mutex::new(Class::ReadyQueue, false),
            found: Waker::new(),
        });
        let spinners = [0, 1].map(|_| {
            let spinner = Arc::clone(&spinning);
            thread::spawn(move || spinner.spin())
        });
        spinning.scene.ready.push(Arc::new(Awaiting(Arc::clone(&spinning))));
        spinners.into_iter().for_each(|spinner| spinner.join().unwrap());
    });
}
