//! Padding of files that were written in whole blocks and not finished.

use std::io::{self, Read};

/// Whether the rest of the input is zeros. Reads up to the first other byte.
pub(crate) fn is_zero(input: &mut impl Read) -> io::Result<bool> {
    // A file may be allocated far beyond its end.
    let mut buffer = vec![0; 64 << 10];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(true),
            len if buffer[..len].iter().any(|byte| *byte != 0) => return Ok(false),
            _ => {}
        }
    }
}
