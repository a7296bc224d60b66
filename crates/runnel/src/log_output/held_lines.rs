//! Lines that a thread logs while it holds a lock that the program's logger may need. They are written after it.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};

use super::console;

thread_local! {
    static HELD: RefCell<Held> =
        const { RefCell::new(Held { holders: 0, lines: ManuallyDrop::new(Vec::new()) }) };
}

/// Without a destructor, so that a thread can hold lines until it has ended.
struct Held {
    holders: usize,
    /// Empty, without memory, while nothing holds lines.
    lines: ManuallyDrop<Vec<(log::Level, String)>>,
}

/// Holds back the lines of the library that this thread logs, until the last one of the thread is dropped.
pub(crate) struct HeldLines {
    // It is of this thread.
    _thread: PhantomData<*const ()>,
}

impl HeldLines {
    pub(crate) fn hold() -> Self {
        HELD.with_borrow_mut(|held| held.holders += 1);
        Self { _thread: PhantomData }
    }
}

impl Drop for HeldLines {
    fn drop(&mut self) {
        let lines = HELD.with_borrow_mut(|held| {
            held.holders -= 1;
            if held.holders == 0 { mem::take(&mut *held.lines) } else { Vec::new() }
        });
        for (level, line) in lines {
            console::log_line(level, format_args!("{line}"));
        }
    }
}

/// Keeps a line for later if this thread holds lines back.
pub(super) fn keep(level: log::Level, text: std::fmt::Arguments<'_>) -> bool {
    let is_held = HELD.with_borrow(|held| held.holders > 0);
    if is_held {
        let line = text.to_string();
        HELD.with_borrow_mut(|held| held.lines.push((level, line)));
    }
    is_held
}

/// The number of lines that this thread holds back.
#[cfg(test)]
pub(crate) fn count() -> usize {
    HELD.with_borrow(|held| held.lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_until_the_outermost_holder_ends() {
        let line = || keep(log::Level::Debug, format_args!("a line"));
        assert!(!line(), "nothing holds it");
        let outer = HeldLines::hold();
        let inner = HeldLines::hold();
        assert!(line() && count() == 1);
        drop(inner);
        assert!(line() && count() == 2);
        drop(outer);
        assert!(!line() && count() == 0);
    }

    /// A thread-local value of the user, which holds the handle of a goal.
    struct Last;

    impl Drop for Last {
        fn drop(&mut self) {
            let lines = HeldLines::hold();
            keep(log::Level::Debug, format_args!("a line"));
            drop(lines);
        }
    }

    thread_local! {
        static LAST: Last = const { Last };
    }

    /// In either order of the thread's first uses. A panic would abort the process.
    #[test]
    fn thread_that_ends_holds_lines() {
        let end_threads = [
            std::thread::spawn(|| {
                LAST.with(|_| {});
                drop(HeldLines::hold());
            }),
            std::thread::spawn(|| {
                drop(HeldLines::hold());
                LAST.with(|_| {});
            }),
        ];
        end_threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    }
}
