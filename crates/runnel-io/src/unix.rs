//! Non-blocking Unix SEQPACKET sockets, which preserve packets and carry descriptors.

use crate::deferred_close::{self, DeferredClose};
use crate::host;
use crate::socket::FLAGS;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, FileType, Mode};
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketType,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub mod folder;

/// Backlog of connections that are not accepted yet.
const BACKLOG: i32 = 1024;

/// Longest socket name, in bytes: a path ends with a zero, an abstract name begins with one.
const LONGEST: usize = 107;

/// The kernel's substitute for user ids outside this namespace.
const OVERFLOW_UID: u32 = 65534;

/// Most descriptors in one packet.
pub const MAX_FDS: usize = 4;

/// Address of a listener.
#[derive(Clone, Copy, Debug)]
pub enum UnixAddress<'a> {
    /// An abstract name, visible in one network namespace; it ends with its socket.
    Abstract(&'a [u8]),
    /// A file, for processes of the same user that can reach its folder.
    Path(&'a Path),
}

impl UnixAddress<'_> {
    fn address(&self) -> io::Result<SocketAddrUnix> {
        let (bytes, shown) = match self {
            Self::Abstract(name) => (*name, format!("abstract name {}", name.escape_ascii())),
            Self::Path(path) => (path.as_os_str().as_bytes(), format!("path {}", path.display())),
        };
        if bytes.is_empty() || bytes.len() > LONGEST {
            let count = bytes.len();
            let reason = format!("a socket's {shown} has {count} bytes, but 1 to {LONGEST} are allowed");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        Ok(match self {
            Self::Abstract(name) => SocketAddrUnix::new_abstract_name(name)?,
            Self::Path(path) => SocketAddrUnix::new(*path)?,
        })
    }
}

/// A socket that accepts connections.
#[derive(Debug)]
pub struct PacketListener {
    // Dropped before the socket, which keeps the inode number of its file from being reused.
    _file: Option<SocketFile>,
    // A client can send descriptors before it is accepted.
    fd: DeferredClose,
}

impl PacketListener {
    /// Listens at `place`. A file is created for this user only and removed with the listener; a dead file left by a
    /// crashed process is replaced.
    ///
    /// # Errors
    /// If the name is empty or too long, is taken by a living socket or another file, its folder cannot be written,
    /// or descriptors run out.
    pub fn bind(place: UnixAddress<'_>) -> io::Result<Self> {
        let address = place.address()?;
        let fd = socket()?;
        // The file inherits this mode, so that no other user can connect at any moment.
        fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
        let file = match place {
            UnixAddress::Abstract(_) => net::bind(&fd, &address).map(|()| None)?,
            UnixAddress::Path(path) => Some(bind_file(&fd, path, &address)?),
        };
        net::listen(&fd, BACKLOG)?;
        Ok(Self { _file: file, fd: fd.into() })
    }

    /// Accepts one waiting connection; `None` if there is none.
    ///
    /// # Errors
    /// If descriptors or memory run out, or too many closings are pending. The connection then stays in the
    /// backlog.
    pub fn accept(&self) -> io::Result<Option<Packets>> {
        check_closing()?;
        match net::accept_with(&self.fd, FLAGS) {
            Ok(fd) => Ok(Some(Packets { fd: fd.into() })),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for PacketListener {
    /// Refuses connections immediately, even if the descriptor is closed later.
    fn drop(&mut self) {
        let _ = net::shutdown(&self.fd, net::Shutdown::Both);
    }
}

impl AsFd for PacketListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Credentials of the peer, from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its process id; 0 if its process namespace is not visible from this one.
    pub pid: i32,
    /// Its effective user id when it connected, or started to listen.
    pub uid: u32,
}

/// Proof that the peer of a connection has this process's user. Only [`Packets::same_user`] creates it.
#[derive(Clone, Copy, Debug)]
pub struct SameUser(());

/// Result of a receive.
#[derive(Debug)]
pub enum Received {
    /// No packet is waiting.
    Nothing,
    /// The peer is gone. An empty packet also counts as this, since the kernel does not distinguish them.
    End,
    /// A packet.
    Packet {
        /// Its bytes in the buffer.
        len: usize,
        /// Its descriptors; none if it is truncated.
        fds: Vec<OwnedFd>,
        /// It was longer than the buffer, had more than [`MAX_FDS`] descriptors, or exceeded this process's
        /// descriptor limit.
        truncated: bool,
    },
}

/// One end of a connection. Dropping it never blocks: another thread closes it.
#[derive(Debug)]
pub struct Packets {
    // The peer may have queued descriptors.
    fd: DeferredClose,
}

impl Packets {
    /// Connects to a listener.
    ///
    /// # Errors
    /// If no process listens there, or one of another user at a path; if its backlog is full (`WouldBlock`),
    /// descriptors run out, or too many closings are pending.
    pub fn connect(place: UnixAddress<'_>) -> io::Result<Self> {
        let address = place.address()?;
        check_closing()?;
        let fd = socket()?;
        net::connect(&fd, &address)?;
        Ok(Self { fd: fd.into() })
    }

    /// The peer's credentials.
    ///
    /// # Errors
    /// None in practice.
    pub fn peer(&self) -> io::Result<Peer> {
        // Not by rustix, whose process ids are never 0.
        let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        let (fd, place) = (self.fd.as_fd().as_raw_fd(), (&raw mut found).cast());
        // SAFETY: the kernel writes at most `length` bytes, the size of `found`, and the new length. Both outlive the
        // call.
        let status =
            unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, place, &raw mut length) };
        if status == 0 {
            Ok(Peer { pid: found.pid, uid: found.uid })
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Proof that the peer has this process's effective user, if so, and if that user is known to this namespace.
    pub fn same_user(&self) -> Option<SameUser> {
        let is_same = |peer: Peer| peer.uid == host::uid() && peer.uid != OVERFLOW_UID;
        self.peer().is_ok_and(is_same).then_some(SameUser(()))
    }

    /// Sends one packet; false when the kernel's buffer is full.
    ///
    /// # Errors
    /// If the peer is gone, the packet is empty, too long for the kernel or has more than [`MAX_FDS`] descriptors,
    /// or too many descriptors of this user are in transit.
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<bool> {
        if bytes.is_empty() || fds.len() > MAX_FDS {
            let reason =
                format!("cannot send a packet of {} bytes and {} descriptors", bytes.len(), fds.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(fds));
        }
        match net::sendmsg(
            &self.fd,
            &[IoSlice::new(bytes)],
            &mut control,
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        ) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Receives one packet into `buffer`, truncated to its size. Closing its descriptors may block, and so may this
    /// call if there are too many. Use it only for trusted peers, and [`Packets::peek`] for others.
    ///
    /// # Errors
    /// None in practice.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<Received> {
        self.receive(buffer, RecvFlags::empty())
    }

    /// Receives the next packet without removing it. The descriptors are copies, so that closing them never blocks.
    /// Once each is known to be of a kind whose closing does not block, [`Packets::discard`] removes the packet.
    /// Until then it stays, and the connection is of no further use.
    ///
    /// # Errors
    /// None in practice.
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<Received> {
        self.receive(buffer, RecvFlags::PEEK)
    }

    /// Removes the packet that [`Packets::peek`] returned, and closes its descriptors, though not their copies.
    pub fn discard(&self) {
        let mut control = RecvAncillaryBuffer::default();
        // A short read removes the whole packet.
        let _ = net::recvmsg(&self.fd, &mut [IoSliceMut::new(&mut [0])], &mut control, RecvFlags::DONTWAIT);
    }

    /// As [`Packets::discard`], if `fds`, the copies, may be of any kind: another thread closes the packet's
    /// descriptors.
    pub fn discard_unknown(&self, fds: Vec<OwnedFd>) {
        let copies: Vec<DeferredClose> = fds.into_iter().map(DeferredClose::from).collect();
        self.discard();
        drop(copies);
    }

    fn receive(&self, buffer: &mut [u8], how: RecvFlags) -> io::Result<Received> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let slices = &mut [IoSliceMut::new(buffer)];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT | how;
        let found = match net::recvmsg(&self.fd, slices, &mut control, flags) {
            Ok(found) => found,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Received::Nothing),
            // The peer ended before it had read all packets.
            Err(Errno::CONNRESET) => return Ok(Received::End),
            Err(error) => return Err(error.into()),
        };
        let mut truncated = found.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
        if found.bytes == 0 && !truncated {
            return Ok(Received::End);
        }
        let mut fds = descriptors(&mut control);
        // The alignment of the buffer may leave space for one more.
        truncated |= fds.len() > MAX_FDS;
        if truncated {
            fds.clear();
        }
        Ok(Received::Packet { len: found.bytes, fds, truncated })
    }

    /// Ends the connection in both directions. Packets sent before still arrive, and the reactor reports the end.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn shutdown(&self) -> io::Result<()> {
        Ok(net::shutdown(&self.fd, net::Shutdown::Both)?)
    }
}

impl Drop for Packets {
    /// Ends the connection immediately, even if the descriptor is closed later.
    fn drop(&mut self) {
        let _ = self.shutdown();
    }
}

impl AsFd for Packets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Refuses a connection while too many closings are pending.
fn check_closing() -> io::Result<()> {
    if deferred_close::is_behind() {
        let reason =
            "too many connections are still being closed, since descriptors in their queues block it";
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason));
    }
    Ok(())
}

fn socket() -> io::Result<OwnedFd> {
    Ok(net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, FLAGS, None)?)
}

fn bind_file(fd: &OwnedFd, path: &Path, address: &SocketAddrUnix) -> io::Result<SocketFile> {
    match net::bind(fd, address) {
        Err(Errno::ADDRINUSE) => {
            remove_dead(path, address)?;
            net::bind(fd, address)?;
        }
        bound => bound?,
    }
    SocketFile::at(path)
}

/// Removes the file of a socket on which no process listens. Living sockets are not affected: a socket of another
/// kind cannot connect to them.
///
/// If two processes do this with one name at the same moment, both may succeed and one of them cannot be reached.
/// Names are random, so this concerns only a name that a user gave twice.
fn remove_dead(path: &Path, address: &SocketAddrUnix) -> io::Result<()> {
    let name_in_use =
        |how: &str| io::Error::new(io::ErrorKind::AddrInUse, format!("{} {how}", path.display()));
    let file = SocketFile::at(path).map_err(|_| name_in_use("exists and is not a socket"))?;
    // A file that stays must not be removed with this value.
    let file = std::mem::ManuallyDrop::new(file);
    let probe = net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, FLAGS, None)?;
    match net::connect(probe, address) {
        Err(Errno::CONNREFUSED) => file.remove(),
        Ok(()) | Err(Errno::AGAIN | Errno::PROTOTYPE) => {
            return Err(name_in_use("belongs to a living socket"));
        }
        Err(error) => return Err(name_in_use(&format!("may belong to a living socket: {error}"))),
    }
    Ok(())
}

/// A socket's file, removed when dropped.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl SocketFile {
    fn at(path: &Path) -> io::Result<Self> {
        // The process may change its working directory before the file is removed.
        let path = std::path::absolute(path)?;
        let identity = identity(&path)?;
        Ok(Self { path, identity })
    }

    /// Removes the file, unless another has replaced it.
    fn remove(&self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            let _ = fs::unlink(&self.path);
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        self.remove();
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let stat = fs::lstat(path)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Socket => Ok((stat.st_dev, stat.st_ino)),
        _ => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

fn descriptors(control: &mut RecvAncillaryBuffer<'_>) -> Vec<OwnedFd> {
    let rights = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    rights.flatten().collect()
}

#[cfg(test)]
mod tests;
