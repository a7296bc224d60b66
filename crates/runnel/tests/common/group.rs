//! Control groups that may take little memory.

use std::fs;
use std::path::{Path, PathBuf};

/// Where groups of the memory are, and the file of their limit: in the first version of control groups, and in the second.
const MOUNTS: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];

/// A group for processes that the test starts, and that are gone before this is.
pub struct Group(PathBuf);

impl Group {
    /// `None` where the tests are not root's, which `./test` has said and counts as left out.
    pub fn of_bytes(bytes: usize) -> Option<Self> {
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

    /// This process goes into the group of that path.
    pub fn join(path: &str) {
        fs::write(Path::new(path).join("cgroup.procs"), "0").unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let removed = fs::remove_dir(&self.0);
        assert!(removed.is_ok() || std::thread::panicking(), "{}: {removed:?}", self.0.display());
    }
}
