//! Behaviour at the process's limits of descriptors, memory and file size. One test at a time, since these limits
//! hold for the whole process.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use runnel_io::memory::{ForeignWords, SharedWords};
use runnel_io::segment::Segment;
use runnel_io::unix::{MAX_FDS, PacketListener, Packets, Received, UnixAddress};
use runnel_io::{Doorbell, host};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const MIB: usize = 1 << 20;

/// Exclusive run of one test. Another thread closes the connections of the previous test, so it starts once none of
/// its descriptors is open.
fn exclusive() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    static OPEN_AT_FIRST: OnceLock<usize> = OnceLock::new();
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let open_at_first = *OPEN_AT_FIRST.get_or_init(descriptors);
    let deadline = Instant::now() + Duration::from_secs(60);
    while descriptors() > open_at_first {
        assert!(Instant::now() < deadline, "{} descriptors, {open_at_first} at first", descriptors());
        thread::yield_now();
    }
    turn
}

/// Restores a limit when dropped.
struct Changed(Resource, Rlimit);

impl Changed {
    fn to(resource: Resource, current: usize) -> Self {
        let before = getrlimit(resource);
        setrlimit(resource, Rlimit { current: Some(current as u64), ..before }).unwrap();
        Self(resource, before)
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        setrlimit(self.0, self.1).unwrap();
    }
}

fn descriptors() -> usize {
    // One is open for this reading.
    std::fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// Descriptors that can still be opened.
fn left() -> usize {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect::<Vec<_>>().len()
}

/// Opens files until `left` descriptors are left.
fn all_but(left: usize) -> Vec<File> {
    let mut files: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(files.len() > left);
    files.truncate(files.len() - left);
    files
}

fn listener() -> (PacketListener, [u8; 8]) {
    let name = host::random().unwrap().to_ne_bytes();
    (PacketListener::bind(UnixAddress::Abstract(&name)).unwrap(), name)
}

/// A connection, and its listener. Another thread closes a listener that is dropped, so a test that counts descriptors
/// keeps it.
fn pair() -> (PacketListener, Packets, Packets) {
    let (listener, name) = listener();
    let near = Packets::connect(UnixAddress::Abstract(&name)).unwrap();
    let far = listener.accept().unwrap().unwrap();
    (listener, near, far)
}

fn received(packets: &Packets) -> (usize, Vec<OwnedFd>, bool) {
    match packets.recv(&mut [0; 8]).unwrap() {
        Received::Packet { len, fds, truncated } => (len, fds, truncated),
        other => panic!("{other:?}"),
    }
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error())
}

#[test]
fn descriptors_beyond_limit_are_dropped() {
    let _exclusive = exclusive();
    let (_listener, near, far) = pair();
    let _changed = Changed::to(Resource::Nofile, descriptors() + 20);
    for few in 0..=MAX_FDS {
        assert!(near.send(b"four", &[near.as_fd(); MAX_FDS]).unwrap() && near.send(b"next", &[]).unwrap());
        let _files = all_but(few);
        let (len, fds, truncated) = received(&far);
        assert_eq!(
            (len, fds.len(), truncated),
            if few < MAX_FDS { (4, 0, true) } else { (4, MAX_FDS, false) }
        );
        drop(fds);
        assert_eq!(left(), few, "what arrived in part is closed");
        assert_eq!(received(&far).0, 4);
        assert!(matches!(far.recv(&mut [0; 8]).unwrap(), Received::Nothing));
    }
}

#[test]
fn exhausted_descriptors_are_reported() {
    let _exclusive = exclusive();
    let (listener, name) = listener();
    let waiting = Packets::connect(UnixAddress::Abstract(&name)).unwrap();
    let changed = Changed::to(Resource::Nofile, descriptors() + 20);
    let files = all_but(0);
    let errors = [
        SharedWords::new("none", 1).map(drop),
        Segment::new(64, 1).map(drop),
        Doorbell::pair().map(drop),
        Packets::connect(UnixAddress::Abstract(&name)).map(drop),
        PacketListener::bind(UnixAddress::Abstract(b"runnel none")).map(drop),
        listener.accept().map(drop),
    ];
    drop((files, changed));
    for (number, outcome) in errors.into_iter().enumerate() {
        assert!(is_out_of_descriptors(&outcome.unwrap_err()), "{number}");
    }
    // The connection stayed in the backlog.
    let far = listener.accept().unwrap().unwrap();
    assert!(waiting.send(b"late", &[]).unwrap());
    assert_eq!(received(&far).0, 4);
}

#[test]
fn full_backlog_does_not_block_clients() {
    let _exclusive = exclusive();
    let limit = getrlimit(Resource::Nofile);
    let _changed = Changed::to(Resource::Nofile, limit.maximum.unwrap_or(8192).min(8192) as usize);
    let (_listener, name) = listener();
    let mut connected = Vec::new();
    let error = loop {
        match Packets::connect(UnixAddress::Abstract(&name)) {
            Ok(packets) => connected.push(packets),
            Err(error) => break error,
        }
    };
    // At a low limit, descriptors run out first.
    let full = error.kind() == io::ErrorKind::WouldBlock;
    assert!(full || is_out_of_descriptors(&error), "{error} after {}", connected.len());
}

#[test]
fn memory_beyond_file_limit_is_an_error() {
    let _exclusive = exclusive();
    let changed = Changed::to(Resource::Fsize, 64 * MIB);
    let too_much = SharedWords::new("beyond", 64 * MIB + 1).unwrap_err();
    let enough = SharedWords::new("within", 2 * MIB).map(|shared| shared.len());
    drop(changed);
    assert_eq!(too_much.kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(enough.unwrap(), 2 * MIB);
}

#[test]
fn unavailable_memory_is_not_allocated() {
    let _exclusive = exclusive();
    // If the memory were allocated, this would end it early.
    let changed = Changed::to(Resource::Fsize, 64 * MIB);
    let mut outcomes = vec![Segment::new(1 << 30, 1 << 20).map(drop)];
    outcomes.extend([1 << 46, 1 << 62].map(|bytes| SharedWords::new("too much", bytes).map(drop)));
    drop(changed);
    for outcome in outcomes {
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::OutOfMemory);
    }
}

#[test]
fn unmappable_memory_is_an_error() {
    let _exclusive = exclusive();
    let shared = SharedWords::new("large", 64 * MIB).unwrap();
    let fd = shared.fd().try_clone_to_owned().unwrap();
    let before = descriptors();
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split_whitespace().next().unwrap().parse().unwrap();
    let changed = Changed::to(Resource::As, pages * rustix::param::page_size() + 32 * MIB);
    let outcomes =
        [SharedWords::new("more", 64 * MIB).map(drop), ForeignWords::map(fd, 1, usize::MAX).map(drop)];
    drop(changed);
    for outcome in outcomes {
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::OutOfMemory);
    }
    assert_eq!(descriptors(), before - 1, "every descriptor is closed, the given one as well");
}
