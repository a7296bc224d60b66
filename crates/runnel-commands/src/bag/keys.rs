//! Keys that are typed on the terminal while a command runs.

use runnel_io::terminal::TerminalInput;

/// Begins the sequences of keys that are no characters.
const ESCAPE: u8 = 0x1b;

/// The terminal without echo, whose keys are read one by one. Dropping this restores the terminal.
pub struct Keys(TerminalInput);

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
        TerminalInput::open().map(Self)
    }

    /// A key that was typed, if any.
    pub fn pressed(&self) -> Option<Key> {
        key(|| self.0.byte())
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
