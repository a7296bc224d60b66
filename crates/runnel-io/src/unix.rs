//! Unix sockets that keep packets apart and carry descriptors (SEQPACKET); they never block.

use crate::closing::{self, ClosedApart};
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

/// Connections that the kernel holds for us until they are accepted.
const BACKLOG: i32 = 1024;

/// Bytes of a socket's name: a path ends with a zero, an abstract name begins with one.
const LONGEST: usize = 107;

/// What the kernel calls all users whom this namespace does not know.
const ANYBODY: u32 = 65534;

/// Most descriptors that one packet carries.
pub const MAX_FDS: usize = 4;

/// What a listener is found by.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// A name that only processes of the same network namespace see, and which ends with its socket.
    Abstract(&'a [u8]),
    /// A file, for all who reach its folder and are the same user.
    Path(&'a Path),
}

impl Place<'_> {
    fn address(&self) -> io::Result<SocketAddrUnix> {
        let (bytes, shown) = match self {
            Self::Abstract(name) => (*name, format!("abstract name {}", name.escape_ascii())),
            Self::Path(path) => (path.as_os_str().as_bytes(), format!("path {}", path.display())),
        };
        if bytes.is_empty() || bytes.len() > LONGEST {
            let count = bytes.len();
            let what = format!("a socket's {shown} has {count} bytes where 1 to {LONGEST} may be");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
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
    // Dropped before the socket, which keeps the number of its file from being given to another.
    _file: Option<SocketFile>,
    /// Who connects can send descriptors before it is accepted.
    fd: ClosedApart,
}

impl PacketListener {
    /// Listens at `place`. A file is made for this user alone and goes with the listener; one that a process left
    /// behind that ended otherwise is replaced.
    ///
    /// # Errors
    /// When the name has no byte or too many, is taken by a living socket or something else, its folder cannot be
    /// written, or descriptors run out.
    pub fn bind(place: Place<'_>) -> io::Result<Self> {
        let address = place.address()?;
        let fd = socket()?;
        // The file gets what the socket has: nobody else can connect before it is too late.
        fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
        let file = match place {
            Place::Abstract(_) => net::bind(&fd, &address).map(|()| None)?,
            Place::Path(path) => Some(bind_file(&fd, path, &address)?),
        };
        net::listen(&fd, BACKLOG)?;
        Ok(Self { _file: file, fd: fd.into() })
    }

    /// Takes one waiting connection; `None` when none waits.
    ///
    /// # Errors
    /// When descriptors or memory run out, or too many connections that have ended cannot be closed: the connection stays
    /// with the kernel.
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
    /// Nobody connects from now on, whenever it is closed.
    fn drop(&mut self) {
        let _ = net::shutdown(&self.fd, net::Shutdown::Both);
    }
}

impl AsFd for PacketListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Who is at the other end, by the kernel's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its process id; 0 if it is in a namespace of processes that is not seen from this one.
    pub pid: i32,
    /// The user id that it acted under when it connected, or began to listen.
    pub uid: u32,
}

/// Proof that the process at the other end of a connection is of this one's user: only [`Packets::same_user`] gives it.
#[derive(Clone, Copy, Debug)]
pub struct SameUser(());

/// What one look at a connection found.
#[derive(Debug)]
pub enum Received {
    /// Nothing yet.
    Nothing,
    /// That the peer is gone. An empty packet counts as that, since the kernel does not tell them apart.
    End,
    /// A packet.
    Packet {
        /// Bytes in the buffer.
        len: usize,
        /// The descriptors that came with it; none if it is truncated.
        fds: Vec<OwnedFd>,
        /// It was longer than the buffer, had more than [`MAX_FDS`] descriptors, or this process may have no more.
        truncated: bool,
    },
}

/// One end of a connection. Dropping it never blocks: another thread closes it.
#[derive(Debug)]
pub struct Packets {
    /// The peer may have queued descriptors.
    fd: ClosedApart,
}

impl Packets {
    /// Connects to a listener.
    ///
    /// # Errors
    /// When nobody listens there, another user does at a path, it has too many connections that it has not accepted
    /// (`WouldBlock`), descriptors run out, or too many connections that have ended cannot be closed.
    pub fn connect(place: Place<'_>) -> io::Result<Self> {
        let address = place.address()?;
        check_closing()?;
        let fd = socket()?;
        net::connect(&fd, &address)?;
        Ok(Self { fd: fd.into() })
    }

    /// Who the peer is.
    ///
    /// # Errors
    /// None in practice.
    pub fn peer(&self) -> io::Result<Peer> {
        // Not by rustix, whose process ids are never 0.
        let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        let (fd, place) = (self.fd.as_fd().as_raw_fd(), (&raw mut found).cast());
        // SAFETY: the kernel writes at most `length` bytes, the size of `found`, and the new length; both outlive the
        // call.
        let status =
            unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, place, &raw mut length) };
        if status == 0 {
            Ok(Peer { pid: found.pid, uid: found.uid })
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Proof that the peer is of the user under whom this process acts, if it is, and that is one known user.
    pub fn same_user(&self) -> Option<SameUser> {
        let is_same = |peer: Peer| peer.uid == host::uid() && peer.uid != ANYBODY;
        self.peer().is_ok_and(is_same).then_some(SameUser(()))
    }

    /// Sends one packet; false when the kernel has no room for it now.
    ///
    /// # Errors
    /// When the peer is gone, the packet is empty, longer than the kernel takes at all or has more than [`MAX_FDS`]
    /// descriptors, or too many descriptors of this user are under way.
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<bool> {
        if bytes.is_empty() || fds.len() > MAX_FDS {
            let what = format!("a packet cannot have {} bytes and {} descriptors", bytes.len(), fds.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
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

    /// Receives one packet into `buffer`, cut off where that ends. To close the descriptors that came with it may block, and so
    /// may this call if there are too many: it is for peers that are trusted not to hold up this process. Of others,
    /// [`Packets::peek`] is used.
    ///
    /// # Errors
    /// None in practice.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<Received> {
        self.look(buffer, RecvFlags::empty())
    }

    /// The next packet, which stays the next. The descriptors are copies of those that came with it, so that closing them
    /// never blocks. Once each of them is known to be of a kind whose closing does not block either,
    /// [`Packets::discard`] passes over the packet; until then it stays, and the connection is of no further use.
    ///
    /// # Errors
    /// None in practice.
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<Received> {
        self.look(buffer, RecvFlags::PEEK)
    }

    /// Passes over the packet that [`Packets::peek`] gave. The descriptors that came with it are closed, other than their
    /// copies.
    pub fn discard(&self) {
        let mut control = RecvAncillaryBuffer::default();
        // The rest of a packet is passed over with its beginning.
        let _ = net::recvmsg(&self.fd, &mut [IoSliceMut::new(&mut [0])], &mut control, RecvFlags::DONTWAIT);
    }

    /// The same where the descriptors that came with it, which are these, may be of any kind: another thread closes them.
    pub fn discard_unknown(&self, fds: Vec<OwnedFd>) {
        let copies: Vec<ClosedApart> = fds.into_iter().map(ClosedApart::from).collect();
        self.discard();
        drop(copies);
    }

    fn look(&self, buffer: &mut [u8], how: RecvFlags) -> io::Result<Received> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let slices = &mut [IoSliceMut::new(buffer)];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT | how;
        let found = match net::recvmsg(&self.fd, slices, &mut control, flags) {
            Ok(found) => found,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Received::Nothing),
            // It went before it read all that it was sent.
            Err(Errno::CONNRESET) => return Ok(Received::End),
            Err(error) => return Err(error.into()),
        };
        let mut truncated = found.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
        if found.bytes == 0 && !truncated {
            return Ok(Received::End);
        }
        let mut fds = descriptors(&mut control);
        // The room for alignment may hold one more.
        truncated |= fds.len() > MAX_FDS;
        if truncated {
            fds.clear();
        }
        Ok(Received::Packet { len: found.bytes, fds, truncated })
    }

    /// Ends the connection in both directions. What was sent before still arrives, and the reactor tells of the end.
    ///
    /// # Errors
    /// When the connection has ended.
    pub fn shutdown(&self) -> io::Result<()> {
        Ok(net::shutdown(&self.fd, net::Shutdown::Both)?)
    }
}

impl Drop for Packets {
    /// The peer is told of the end at once, whenever it is closed.
    fn drop(&mut self) {
        let _ = self.shutdown();
    }
}

impl AsFd for Packets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Refuses one more connection while too many that have ended wait to be closed.
fn check_closing() -> io::Result<()> {
    if closing::is_behind() {
        let what = "closing others takes long, which brought descriptors that hold it up";
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, what));
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

/// Removes a socket's file to which nobody listens. The living do not hear of it: a socket of another kind can connect to
/// none of them.
///
/// Two processes that do so with one name at the same moment may both succeed, and one of them is not found: names are
/// random, so that this is for a name that a user gave twice.
fn remove_dead(path: &Path, address: &SocketAddrUnix) -> io::Result<()> {
    let taken = |how: &str| io::Error::new(io::ErrorKind::AddrInUse, format!("{} {how}", path.display()));
    let file = SocketFile::at(path).map_err(|_| taken("is there and is no socket"))?;
    // A file that stays must not go with this value.
    let file = std::mem::ManuallyDrop::new(file);
    let probe = net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, FLAGS, None)?;
    match net::connect(probe, address) {
        Err(Errno::CONNREFUSED) => file.remove(),
        Ok(()) | Err(Errno::AGAIN | Errno::PROTOTYPE) => return Err(taken("belongs to a living socket")),
        Err(error) => return Err(taken(&format!("may belong to a living socket: {error}"))),
    }
    Ok(())
}

/// A socket's file, removed when dropped.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Device and number.
    identity: (u64, u64),
}

impl SocketFile {
    fn at(path: &Path) -> io::Result<Self> {
        // The process may change its folder before the file is removed.
        let path = std::path::absolute(path)?;
        let identity = identity(&path)?;
        Ok(Self { path, identity })
    }

    /// Removes it unless another has taken its place.
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
