//! Byte streams of the operating system.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};

/// A connection that carries bytes.
pub trait Transport: Read + Write + AsFd + Sized {
    /// The listening socket.
    type Listener;

    /// Listens; returns the address to connect to.
    ///
    /// # Errors
    /// If the operating system refuses; the same in all of these.
    fn listen() -> io::Result<(Self::Listener, String)>;

    /// Accepts a connection.
    ///
    /// # Errors
    /// As above.
    fn accept(listener: &Self::Listener) -> io::Result<Self>;

    /// Connects to an address.
    ///
    /// # Errors
    /// If nothing listens there.
    fn connect(address: &str) -> io::Result<Self>;

    /// A second handle of the same connection.
    ///
    /// # Errors
    /// As above.
    fn duplicate(&self) -> io::Result<Self>;

    /// Sets whether reading and writing are non-blocking.
    ///
    /// # Errors
    /// As above.
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()>;
}

impl Transport for TcpStream {
    type Listener = TcpListener;

    fn listen() -> io::Result<(TcpListener, String)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?.to_string();
        Ok((listener, address))
    }

    fn accept(listener: &TcpListener) -> io::Result<Self> {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn connect(address: &str) -> io::Result<Self> {
        let stream = Self::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn duplicate(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.set_nonblocking(nonblocking)
    }
}

impl Transport for UnixStream {
    type Listener = UnixListener;

    fn listen() -> io::Result<(UnixListener, String)> {
        let name = unix_name();
        Ok((UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?, name))
    }

    fn accept(listener: &UnixListener) -> io::Result<Self> {
        Ok(listener.accept()?.0)
    }

    fn connect(address: &str) -> io::Result<Self> {
        Self::connect_addr(&SocketAddr::from_abstract_name(address)?)
    }

    fn duplicate(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.set_nonblocking(nonblocking)
    }
}

/// An abstract Unix socket name that this process has not used.
pub(crate) fn unix_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("runnel-floor-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
