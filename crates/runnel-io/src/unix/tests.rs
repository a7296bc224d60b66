use super::*;
use crate::host;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Time-out of waits; only a failing test reaches it.
const LONG: Duration = Duration::from_secs(20);

/// A temporary folder of one test, removed afterwards.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("runnel_unix_{}_{number}", host::pid()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn random_name() -> Vec<u8> {
    [host::random().unwrap(), host::random().unwrap()].iter().flat_map(|half| half.to_ne_bytes()).collect()
}

fn pair() -> (Packets, Packets) {
    let name = random_name();
    let listener = PacketListener::bind(UnixAddress::Abstract(&name)).unwrap();
    let near = Packets::connect(UnixAddress::Abstract(&name)).unwrap();
    (near, listener.accept().unwrap().unwrap())
}

/// The next packet: its bytes, the number of descriptors, and whether it is truncated.
fn packet(packets: &Packets, capacity: usize) -> (Vec<u8>, usize, bool) {
    let mut buffer = vec![0; capacity];
    match packets.recv(&mut buffer).unwrap() {
        Received::Packet { len, fds, truncated } => (buffer[..len].to_vec(), fds.len(), truncated),
        other => panic!("{other:?}"),
    }
}

fn is_close_on_exec(fd: impl AsFd) -> bool {
    rustix::io::fcntl_getfd(fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC)
}

#[test]
fn packets_are_preserved_and_end_is_reported() {
    let (near, far) = pair();
    assert!(matches!(far.recv(&mut [0; 8]).unwrap(), Received::Nothing));
    assert!(near.send(b"ab", &[]).unwrap() && near.send(b"c", &[]).unwrap());
    assert_eq!(packet(&far, 8), (b"ab".to_vec(), 0, false));
    assert_eq!(packet(&far, 8), (b"c".to_vec(), 0, false));
    assert!(matches!(far.recv(&mut [0; 8]).unwrap(), Received::Nothing));
    assert!(near.send(b"last", &[]).unwrap());
    drop(near);
    assert_eq!(packet(&far, 8), (b"last".to_vec(), 0, false));
    assert!(matches!(far.recv(&mut [0; 8]).unwrap(), Received::End));
    assert_eq!(far.send(b"x", &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn peer_with_unread_packets_counts_as_gone() {
    let (near, far) = pair();
    assert!(near.send(b"unread", &[]).unwrap());
    drop(far);
    assert!(matches!(near.recv(&mut [0; 8]).unwrap(), Received::End));
}

#[test]
fn shutdown_ends_both_ends() {
    let (near, far) = pair();
    assert!(near.send(b"before", &[]).unwrap());
    near.shutdown().unwrap();
    assert_eq!(packet(&far, 8), (b"before".to_vec(), 0, false));
    for end in [&near, &far] {
        assert!(matches!(end.recv(&mut [0; 8]).unwrap(), Received::End));
        assert!(end.send(b"after", &[]).is_err());
    }
}

#[test]
fn received_descriptors_are_close_on_exec() {
    let (near, far) = pair();
    let (mut reader, writer) = io::pipe().unwrap();
    assert!(near.send(b"fds", &[writer.as_fd(), near.as_fd()]).unwrap());
    drop(writer);
    let Received::Packet { len: 3, fds, truncated: false } = far.recv(&mut [0; 8]).unwrap() else {
        panic!("a packet is due");
    };
    assert_eq!(fds.iter().filter(|fd| is_close_on_exec(fd)).count(), 2);
    let mut fds = fds.into_iter();
    File::from(fds.next().unwrap()).write_all(b"through").unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "through");
}

#[test]
fn packet_carries_maximum_of_descriptors() {
    let (near, far) = pair();
    assert!(near.send(b"x", &[near.as_fd(); MAX_FDS]).unwrap());
    assert_eq!(packet(&far, 8), (b"x".to_vec(), MAX_FDS, false));
    assert_eq!(
        near.send(b"x", &[near.as_fd(); MAX_FDS + 1]).unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
    assert_eq!(near.send(b"", &[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

/// Sends more descriptors than `send` allows.
fn send_many(packets: &Packets, fds: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
    net::sendmsg(packets, &[IoSlice::new(b"many")], &mut control, SendFlags::NOSIGNAL).unwrap();
}

#[test]
fn excess_descriptors_are_closed() {
    let (near, far) = pair();
    let (mut reader, writer) = io::pipe().unwrap();
    for count in MAX_FDS + 1..=32 {
        send_many(&near, &vec![writer.as_fd(); count]);
        assert_eq!(packet(&far, 8), (b"many".to_vec(), 0, true), "{count}");
    }
    drop(writer);
    assert_eq!(reader.read(&mut [0; 1]).unwrap(), 0, "no copy of the pipe's end is left");
}

#[test]
fn truncated_packet_loses_its_descriptors() {
    let (near, far) = pair();
    let (mut reader, writer) = io::pipe().unwrap();
    assert!(near.send(b"abcdef", &[writer.as_fd()]).unwrap() && near.send(b"next", &[]).unwrap());
    drop(writer);
    assert_eq!(packet(&far, 4), (b"abcd".to_vec(), 0, true));
    assert_eq!(reader.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(packet(&far, 4), (b"next".to_vec(), 0, false));
    assert!(near.send(b"x", &[]).unwrap());
    assert_eq!(packet(&far, 0), (Vec::new(), 0, true));
}

#[test]
fn descriptors_of_empty_packet_are_closed() {
    let (near, far) = pair();
    let (mut reader, writer) = io::pipe().unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [writer.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    net::sendmsg(&near, &[IoSlice::new(b"")], &mut control, SendFlags::NOSIGNAL).unwrap();
    drop(writer);
    assert!(matches!(far.recv(&mut [0; 8]).unwrap(), Received::End));
    assert_eq!(reader.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn full_buffer_does_not_block() {
    let (near, far) = pair();
    let block = vec![5; 10_000];
    let taken = (0..100_000).take_while(|_| near.send(&block, &[]).unwrap()).count();
    assert!((1..100_000).contains(&taken), "{taken}");
    assert!(!near.send(&block, &[]).unwrap());
    (0..taken).for_each(|_| assert_eq!(packet(&far, 10_001), (block.clone(), 0, false)));
    assert!(near.send(&block, &[]).unwrap());
    assert!(near.send(&vec![0; 64 << 20], &[]).is_err(), "no socket accepts this length in one call");
}

#[test]
fn kernel_reports_peer_credentials() {
    let (near, far) = pair();
    let own = Peer { pid: host::pid(), uid: host::uid() };
    assert_eq!((near.peer().unwrap(), far.peer().unwrap()), (own, own));
    assert!(near.same_user().is_some() && far.same_user().is_some());
    assert_eq!(host::uid(), std::fs::metadata("/proc/self").unwrap().uid());
}

#[test]
fn abstract_name_is_freed_with_its_socket() {
    let name = random_name();
    let place = UnixAddress::Abstract(&name);
    assert_eq!(Packets::connect(place).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    let listener = PacketListener::bind(place).unwrap();
    assert!(listener.accept().unwrap().is_none());
    assert_eq!(PacketListener::bind(place).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    drop(listener);
    assert_eq!(Packets::connect(place).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    // Another thread closes it.
    let until = Instant::now() + LONG;
    while PacketListener::bind(place).is_err() {
        assert!(Instant::now() < until, "the name is still taken");
        std::thread::yield_now();
    }
}

/// A listener, a pending connection and an accepted one, each with a packet that carries a descriptor.
#[test]
fn descriptors_in_closed_queues_are_closed() {
    let name = random_name();
    let listener = PacketListener::bind(UnixAddress::Abstract(&name)).unwrap();
    let [accepted, waiting] = [(); 2].map(|()| Packets::connect(UnixAddress::Abstract(&name)).unwrap());
    let far = listener.accept().unwrap().unwrap();
    let (mut reader, writer) = io::pipe().unwrap();
    for packets in [&accepted, &waiting] {
        assert!(packets.send(b"x", &[writer.as_fd(); MAX_FDS]).unwrap());
    }
    drop(writer);
    drop((far, listener));
    // The end of the pipe: no process holds the writing end.
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
}

#[test]
fn peeked_packet_stays_until_discarded() {
    let (near, far) = pair();
    let (mut reader, writer) = io::pipe().unwrap();
    assert!(near.send(b"first", &[writer.as_fd()]).unwrap() && near.send(b"second", &[]).unwrap());
    drop(writer);
    for _ in 0..2 {
        let mut buffer = [0; 8];
        let Received::Packet { len: 5, fds, truncated: false } = far.peek(&mut buffer).unwrap() else {
            panic!("a packet is due");
        };
        assert_eq!((&buffer[..5], fds.len()), (&b"first"[..], 1));
    }
    far.discard();
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    assert_eq!(packet(&far, 8), (b"second".to_vec(), 0, false));
}

#[test]
fn too_long_name_is_refused_with_limit() {
    let folder = Folder::new();
    let capacity = LONGEST - folder.0.as_os_str().len() - 1;
    assert!(PacketListener::bind(UnixAddress::Path(&folder.file(&"n".repeat(capacity)))).is_ok());
    let long = folder.file(&"n".repeat(capacity + 1));
    for error in [
        PacketListener::bind(UnixAddress::Path(&long)).unwrap_err(),
        Packets::connect(UnixAddress::Path(&long)).unwrap_err(),
    ] {
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let text = error.to_string();
        assert!(text.contains(&long.display().to_string()) && text.contains("1 to 107"), "{text}");
    }
    let mut name = random_name();
    name.resize(LONGEST, b'x');
    assert!(PacketListener::bind(UnixAddress::Abstract(&name)).is_ok());
    name.push(b'x');
    for place in [
        UnixAddress::Abstract(&name),
        UnixAddress::Abstract(b""),
        UnixAddress::Path(Path::new("")),
        UnixAddress::Path(Path::new("a\0b")),
    ] {
        assert_eq!(PacketListener::bind(place).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{place:?}");
    }
}

#[test]
fn socket_file_is_private_and_removed_with_listener() {
    let folder = Folder::new();
    let path = folder.file("socket");
    let missing = Packets::connect(UnixAddress::Path(&path)).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    let listener = PacketListener::bind(UnixAddress::Path(&path)).unwrap();
    assert!(is_close_on_exec(&listener));
    let found = std::fs::symlink_metadata(&path).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    let near = Packets::connect(UnixAddress::Path(&path)).unwrap();
    let far = listener.accept().unwrap().unwrap();
    assert!(is_close_on_exec(&near) && is_close_on_exec(&far));
    drop(listener);
    assert!(!path.exists());
    assert!(near.send(b"still", &[]).unwrap());
    assert_eq!(packet(&far, 8).0, b"still");
}

/// A dead socket file.
fn leave_dead(path: &Path) {
    let fd = socket().unwrap();
    net::bind(&fd, &UnixAddress::Path(path).address().unwrap()).unwrap();
}

#[test]
fn dead_socket_file_is_replaced() {
    let folder = Folder::new();
    let path = folder.file("socket");
    leave_dead(&path);
    assert_eq!(
        Packets::connect(UnixAddress::Path(&path)).unwrap_err().kind(),
        io::ErrorKind::ConnectionRefused
    );
    let _listener = PacketListener::bind(UnixAddress::Path(&path)).unwrap();
    assert!(Packets::connect(UnixAddress::Path(&path)).is_ok());
}

#[test]
fn only_dead_socket_file_is_replaced() {
    let folder = Folder::new();
    let refused = |name: &str, why: &str| {
        let path = folder.file(name);
        let error = PacketListener::bind(UnixAddress::Path(&path)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let text = error.to_string();
        assert!(text.contains(&path.display().to_string()) && text.contains(why), "{text}");
        assert!(std::fs::symlink_metadata(&path).is_ok(), "{name} is still there");
    };
    let listener = PacketListener::bind(UnixAddress::Path(&folder.file("living"))).unwrap();
    refused("living", "living socket");
    let _stream = std::os::unix::net::UnixListener::bind(folder.file("stream")).unwrap();
    refused("stream", "living socket");
    std::fs::write(folder.file("plain"), "text").unwrap();
    refused("plain", "not a socket");
    std::fs::create_dir(folder.file("folder")).unwrap();
    refused("folder", "not a socket");
    leave_dead(&folder.file("dead"));
    symlink(folder.file("dead"), folder.file("link")).unwrap();
    refused("link", "not a socket");
    // The living socket still works.
    assert!(
        Packets::connect(UnixAddress::Path(&folder.file("living"))).is_ok()
            && listener.accept().unwrap().is_some()
    );
}

#[test]
fn replaced_socket_file_is_not_removed() {
    let folder = Folder::new();
    let path = folder.file("socket");
    let first = PacketListener::bind(UnixAddress::Path(&path)).unwrap();
    std::fs::remove_file(&path).unwrap();
    let second = PacketListener::bind(UnixAddress::Path(&path)).unwrap();
    drop(first);
    assert!(Packets::connect(UnixAddress::Path(&path)).is_ok());
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "text").unwrap();
    drop(second);
    assert_eq!(std::fs::read(&path).unwrap(), b"text");
}
