//! Access to the Unix SEQPACKET sockets of other processes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::fstat;
use rustix::net::sockopt::{socket_acceptconn, socket_type};
use rustix::net::{Shutdown, SocketType, shutdown};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// The connected SEQPACKET sockets of a process of this user, except listeners, by inode number.
///
/// # Errors
/// If the process has ended, or may not be inspected.
pub fn connected_packet_sockets(process: u32) -> io::Result<BTreeMap<u64, OwnedFd>> {
    let id = Pid::from_raw(process as i32).ok_or(io::ErrorKind::InvalidInput)?;
    let handle = pidfd_open(id, PidfdFlags::empty())?;
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{process}/fd"))? {
        let number = entry?.file_name().to_string_lossy().parse().map_err(io::Error::other)?;
        // It may be closed by now.
        let Ok(socket) = pidfd_getfd(&handle, number, PidfdGetfdFlags::empty()) else { continue };
        if is_connected_packets(&socket) {
            found.insert(fstat(&socket)?.st_ino, socket);
        }
    }
    Ok(found)
}

/// Shuts down the connection of such a socket under its owner, as only a fault does.
///
/// # Errors
/// If it has already ended.
pub fn shut_down(socket: OwnedFd) -> io::Result<()> {
    Ok(shutdown(socket, Shutdown::Both)?)
}

fn is_connected_packets(socket: impl AsFd) -> bool {
    socket_type(&socket) == Ok(SocketType::SEQPACKET) && socket_acceptconn(&socket) == Ok(false)
}
