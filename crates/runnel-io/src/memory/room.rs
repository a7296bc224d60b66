//! How much memory there is to be had.

use std::fs::read_to_string;
use std::io;
use std::path::Path;

use rustix::io::Errno;

/// One part in so many of all memory is left to what programs take besides, which would be killed for want of it.
const BESIDES: u64 = 16;

/// Refuses more memory than there is, since the kernel promises more pages of a memfd than it has and sends SIGKILL to
/// whomever it finds when it has given all away.
///
/// # Errors
/// When fewer bytes are left but for a sixteenth of all, of the machine's memory or of what a control group of this
/// process may take: a container's, a unit's of systemd.
pub fn check_available(bytes: usize) -> io::Result<()> {
    let available = read_to_string("/proc/meminfo").ok().as_deref().and_then(available);
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = [available, left_to_groups(Path::new(CGROUP), &groups)].into_iter().flatten().min();
    if left.is_some_and(|left| bytes as u64 > left) { Err(Errno::NOMEM.into()) } else { Ok(()) }
}

/// Bytes that can be had without taking them from others, as `/proc/meminfo` tells them.
pub(super) fn available(meminfo: &str) -> Option<u64> {
    let bytes = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(bytes("MemAvailable:")?.saturating_sub(bytes("MemTotal:")? / BESIDES))
}

/// Where control groups are mounted.
const CGROUP: &str = "/sys/fs/cgroup";

/// What one version of control groups calls the limit of memory, what is taken of it, the statistics, and in these the
/// pages of files that the kernel drops when it needs memory.
struct Names {
    limit: &'static str,
    taken: &'static str,
    dropped: &'static str,
}

const VERSION_1: Names =
    Names { limit: "memory.limit_in_bytes", taken: "memory.usage_in_bytes", dropped: "total_inactive_file " };

const VERSION_2: Names = Names { limit: "memory.max", taken: "memory.current", dropped: "inactive_file " };

/// Bytes that the groups of a process may still take, if one of them has a limit. `groups` is as `/proc/PID/cgroup` tells
/// it.
pub(super) fn left_to_groups(mount: &Path, groups: &str) -> Option<u64> {
    let left = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        // Each group is bound by those above it. A container may not see its own but as the root.
        let left = |names: &Names, root: &Path| {
            Path::new(path).ancestors().filter_map(|group| left_to_group(&root.join(group), names)).min()
        };
        match controllers {
            "" => [left(&VERSION_2, mount), left(&VERSION_2, &mount.join("unified"))]
                .into_iter()
                .flatten()
                .min(),
            _ if controllers.split(',').any(|name| name == "memory") => {
                left(&VERSION_1, &mount.join("memory"))
            }
            _ => None,
        }
    };
    groups.lines().filter_map(left).min()
}

fn left_to_group(group: &Path, names: &Names) -> Option<u64> {
    let read = |file: &str| read_to_string(group.join(file)).ok();
    let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
    let dropped = || {
        let statistics = read("memory.stat")?;
        let line = statistics.lines().find_map(|line| line.strip_prefix(names.dropped))?;
        line.trim().parse::<u64>().ok()
    };
    let limit = number(names.limit)?;
    let taken = number(names.taken)?.saturating_sub(dropped().unwrap_or_default());
    Some((limit - limit / BESIDES).saturating_sub(taken))
}
