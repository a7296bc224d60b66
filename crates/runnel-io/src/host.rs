//! Identity of host and process, descriptor limits, random bits.

use std::io;

/// The host name, as `hostname` prints it.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
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
