//! What this host and process are called, and randomness.

use std::io;

/// The host's name, as `hostname` prints it.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The process id.
pub fn pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// The user id that this process acts under, as peers on a Unix socket see it.
pub fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// How many descriptors this process may have open now; `None` if there is no limit.
pub fn descriptor_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// How many connections peers may hold: `most`, but no more than so many quarters of the descriptors that this process
/// may have open.
pub fn connections_for_peers(most: usize, quarters: usize) -> usize {
    descriptor_limit().map_or(most, |limit| most.min(usize::try_from(limit / 4).unwrap_or(most) * quarters))
}

/// Sixty-four random bits of the kernel.
///
/// # Errors
/// When the kernel gives none, which no supported one does.
pub fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}
