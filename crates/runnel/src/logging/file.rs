//! A node's log as a file, for those who ask for one: by `ROS_LOG_DIR`, or `__log:=FILE` as roslaunch does.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::environment;

/// Bytes after which a file is put aside as `FILE.1` and a new one begun, so that a log never fills a disk.
const LONGEST: u64 = 50 << 20;

/// A file that lines are appended to, and that is put aside as `FILE.1` when it is 50 MiB long.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

/// Where a node's lines are to be kept, if anywhere.
pub(super) fn path(argument: Option<&str>, node: &str, pid: i32) -> Option<PathBuf> {
    let folder = || environment::variable("ROS_LOG_DIR").map(|folder| path_in(folder.as_ref(), node, pid));
    argument.map(PathBuf::from).or_else(folder)
}

/// As rospy names it: `robot_camera-4711.log`.
fn path_in(folder: &Path, node: &str, pid: i32) -> PathBuf {
    let name = node.trim_start_matches('/').replace('/', "_");
    folder.join(format!("{name}-{pid}.log"))
}

impl LogFile {
    /// Opens or makes the file, and the folders above it.
    ///
    /// # Errors
    /// As the operating system has them.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path, file, bytes })
    }

    /// Appends a line, whose end is added.
    ///
    /// # Errors
    /// As the operating system has them.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        if self.bytes >= LONGEST {
            self.begin_anew()?;
        }
        let bytes = [line.as_bytes(), b"\n"].concat();
        self.bytes += bytes.len() as u64;
        // One call: lines of other processes that share the file stand between ours, not in them.
        self.file.write_all(&bytes)
    }

    fn begin_anew(&mut self) -> io::Result<()> {
        let mut aside = self.path.clone().into_os_string();
        aside.push(".1");
        fs::rename(&self.path, aside)?;
        *self = Self::open(std::mem::take(&mut self.path))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_node_and_process() {
        let path = path_in("/var/log".as_ref(), "/robot/camera", 4711);
        assert_eq!(path, Path::new("/var/log/robot_camera-4711.log"));
    }

    #[test]
    fn a_long_file_is_put_aside() {
        let folder = std::env::temp_dir().join(format!("runnel_log_file_{}", std::process::id()));
        let path = folder.join("deep/node.log");
        let mut file = LogFile::open(path.clone()).expect("opened");
        file.line("first").expect("written");
        file.bytes = LONGEST;
        file.line("second").expect("written");
        let read = |path: &Path| fs::read_to_string(path).expect("readable");
        let (now, before) = (read(&path), read(&folder.join("deep/node.log.1")));
        let again = LogFile::open(path).expect("opened").bytes;
        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!((now.as_str(), before.as_str(), again), ("second\n", "first\n", 7));
    }
}
