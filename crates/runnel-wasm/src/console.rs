//! The standard output of a guest.

use std::io::{self, Write};

use runnel::core::sanitize;

/// Longest line that is collected for the console.
const LONGEST_LINE: usize = 4096;

/// The standard output and the standard error of a node, written line by line.
#[derive(Default)]
pub struct Console {
    lines: [Vec<u8>; 2],
}

impl Console {
    /// Writes to the standard output (1) or the standard error (2).
    pub fn write(&mut self, descriptor: u32, bytes: &[u8]) {
        let is_error = descriptor == 2;
        let line = &mut self.lines[usize::from(is_error)];
        for byte in bytes {
            line.push(*byte);
            if *byte == b'\n' || line.len() >= LONGEST_LINE {
                put(is_error, line);
            }
        }
    }

    /// What has no end of line yet, of standard output and standard error.
    pub fn unfinished(&self) -> &[Vec<u8>; 2] {
        &self.lines
    }

    /// Continues with the lines of a checkpoint.
    pub fn restore(&mut self, unfinished: &[Vec<u8>; 2]) {
        for (descriptor, line) in (1..).zip(unfinished) {
            self.write(descriptor, line);
        }
    }

    /// Writes what has no end of line.
    pub fn flush(&mut self) {
        for (place, line) in self.lines.iter_mut().enumerate() {
            put(place == 1, line);
        }
    }
}

/// Writes a line. What would steer the terminal is shown as text: the node is not trusted.
fn put(is_error: bool, line: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(line);
    let shown = sanitize::block(&text);
    // A closed console is no reason to end a node.
    _ = if is_error {
        io::stderr().write_all(shown.as_bytes())
    } else {
        io::stdout().write_all(shown.as_bytes())
    };
    line.clear();
}
