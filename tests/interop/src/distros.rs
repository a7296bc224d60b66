//! Installed ROS 2 releases; `./test` installs them.

use std::path::PathBuf;

/// A ROS 2 release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distro {
    /// Kilted Kaiju, of 2025.
    Kilted,
    /// Jazzy Jalisco, of 2024, with long-term support.
    Jazzy,
}

impl Distro {
    /// Both.
    pub const ALL: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];
}

/// The Python with `rclpy` and the standard messages of a release.
///
/// # Panics
/// If it is not installed.
pub fn python(distro: Distro) -> PathBuf {
    match distro {
        Distro::Kilted => environment("ros2-kilted"),
        Distro::Jazzy => environment("ros2-jazzy"),
    }
}

/// The Python of an environment that `./test` creates.
pub(crate) fn environment(name: &str) -> PathBuf {
    let tools = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools"));
    let python = tools.join(name).join("bin/python3");
    assert!(python.is_file(), "{} is missing: run ./test", python.display());
    python
}
