//! Available memory of the machine and of control groups.

use std::fs::read_to_string;
use std::io;
use std::path::Path;

use rustix::io::Errno;

/// One part in this many of all memory is available_bytes for other programs, which the kernel would otherwise kill.
const RESERVE_DIVISOR: u64 = 16;

/// Refuses to allocate more memory than is available. The kernel grants more pages of a memfd than it has, and kills
/// some process (SIGKILL) when they run out.
///
/// # Errors
/// If less than `bytes` and a reserve of a sixteenth is available, of the machine's memory or of the limit of a
/// control group of this process (a container, a systemd unit).
pub fn check_available(bytes: usize) -> io::Result<()> {
    let available = read_to_string("/proc/meminfo").ok().as_deref().and_then(available);
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let available_bytes =
        [available, available_to_groups(Path::new(CGROUP), &groups)].into_iter().flatten().min();
    if available_bytes.is_some_and(|available_bytes| bytes as u64 > available_bytes) {
        Err(Errno::NOMEM.into())
    } else {
        Ok(())
    }
}

/// Available bytes according to `/proc/meminfo`, that is, without taking them from other programs.
pub(super) fn available(meminfo: &str) -> Option<u64> {
    let bytes = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(bytes("MemAvailable:")?.saturating_sub(bytes("MemTotal:")? / RESERVE_DIVISOR))
}

/// Mount point of control groups.
const CGROUP: &str = "/sys/fs/cgroup";

/// Names that one version of control groups uses: the memory limit, the memory used, and the statistics entry for
/// file pages that the kernel can drop.
struct Names {
    limit: &'static str,
    usage: &'static str,
    dropped: &'static str,
}

const VERSION_1: Names =
    Names { limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", dropped: "total_inactive_file " };

const VERSION_2: Names = Names { limit: "memory.max", usage: "memory.current", dropped: "inactive_file " };

/// Bytes that the process's groups may still use, if one of them has a limit. `groups` is the content of
/// `/proc/PID/cgroup`.
pub(super) fn available_to_groups(mount: &Path, groups: &str) -> Option<u64> {
    let available_bytes = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        // Each group is bounded by those above it. A container may see its own group only as the root.
        let available_bytes = |names: &Names, root: &Path| {
            Path::new(path).ancestors().filter_map(|group| available_to_group(&root.join(group), names)).min()
        };
        match controllers {
            "" => [available_bytes(&VERSION_2, mount), available_bytes(&VERSION_2, &mount.join("unified"))]
                .into_iter()
                .flatten()
                .min(),
            _ if controllers.split(',').any(|name| name == "memory") => {
                available_bytes(&VERSION_1, &mount.join("memory"))
            }
            _ => None,
        }
    };
    groups.lines().filter_map(available_bytes).min()
}

fn available_to_group(group: &Path, names: &Names) -> Option<u64> {
    let read = |file: &str| read_to_string(group.join(file)).ok();
    let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
    let dropped = || {
        let statistics = read("memory.stat")?;
        let line = statistics.lines().find_map(|line| line.strip_prefix(names.dropped))?;
        line.trim().parse::<u64>().ok()
    };
    let limit = number(names.limit)?;
    let usage = number(names.usage)?.saturating_sub(dropped().unwrap_or_default());
    Some((limit - limit / RESERVE_DIVISOR).saturating_sub(usage))
}
