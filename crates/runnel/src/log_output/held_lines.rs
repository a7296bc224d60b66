//! Lines that a thread logs while it holds a lock that the program's logger may need. They are written after it.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem;

use super::console;

thread_local! {
    static HELD: RefCell<Held> = const { RefCell::new(Held { holders: 0, lines: Vec::new() }) };
}

struct Held {
    holders: usize,
    lines: Vec<(log::Level, String)>,
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
            if held.holders == 0 { mem::take(&mut held.lines) } else { Vec::new() }
        });
        for (level, line) in lines {
            console::log_line(level, format_args!("{line}"));
        }
    }
}

/// Keeps a line for later if this thread holds lines back.
pub(super) fn keep(level: log::Level, text: std::fmt::Arguments<'_>) -> bool {
    HELD.with_borrow_mut(|held| {
        let is_held = held.holders > 0;
        if is_held {
            held.lines.push((level, text.to_string()));
        }
        is_held
    })
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
}
