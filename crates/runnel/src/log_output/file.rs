//! Log files: one for each node in ROS 1, on request by `ROS_LOG_DIR` or by `__log:=FILE` as roslaunch does; one for the
//! process in ROS 2.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use runnel_core::sanitize;

use crate::sync::{Class, Mutex, lock};

/// Bytes after which a file is renamed to `FILE.1` and a new one begins, so that a log never fills a disk.
const LONGEST: u64 = 50 << 20;

/// Open regular files of this process: nodes that log to the same file share it.
static OPEN: Mutex<Vec<Weak<Mutex<Open>>>> = Mutex::new(Class::OpenLogFiles, Vec::new());

/// Lines that could not be appended to files.
static UNWRITTEN: AtomicU64 = AtomicU64::new(0);

/// Lines that log files of this process could not store, for example on a full disk.
pub fn unwritten_lines() -> u64 {
    UNWRITTEN.load(Ordering::Relaxed)
}

/// A file to which lines are appended. At 50 MiB it is renamed to `FILE.1` and a new one begins. All users of the same
/// file in one process share it.
#[derive(Clone, Debug)]
pub struct LogFile(Arc<Mutex<Open>>);

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    /// Its length, or the bytes since renaming it failed.
    bytes: u64,
    /// The last line may be incomplete, so the next one begins on a new line.
    torn: bool,
}

/// The path of a node's own log file, named as by rospy: `robot_camera-4711.log`.
pub(crate) fn path_in(folder: &Path, node: &str, pid: i32) -> PathBuf {
    let name = node.trim_start_matches('/').replace('/', "_");
    folder.join(format!("{name}-{pid}.log"))
}

impl LogFile {
    /// Opens or creates the file, and the folders above it. A file that is not regular, such as a device, is never
    /// renamed.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let opened = Open::at(path)?;
        let found = opened.file.metadata()?;
        if !found.is_file() {
            // It is never renamed, and it may be a pipe without a reader, which must not block the users of other
            // files.
            return Ok(Self(Arc::new(Mutex::new(Class::LogFile, opened))));
        }
        let searched = identity(&found);
        let mut all = lock(&OPEN);
        all.retain(|other| other.strong_count() > 0);
        let is_it =
            |other: &Arc<Mutex<Open>>| lock(other).file.metadata().is_ok_and(|it| identity(&it) == searched);
        if let Some(same) = all.iter().filter_map(Weak::upgrade).find(is_it) {
            return Ok(Self(same));
        }
        let opened = Arc::new(Mutex::new(Class::LogFile, opened));
        all.push(Arc::downgrade(&opened));
        Ok(Self(opened))
    }

    /// Appends a line and its newline. The line is sanitized by [`runnel_core::sanitize::log_text`]. A line that could
    /// not be appended completely is counted in [`unwritten_lines`].
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn line(&self, line: &str) -> io::Result<()> {
        let written = lock(&self.0).line(&sanitize::log_text(line));
        if written.is_err() {
            UNWRITTEN.fetch_add(1, Ordering::Relaxed);
        }
        written
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        lock(&self.0).path.clone()
    }
}

impl Open {
    fn at(path: PathBuf) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let bytes = file.metadata()?.len();
        // The file is renamed, never a symbolic link to it.
        let path = path.canonicalize().unwrap_or(path);
        Ok(Self { path, file, bytes, torn: false })
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        if self.bytes >= LONGEST && self.rotate().is_err() {
            // A long file is better than none. The next attempt is after another 50 MiB.
            self.bytes = 0;
        }
        let begin: &[u8] = if self.torn { b"\n" } else { b"" };
        let bytes = [begin, line.as_bytes(), b"\n"].concat();
        // One call, so that lines of other processes that share the file do not mix with ours.
        let written = self.file.write_all(&bytes);
        self.torn = written.is_err();
        self.bytes += if self.torn { 0 } else { bytes.len() as u64 };
        written
    }

    fn rotate(&mut self) -> io::Result<()> {
        let ours = self.file.metadata()?;
        if !ours.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        // Otherwise another process has renamed it already.
        if fs::symlink_metadata(&self.path).is_ok_and(|there| identity(&there) == identity(&ours)) {
            let mut aside = self.path.clone().into_os_string();
            aside.push(".1");
            fs::rename(&self.path, aside)?;
        }
        *self = Self::at(self.path.clone())?;
        Ok(())
    }
}

/// Identifies a file, whatever its name.
fn identity(file: &fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_named_after_node_and_process() {
        let path = path_in("/var/log".as_ref(), "/robot/camera", 4711);
        assert_eq!(path, Path::new("/var/log/robot_camera-4711.log"));
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("runnel_log_{name}_{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }

        fn open(&self, name: &str) -> LogFile {
            LogFile::open(self.0.join(name)).expect("opened")
        }

        fn read(&self, name: &str) -> String {
            fs::read_to_string(self.0.join(name)).expect("readable")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    impl LogFile {
        fn make_long(&self) {
            lock(&self.0).bytes = LONGEST;
        }
    }

    #[test]
    fn long_file_is_rotated() {
        let folder = Folder::new("long");
        let file = folder.open("deep/node.log");
        file.line("first").expect("written");
        file.make_long();
        file.line("second").expect("written");
        assert_eq!([folder.read("deep/node.log"), folder.read("deep/node.log.1")], ["second\n", "first\n"]);
        drop(file);
        assert_eq!(lock(&folder.open("deep/node.log").0).bytes, 7);
    }

    #[test]
    fn nodes_share_log_file() {
        let folder = Folder::new("shared");
        let [one, other] = ["/a/b", "/a_b"].map(|node| path_in(&folder.0, node, 1));
        let one = LogFile::open(one).expect("opened");
        std::os::unix::fs::symlink("a_b-1.log", folder.0.join("link")).expect("a link");
        let (other, linked) = (LogFile::open(other).expect("opened"), folder.open("link"));
        for (file, text) in [(&one, "1"), (&other, "2"), (&linked, "3")] {
            file.line(text).expect("written");
        }
        linked.make_long();
        for (file, text) in [(&one, "4"), (&other, "5"), (&linked, "6")] {
            file.line(text).expect("written");
        }
        assert_eq!([folder.read("a_b-1.log"), folder.read("a_b-1.log.1")], ["4\n5\n6\n", "1\n2\n3\n"]);
        drop((one, other, linked));
        assert_eq!(lock(&folder.open("link").0).bytes, 6, "a closed file is not shared");
    }

    #[test]
    fn target_of_symbolic_link_is_rotated() {
        let folder = Folder::new("linked");
        std::os::unix::fs::symlink("node.log", folder.0.join("link")).expect("a link");
        let file = folder.open("link");
        file.line("first").expect("written");
        file.make_long();
        file.line("second").expect("written");
        assert!(fs::symlink_metadata(folder.0.join("link")).expect("there").is_symlink());
        assert_eq!([folder.read("link"), folder.read("node.log.1")], ["second\n", "first\n"]);
    }

    #[test]
    fn file_rotated_by_other_process_is_not_rotated_again() {
        let folder = Folder::new("others");
        let file = folder.open("node.log");
        file.line("old").expect("written");
        fs::rename(folder.0.join("node.log"), folder.0.join("node.log.1")).expect("renamed");
        fs::write(folder.0.join("node.log"), "theirs\n").expect("written");
        file.make_long();
        file.line("ours").expect("written");
        assert_eq!([folder.read("node.log"), folder.read("node.log.1")], ["theirs\nours\n", "old\n"]);
    }

    #[test]
    fn special_file_is_never_rotated() {
        let folder = Folder::new("pipe");
        let pipe = folder.0.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("run").success());
        let _reader = OpenOptions::new().read(true).write(true).open(&pipe).expect("opened");
        let file = folder.open("pipe");
        file.make_long();
        file.line("on").expect("written");
        assert!(pipe.exists() && !folder.0.join("pipe.1").exists());

        let _stuck = lock(&file.0);
        let (send, opened) = std::sync::mpsc::channel();
        let other = folder.0.join("node.log");
        std::thread::spawn(move || send.send(LogFile::open(other).is_ok()));
        let opened = opened.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(opened, Ok(true), "a pipe without a reader blocks no other file");
    }

    #[test]
    fn file_that_cannot_be_rotated_continues() {
        let folder = Folder::new("stuck");
        let file = folder.open("node.log");
        // A folder, which a file cannot replace.
        fs::create_dir(folder.0.join("node.log.1")).expect("a folder");
        for text in ["first", "second"] {
            file.make_long();
            file.line(text).expect("written");
        }
        assert_eq!(folder.read("node.log"), "first\nsecond\n");
        fs::remove_dir(folder.0.join("node.log.1")).expect("removed");
        file.line("third").expect("written");
        assert_eq!(folder.read("node.log"), "first\nsecond\nthird\n", "not tried again at once");
        file.make_long();
        file.line("fourth").expect("written");
        assert_eq!(folder.read("node.log"), "fourth\n");
    }
}
