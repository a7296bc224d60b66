//! Control groups with a memory limit.

use std::fs;
use std::path::{Path, PathBuf};

/// Memory controllers and the names of their limit files, for cgroup v1 and v2.
const MOUNTS: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];

/// A control group for child processes of the test. It is removed when dropped, after they have exited.
pub struct Cgroup(PathBuf);

impl Cgroup {
    /// `None` if the tests do not run as root. `./test` reports and counts such skipped tests.
    pub fn with_limit(bytes: usize) -> Option<Self> {
        if std::env::var_os("RUNNEL_TEST_ONE_USER").is_some() {
            return None;
        }
        let is_there = |mount: &str| Path::new(mount).join("cgroup.procs").exists();
        let (mount, limit) = MOUNTS.into_iter().find(|(mount, _)| is_there(mount)).expect("control groups");
        let group = Self(Path::new(mount).join(format!("runnel-test-{}", std::process::id())));
        let refused = "no control group can be made, which takes root and a system that lets it";
        fs::create_dir(&group.0).expect(refused);
        fs::write(group.0.join(limit), bytes.to_string()).expect(refused);
        Some(group)
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// Moves this process into the group at this path.
    pub fn join(path: &str) {
        fs::write(Path::new(path).join("cgroup.procs"), "0").unwrap();
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let removed = fs::remove_dir(&self.0);
        assert!(removed.is_ok() || std::thread::panicking(), "{}: {removed:?}", self.0.display());
    }
}
