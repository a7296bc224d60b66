//! The queue in every interleaving of a few threads. Loom reports one that sleeps for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::thread;

use super::Runnable;
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
        AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, Waker, fence, lock, mark,
    };
}

/// An entity, and a thread that waits for it.
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
fn entity_that_becomes_ready_wakes_its_waiter() {
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

/// Counts how often it has run.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Runnable for Counted {
    fn run(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A queue, the reactor that it wakes, and a callback.
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
        self.ready.push(Arc::clone(&self.callback) as Arc<dyn Runnable>);
    }

    /// Runs `count` callbacks, and waits for them in the reactor.
    fn run(&self, count: usize) {
        for _ in 0..count {
            self.next().run();
        }
    }

    fn next(&self) -> Arc<dyn Runnable> {
        loop {
            if let Some(due) = self.ready.pop() {
                return due;
            }
            if self.ready.sleep_if_empty() {
                self.waker.wait();
            }
            self.ready.awake();
        }
    }

    fn runs(&self) -> usize {
        self.callback.0.load(Ordering::Relaxed)
    }
}

#[test]
fn callback_that_becomes_due_wakes_the_thread_in_the_reactor() {
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

/// Its time is over when it has been told of the callback.
#[test]
fn thread_that_leaves_passes_on_what_it_was_told_of() {
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

/// Threads that spin, of which one at a time leads: waits in the reactor.
struct Spinning {
    scene: Arc<Scene>,
    is_led: AtomicBool,
    has_ended: AtomicBool,
    /// Something has arrived that the thread which leads is to find.
    arrived: Mutex<bool>,
    found: Waker,
}

impl Spinning {
    fn spin(&self) {
        let Scene { ready, waker, .. } = &*self.scene;
        let is_led = || self.is_led.load(Ordering::SeqCst);
        let leads = || self.is_led.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        while !self.has_ended.load(Ordering::SeqCst) {
            if let Some(due) = ready.pop() {
                due.run();
            } else if !leads() {
                ready.follow(None, is_led);
            } else {
                if ready.sleep_if_empty() && !self.has_ended.load(Ordering::SeqCst) {
                    waker.wait();
                }
                ready.awake();
                if std::mem::take(&mut *lock(&self.arrived)) {
                    self.found.wake();
                }
                self.is_led.store(false, Ordering::SeqCst);
            }
        }
    }
}

/// Runs until the thread that leads has found what arrives.
struct Awaiting(Arc<Spinning>);

impl Runnable for Awaiting {
    fn run(&self) {
        let Self(spinning) = self;
        *lock(&spinning.arrived) = true;
        spinning.scene.waker.wake();
        spinning.found.wait();
        spinning.has_ended.store(true, Ordering::SeqCst);
        spinning.scene.ready.close();
    }
}

/// Only the push wakes the thread that follows.
#[test]
fn thread_that_follows_leads_while_a_callback_runs() {
    explore_within(2, || {
        let spinning = Arc::new(Spinning {
            scene: Scene::new(),
            is_led: AtomicBool::new(false),
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
