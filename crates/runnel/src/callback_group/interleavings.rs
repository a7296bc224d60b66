//! A group in every interleaving of a few threads. Loom reports a turn that never comes.

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
    pub(super) use crate::sync::model::{AtomicBool, AtomicUsize, Mutex, Ordering, fence, lock, mark};
}

/// A group, how often its callback is due again and has run, and what it writes without any lock.
struct Scene {
    group: ExclusiveGroup<Turn>,
    due: AtomicUsize,
    ran: AtomicUsize,
    unlocked: UnsafeCell<()>,
}

/// The callback's turn.
struct Turn(Arc<Scene>);

impl Due for Turn {
    fn push(self) {
        self.0.due.fetch_add(1, Ordering::SeqCst);
    }
}

impl Scene {
    fn new() -> Arc<Self> {
        let (due, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { group: ExclusiveGroup::new(), due, ran, unlocked: UnsafeCell::new(()) })
    }

    /// The callback has its turn.
    fn run(scene: &Arc<Self>) {
        let Ok(_entered) = scene.group.try_enter() else {
            return scene.group.wait(Turn(Arc::clone(scene)));
        };
        // Loom reports a second thread that does so.
        scene.unlocked.with_mut(|_| ());
        scene.ran.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn turns_are_neither_lost_nor_side_by_side() {
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
