//! Descriptors, mappings and files in use by IPC connections.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use crate::common::LONG;

/// Prefixes of folders in `/tmp` that the bench and other tests use.
const OTHER_TESTS: [&str; 13] = [
    "runnel-bench-",
    "runnel-capture-",
    "runnel-checkout-",
    "runnel-docs",
    "runnel-floor-",
    "runnel-interop-",
    "runnel-ipc-",
    "runnel-linger-",
    "runnel-mouse-",
    "runnel-other-",
    "runnel-static-",
    "runnel-test-",
    "runnel-track-",
];

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
        // Folders of the bench and of other running tests.
        let others = |name: &String| OTHER_TESTS.iter().any(|begin| name.starts_with(begin));
        let ours = |name: &String| name.starts_with("runnel-") && !others(name);
        let files = ["/dev/shm", "/tmp"].into_iter().flat_map(names).filter(ours);
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
