//! Loom tests of a group: every interleaving of a few threads. Loom reports a callback that never runs.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use crate::sync::model::explore;
use group::{Due, ExclusiveGroup};

#[expect(clippy::duplicate_mod, reason = "the same code, of other primitives")]
#[path = "group.rs"]
mod group;

mod primitives {
    pub(super) use crate::sync::Class;
    pub(super) use crate::sync::model::{
        AtomicBool, AtomicUsize, Mutex, Ordering, fence, lock, thread_token,
    };
}

/// A group, the counts of its callback (queued again, run), and a value that it writes without a lock.
struct Scene {
    group: ExclusiveGroup<Queued>,
    due: AtomicUsize,
    ran: AtomicUsize,
    unlocked: UnsafeCell<()>,
}

/// The queued callback.
struct Queued(Arc<Scene>);

impl Due for Queued {
    fn push(self) {
        self.0.due.fetch_add(1, Ordering::SeqCst);
    }
}

impl Scene {
    fn new() -> Arc<Self> {
        let (due, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { group: ExclusiveGroup::new(), due, ran, unlocked: UnsafeCell::new(()) })
    }

    /// Runs the callback.
    fn run(scene: &Arc<Self>) {
        let Ok(_entered) = scene.group.try_enter() else {
            return scene.group.wait(Queued(Arc::clone(scene)));
        };
        // Loom reports concurrent access by a second thread.
        scene.unlocked.with_mut(|_| ());
        scene.ran.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn runs_are_neither_lost_nor_concurrent() {
    explore(|| {
        let scene = Scene::new();
        let others = [(); 2].map(|()| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || Scene::run(&scene))
        });
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(scene.ran.load(Ordering::Relaxed) + scene.due.load(Ordering::SeqCst), 2);
    });
}
