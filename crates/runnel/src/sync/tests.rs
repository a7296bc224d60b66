//! Tests of the check in debug builds, and of the table in ARCHITECTURE.md.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::*;

/// The panic message of `run`.
#[cfg(debug_assertions)]
fn panic_of(run: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("a panic");
    *panic.downcast::<String>().expect("a text")
}

#[test]
#[cfg(debug_assertions)]
fn outer_class_after_inner_class_panics_with_both_places() {
    let (outer, inner) = (Mutex::new(Class::Driver, ()), Mutex::new(Class::Publication, ()));
    drop((lock(&outer), lock(&inner)));
    let held = lock(&inner);
    let panic = panic_of(|| drop(lock(&outer)));
    let here = panic.matches("sync/tests.rs:").count();
    assert!(panic.contains("Driver is locked while Publication (locked at"), "{panic}");
    // The other place is that of the panic itself, which is not in its message.
    assert_eq!(here, 1, "{panic}");
    assert!(panic_of(|| drop(try_lock(&outer))).contains("Driver is locked while Publication"));
    drop(held);
    drop(lock(&outer));
}

#[test]
#[cfg(debug_assertions)]
fn two_mutexes_of_one_class_are_not_held_at_once() {
    let mutexes = [0, 1].map(|number| Mutex::new(Class::Publication, number));
    let _held = lock(&mutexes[0]);
    assert!(panic_of(|| drop(lock(&mutexes[1]))).contains("Publication is locked while Publication"));
}

#[test]
fn guards_are_dropped_in_any_order() {
    let (outer, inner) = (Mutex::new(Class::Driver, ()), Mutex::new(Class::Publication, ()));
    let (first, second) = (lock(&outer), lock(&inner));
    drop(first);
    drop(second);
    drop((lock(&outer), lock(&inner)));
}

#[test]
#[cfg(debug_assertions)]
fn wait_with_another_lock_held_panics() {
    let (outer, inner) = (Mutex::new(Class::Driver, ()), Mutex::new(Class::ReadyQueue, ()));
    let arrived = Condvar::new();
    let wait = || drop(arrived.wait_timeout(lock(&inner), Duration::ZERO));
    wait();
    let _held = lock(&outer);
    assert!(panic_of(wait).contains("a wait begins while Driver"));
}

#[test]
#[cfg(debug_assertions)]
fn callback_with_a_lock_held_panics() {
    let (callback, driver) = (TryMutex::new(()), Mutex::new(Class::Driver, ()));
    let _running = callback.try_lock();
    assert_unlocked("a callback");
    let _held = lock(&driver);
    assert!(panic_of(|| assert_unlocked("a callback")).contains("a callback begins while Driver"));
    assert_may_lock(Class::Publication, "a logger");
}

#[test]
fn panic_under_a_lock_leaves_it_usable() {
    let mutex = Mutex::new(Class::Driver, 0);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        *lock(&mutex) += 1;
        let _held = lock(&mutex);
        panic!("as it is to");
    }));
    assert!(panic.is_err());
    assert_eq!(*lock(&mutex), 1);
}

/// The rows of the table, from the documentation of the classes.
fn rows() -> Vec<String> {
    let (_, classes) = include_str!("order.rs").split_once("in_order! {\n").expect("the list");
    let mut rows = Vec::new();
    let mut words = String::new();
    for line in classes.lines().map(str::trim) {
        if let Some(more) = line.strip_prefix("///") {
            words += more;
        } else if let Some(class) = line.strip_suffix(',') {
            rows.push(format!("| `{class}` |{} |", std::mem::take(&mut words)));
        }
    }
    rows
}

#[test]
fn architecture_page_has_the_order() {
    let page = include_str!("../../../../ARCHITECTURE.md");
    let (_, section) = page.split_once("\n## Lock order\n").expect("its section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let shown: Vec<_> = section.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows().len(), Class::ALL.len());
    assert!(shown == rows(), "ARCHITECTURE.md is to have this:\n{}", rows().join("\n"));
}
