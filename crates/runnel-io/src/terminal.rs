//! The terminal of a program that reads keys one by one.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// Disables a special character of the terminal.
const DISABLED: u8 = 0;

/// The terminal without echo, whose bytes are read as they are typed. Dropping this restores the terminal.
pub struct TerminalInput {
    before: Termios,
}

impl TerminalInput {
    /// Takes over the terminal; `None` if standard input is no terminal, or another process is in the foreground.
    pub fn open() -> Option<Self> {
        let is_in_front = tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp());
        let before = tcgetattr(io::stdin()).ok().filter(|_| is_in_front)?;
        let input = Self { before };
        let mut quiet = input.before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        // They would leave the terminal in this mode. Ctrl-C stays a signal.
        quiet.special_codes[SpecialCodeIndex::VSUSP] = DISABLED;
        quiet.special_codes[SpecialCodeIndex::VQUIT] = DISABLED;
        tcsetattr(io::stdin(), OptionalActions::Now, &quiet).ok()?;
        Some(input)
    }

    /// A byte that was typed, if any.
    pub fn byte(&self) -> Option<u8> {
        let stdin = io::stdin();
        let mut waits = [PollFd::new(&stdin, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut waits, Some(&now)).ok().filter(|ready| *ready > 0)?;
        let mut byte = [0];
        (rustix::io::read(&stdin, &mut byte).ok()? == 1).then_some(byte[0])
    }
}

impl Drop for TerminalInput {
    fn drop(&mut self) {
        // If the terminal is gone, nothing can be reported. Input typed meanwhile is discarded.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}
