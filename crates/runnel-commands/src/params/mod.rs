//! Parameters as text, as ROS 1 reads and writes them.

mod block_style;
pub mod pyyaml;
mod read;
pub mod ros2;
pub mod yaml;

use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// The text of a file; `-` is standard input.
///
/// # Errors
/// When it cannot be read, or is not UTF-8.
pub fn file_text(file: &Path) -> io::Result<String> {
    if file.as_os_str() != "-" {
        return fs::read_to_string(file);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(text)
}
