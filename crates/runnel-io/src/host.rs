//! Identity of host and process, descriptor limits, random bits.

use std::io;

/// The host name, as `hostname` prints it.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Identifies the network stack whose loopback interface this process has: equal for all processes that reach each
/// other by loopback addresses. Containers that share a network may have different host names, and hosts the same one.
///
/// On Linux it is the number of this start of the kernel and that of the network namespace; on other systems, the
/// host name.
pub fn loopback_identity() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let namespace = std::fs::read_link("/proc/self/ns/net");
    match (boot, namespace) {
        (Ok(boot), Ok(namespace)) => format!("{} {}", boot.trim(), namespace.display()),
        _ => name(),
    }
}

/// The process id.
pub fn pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// The effective user id of this process, as peers on a Unix socket see it.
pub fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The descriptor limit of this process; `None` if there is none.
pub fn descriptor_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// Connections that peers may hold: `most`, but no more than `quarters` quarters of the descriptor limit.
pub fn connections_for_peers(most: usize, quarters: usize) -> usize {
    descriptor_limit().map_or(most, |limit| most.min(usize::try_from(limit / 4).unwrap_or(most) * quarters))
}

/// 64 random bits of the kernel.
///
/// # Errors
/// If the kernel returns none, which no supported kernel does.
pub fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}
