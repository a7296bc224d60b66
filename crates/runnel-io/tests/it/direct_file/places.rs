//! Folders and file systems of the tests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, process, ptr, thread};

use std::os::fd::AsRawFd;

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// An empty folder, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("runnel_direct_file_{name}_{}", process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Whether its file system has no disk.
    pub fn is_in_memory(&self) -> bool {
        let found = rustix::fs::statfs(&self.0).unwrap();
        [libc::TMPFS_MAGIC, RAMFS_MAGIC].contains(&found.f_type)
    }
}

const RAMFS_MAGIC: i64 = 0x8584_58f6;

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a test in a new file system of this type, which only its thread and the threads that it starts see.
pub fn in_new_file_system(name: &str, mount: &[&str], test: impl FnOnce(&Path) + Send) {
    let folder = Folder::new(name);
    let there = || {
        // SAFETY: only the mount namespace of this thread changes, no descriptor table.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.expect("root of a user namespace, as ./test makes it");
        run("mount", &["--make-rprivate".as_ref(), "/".as_ref()]);
        let place = [folder.path()];
        run("mount", &mount.iter().map(Path::new).chain(place).collect::<Vec<_>>());
        test(folder.path());
    };
    let ended = thread::scope(|scope| scope.spawn(there).join());
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// Runs a program of the system.
pub fn run(program: &str, words: &[&Path]) {
    let status = Command::new(program).args(words).status().unwrap();
    assert!(status.success(), "{program} {words:?}");
}

/// Bytes of the file's pages that are in the page cache.
pub fn bytes_in_page_cache(path: &Path) -> usize {
    let file = File::open(path).unwrap();
    let len = file.metadata().unwrap().len() as usize;
    let page = rustix::param::page_size();
    let mut pages = vec![0_u8; len.div_ceil(page)];
    // SAFETY: maps a file that is open at an address that the kernel chooses. The memory is not accessed, and
    // unmapped before the end. The vector has a byte for each page.
    unsafe {
        let map = libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        assert_ne!(map, libc::MAP_FAILED);
        assert_eq!(libc::mincore(map, len, pages.as_mut_ptr()), 0);
        libc::munmap(map, len);
    }
    pages.iter().filter(|page| **page & 1 == 1).count() * page
}
