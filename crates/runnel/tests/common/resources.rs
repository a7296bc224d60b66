//! Descriptors, mappings and files in use by IPC connections.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::LONG;

/// Resources that may leak. Segments are excluded, since this process keeps its own.
#[derive(Debug)]
pub struct Resources {
    descriptors: Vec<String>,
    mappings: usize,
    files: BTreeSet<String>,
}

impl Resources {
    /// The resources in use now.
    pub fn now() -> Self {
        let names = |folder: &str| -> Vec<String> {
            let entries = fs::read_dir(folder).unwrap().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let links =
            names("/proc/self/fd").into_iter().flat_map(|fd| fs::read_link(format!("/proc/self/fd/{fd}")));
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        // Other tests have files in /tmp, but no sockets.
        let in_memory = names("/dev/shm").into_iter().filter(|name| !name.starts_with("runnel-bench-"));
        let is_socket = |name: &String| {
            fs::symlink_metadata(Path::new("/tmp").join(name)).is_ok_and(|file| file.file_type().is_socket())
        };
        let files = in_memory.chain(names("/tmp").into_iter().filter(is_socket));
        let files = files.filter(|name| name.starts_with("runnel-"));
        Self {
            descriptors: links
                .map(|link| link.to_string_lossy().into_owned())
                .filter(|link| !link.contains("runnel-segment"))
                .collect(),
            mappings: maps
                .lines()
                .filter(|line| line.contains("runnel-session") || line.contains("runnel-page"))
                .count(),
            files: files.collect(),
        }
    }

    /// Waits until no more resources are in use than in `self`.
    pub fn wait_for_release(&self) {
        let deadline = Instant::now() + LONG;
        loop {
            let now = Self::now();
            let given_back = now.descriptors.len() <= self.descriptors.len() && now.mappings <= self.mappings;
            if given_back && now.files.is_subset(&self.files) {
                return;
            }
            assert!(Instant::now() < deadline, "there is {now:#?}\nwhere there was {self:#?}");
            // A snapshot is expensive, so pause.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
