//! Keys that are typed on the terminal while a command runs.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// Disables a special character of the terminal.
const DISABLED: u8 = 0;

/// Begins the sequences of keys that are no characters.
const ESCAPE: u8 = 0x1b;

/// The terminal without echo, whose keys are read one by one. Dropping this restores the terminal.
pub struct Keys {
    before: Termios,
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Char(u8),
    Up,
    Down,
    Right,
}

impl Keys {
    /// Takes over the terminal; `None` if standard input is no terminal, or another process is in the foreground.
    pub fn open() -> Option<Self> {
        let is_in_front = tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp());
        let before = tcgetattr(io::stdin()).ok().filter(|_| is_in_front)?;
        let keys = Self { before };
        let mut quiet = keys.before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        // They would leave the terminal in this mode. Ctrl-C stays a signal.
        quiet.special_codes[SpecialCodeIndex::VSUSP] = DISABLED;
        quiet.special_codes[SpecialCodeIndex::VQUIT] = DISABLED;
        tcsetattr(io::stdin(), OptionalActions::Now, &quiet).ok()?;
        Some(keys)
    }

    /// A key that was typed, if any.
    pub fn pressed(&self) -> Option<Key> {
        key(|| self.byte())
    }

    /// A byte that was typed, if any.
    fn byte(&self) -> Option<u8> {
        let stdin = io::stdin();
        let mut waits = [PollFd::new(&stdin, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut waits, Some(&now)).ok().filter(|ready| *ready > 0)?;
        let mut byte = [0];
        (rustix::io::read(&stdin, &mut byte).ok()? == 1).then_some(byte[0])
    }
}

/// The next key of these bytes. Cursor keys are escape sequences of three bytes, which terminals send at once.
fn key(mut next: impl FnMut() -> Option<u8>) -> Option<Key> {
    let first = next()?;
    if first != ESCAPE {
        return Some(Key::Char(first));
    }
    match (next(), next()) {
        (Some(b'[' | b'O'), Some(b'A')) => Some(Key::Up),
        (Some(b'[' | b'O'), Some(b'B')) => Some(Key::Down),
        (Some(b'[' | b'O'), Some(b'C')) => Some(Key::Right),
        _ => None,
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // If the terminal is gone, nothing can be reported. Input typed meanwhile is discarded.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_keys_are_sequences() {
        let mut typed = b" \x1b[Cs\x1bOA\x1b[D\x1b[B\x1b".iter().copied();
        let keys: Vec<Option<Key>> = (0..7).map(|_| key(|| typed.next())).collect();
        let char = |byte: u8| Some(Key::Char(byte));
        let expected = [char(b' '), Some(Key::Right), char(b's'), Some(Key::Up), None, Some(Key::Down), None];
        assert_eq!(keys, expected);
    }
}
