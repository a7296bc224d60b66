//! The queue in every interleaving of a few threads. Loom reports one that sleeps for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::thread;

use super::Runnable;
use crate::sync::model::{Waker, explore, explore_within};
use queue::ReadyQueue;

#[expect(dead_code, reason = "the models do not use all of it")]
#[expect(clippy::duplicate_mod, reason = "the same code, of other primitives")]
#[path = "queue.rs"]
pub(crate) mod queue;

mod primitives {
    pub(super) use crate::sync::Class;
    pub(super) use crate::sync::model::{AtomicUsize, Condvar, Mutex, Ordering, Waker, fence, lock, mark};
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
