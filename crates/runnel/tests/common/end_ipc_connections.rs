//! Ends IPC connections of this process, as a fault of either end does.

use std::os::fd::BorrowedFd;

use rustix::net::{AddressFamily, Shutdown, SocketType};

/// Ends all IPC connections of this process. Returns the number of their sockets.
pub fn end_ipc_connections() -> usize {
    let fds = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let numbers: Vec<i32> =
        fds.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok()).collect();
    let mut ended = 0;
    for number in numbers {
        // SAFETY: the descriptor is only queried. If it is closed meanwhile, the query fails.
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        let is_ipc_connection = rustix::net::sockopt::socket_type(fd) == Ok(SocketType::SEQPACKET)
            && rustix::net::sockopt::socket_domain(fd) == Ok(AddressFamily::UNIX)
            && rustix::net::getpeername(fd).is_ok();
        if is_ipc_connection && rustix::net::shutdown(fd, Shutdown::Both).is_ok() {
            ended += 1;
        }
    }
    ended
}
