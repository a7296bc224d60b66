//! One short TCPROS connection: both headers, and perhaps the first messages. It registers nothing, and the
//! publisher sees a subscriber that leaves again.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use runnel::core::time::Instant;
use runnel_io::clock;
use runnel_ros1::header::{ConnectionHeader, MAX_HEADER};

use super::reach;
use crate::commands::doctor::found::ServerFault;

/// How long the peer's header may take.
const HEADER: Duration = Duration::from_secs(2);

/// Bytes of the length before headers and messages.
const LENGTH: usize = 4;

/// An open connection.
pub struct Link {
    stream: TcpStream,
}

impl Link {
    /// Connects, sends a header and reads the peer's header.
    ///
    /// # Errors
    /// The fault of the peer.
    pub fn open(to: SocketAddr, header: &ConnectionHeader) -> Result<(ConnectionHeader, Self), ServerFault> {
        let mut link = Self { stream: reach::connect(to)? };
        let until = clock::monotonic() + HEADER;
        let answer = link.exchange(header, until).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ServerFault::Mute,
            io::ErrorKind::UnexpectedEof => {
                ServerFault::Nonsense("the connection ended before the header".into())
            }
            _ => ServerFault::Nonsense(crate::error::plain(&error.to_string())),
        })?;
        let header =
            ConnectionHeader::parse(&answer).map_err(|error| ServerFault::Nonsense(error.to_string()))?;
        Ok((header, link))
    }

    fn exchange(&mut self, header: &ConnectionHeader, until: Instant) -> io::Result<Vec<u8>> {
        self.stream.set_write_timeout(Some(HEADER))?;
        self.stream.write_all(&header.emit())?;
        let length = self.length(until)?;
        if length > MAX_HEADER {
            let why = format!("a header of {length} bytes is too long, at most {MAX_HEADER} are accepted");
            return Err(io::Error::other(why));
        }
        let mut answer = vec![0; length];
        self.fill(&mut answer, until)?;
        Ok(answer)
    }

    /// The first `N` bytes of the next message; `None` if there is none in time, or a shorter one.
    pub fn message<const N: usize>(&mut self, until: Instant) -> Option<[u8; N]> {
        let rest = self.length(until).ok()?.checked_sub(N)?;
        let mut begin = [0; N];
        self.fill(&mut begin, until).ok()?;
        self.skip(rest, until).ok()?;
        Some(begin)
    }

    fn length(&mut self, until: Instant) -> io::Result<usize> {
        let mut length = [0; LENGTH];
        self.fill(&mut length, until)?;
        Ok(u32::from_le_bytes(length) as usize)
    }

    fn skip(&mut self, mut left: usize, until: Instant) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while left > 0 {
            let some = left.min(buffer.len());
            self.fill(&mut buffer[..some], until)?;
            left -= some;
        }
        Ok(())
    }

    fn fill(&mut self, mut buffer: &mut [u8], until: Instant) -> io::Result<()> {
        while !buffer.is_empty() {
            let left = until.since(clock::monotonic());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => buffer = &mut buffer[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Result of a connection to a server that sends these bytes and then closes.
    fn talk<R: Send>(
        bytes: &[u8],
        ask: impl FnOnce(Result<(ConnectionHeader, Link), ServerFault>) -> R + Send,
    ) -> R {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port of loopback");
        let to = listener.local_addr().expect("it has an address");
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("somebody connects");
                stream.write_all(bytes).expect("it listens");
                // Reads the client's header, so that the connection ends regularly.
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = io::copy(&mut stream, &mut io::sink());
            });
            ask(Link::open(to, &ConnectionHeader::new([("md5sum", "*")])))
        })
    }

    fn soon() -> Instant {
        clock::monotonic() + Duration::from_secs(20)
    }

    #[test]
    fn header_and_message_beginnings_are_read() {
        let mut bytes = ConnectionHeader::new([("md5sum", "1"), ("type", "a/B")]).emit();
        bytes.extend([12, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9]);
        bytes.extend([8, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
        talk(&bytes, |talk| {
            let (header, mut link) = talk.expect("a sound header");
            assert_eq!(header.get("type"), Some("a/B"));
            assert_eq!(link.message(soon()), Some([1, 2, 3, 4, 5, 6, 7, 8]));
            assert_eq!(link.message(soon()), Some([8, 7, 6, 5, 4, 3, 2, 1]));
            assert_eq!(link.message::<8>(soon()), None, "it has ended");
        });
    }

    #[test]
    fn malformed_header_is_refused() {
        let nonsense = |bytes: &[u8]| {
            talk(bytes, |talk| match talk {
                Err(ServerFault::Nonsense(why)) => why,
                other => panic!("{:?}", other.map(|(header, _)| header)),
            })
        };
        assert!(nonsense(&[255, 255, 255, 255]).contains("too long"));
        assert!(nonsense(&[4, 0, 0, 0, 9, 0, 0, 0]).contains("announces 9 bytes"));
        assert!(nonsense(&[4, 0, 0]).contains("ended before the header"));
    }

    #[test]
    fn server_without_answer_is_mute() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port of loopback");
        let to = listener.local_addr().expect("it has an address");
        let talk = Link::open(to, &ConnectionHeader::default());
        assert_eq!(talk.err(), Some(ServerFault::Mute));
        drop(listener);
        let talk = Link::open(to, &ConnectionHeader::default());
        assert_eq!(talk.err(), Some(ServerFault::Refused));
    }
}
