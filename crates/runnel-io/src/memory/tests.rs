use super::available::{available, available_to_groups};
use super::*;
use std::fs::File;
use std::os::fd::AsRawFd;

const PAGE: usize = 4096;

fn page() -> usize {
    rustix::param::page_size()
}

/// The descriptor of this memory, as a peer gets it.
fn received(shared: &SharedWords) -> OwnedFd {
    shared.fd().try_clone_to_owned().unwrap()
}

/// A memfd that a peer could create: `present` bytes of memory, then the seals.
fn crafted(bytes: u64, present: usize, seals: SealFlags) -> OwnedFd {
    let fd = memfd("crafted").unwrap();
    fs::ftruncate(&fd, bytes).unwrap();
    rustix::io::pwrite(&fd, &vec![7; present], 0).unwrap();
    fs::fcntl_add_seals(&fd, seals).unwrap();
    fd
}

fn refusal(fd: OwnedFd) -> String {
    let error = ForeignWords::map(fd, 1, 1 << 20).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    error.to_string()
}

fn reopened(fd: impl AsFd, how: &mut std::fs::OpenOptions) -> io::Result<OwnedFd> {
    how.open(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())).map(OwnedFd::from)
}

#[test]
fn reader_sees_writes_after_owner_is_gone() {
    let shared = SharedWords::new("test", 1).unwrap();
    assert_eq!(shared.len(), page());
    assert!(rustix::io::fcntl_getfd(shared.fd()).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    let words = ForeignWords::map(received(&shared), page(), page()).unwrap();
    let bytes = ForeignBytes::map(received(&shared), page(), page()).unwrap();
    assert_eq!((bytes.len(), words.len()), (page(), page() / 8));
    shared.words()[3].store(0x0102, Ordering::Release);
    assert_eq!(words.load(3, Ordering::Acquire), 0x0102);
    assert_eq!(bytes.bytes(24, 2), Some(Bytes::from(&0x0102_u16.to_ne_bytes())));
    drop(shared);
    assert_eq!(words.load(3, Ordering::SeqCst), 0x0102);
}

#[test]
fn reads_past_end_are_zero() {
    let shared = SharedWords::new("test", 1).unwrap();
    let words = ForeignWords::map(received(&shared), 1, PAGE * 64).unwrap();
    let foreign = ForeignBytes::map(received(&shared), 1, PAGE * 64).unwrap();
    shared.words().iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
    assert_eq!(words.load(words.len() - 1, Ordering::Relaxed), u64::MAX);
    assert_eq!(words.load(words.len(), Ordering::Relaxed), 0);
    assert_eq!(words.load(usize::MAX, Ordering::Relaxed), 0);
    let len = foreign.len();
    assert_eq!(foreign.bytes(0, len).map(|bytes| bytes.len()), Some(len));
    assert_eq!(foreign.bytes(len, 0), Some(Bytes::default()));
    for (offset, count) in [(0, len + 1), (1, len), (len, 1), (len + 1, 0), (usize::MAX, 1), (1, usize::MAX)]
    {
        assert_eq!(foreign.bytes(offset, count), None, "{offset} {count}");
    }
}

#[test]
fn partial_last_word_is_not_a_word() {
    let fd = crafted(13, 13, SEALS);
    let words = ForeignWords::map(fd.try_clone().unwrap(), 13, 13).unwrap();
    let foreign = ForeignBytes::map(fd, 13, 13).unwrap();
    assert_eq!((foreign.len(), words.len(), words.is_empty()), (13, 1, false));
    assert_eq!(foreign.bytes(8, 5), Some(Bytes::from(&[7; 5])));
    assert_eq!(foreign.bytes(8, 6), None);
}

#[test]
fn foreign_bytes_start_at_any_offset() {
    let shared = SharedWords::new("test", 1).unwrap();
    let written: Vec<u8> = (0..page()).map(|index| (index * 7) as u8).collect();
    for (word, bytes) in shared.words().iter().zip(written.as_chunks().0) {
        word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
    }
    let foreign = ForeignBytes::map(received(&shared), 1, page()).unwrap();
    let ranges = (0..20).flat_map(|offset| (0..30).map(move |len| (offset, len)));
    for (offset, len) in ranges.chain([(0, page()), (page() - 9, 9), (page(), 0)]) {
        let found = foreign.bytes(offset, len);
        assert_eq!(found, Some(Bytes::from(&written[offset..offset + len])), "{offset} {len}");
    }
}

#[test]
fn unavailable_memory_is_an_error() {
    for bytes in [0, usize::MAX, usize::MAX - 1] {
        assert_eq!(
            SharedWords::new("none", bytes).unwrap_err().kind(),
            io::ErrorKind::InvalidInput,
            "{bytes}"
        );
    }
    assert_eq!(SharedWords::new("a\0b", 1).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn available_memory_is_parsed_from_meminfo() {
    let with = |total: u64, available_kb: &str| {
        available(&format!(
            "MemTotal:  {total} kB\nMemFree: 7 kB\nMemAvailable:     {available_kb}\nSwapFree: 4 kB\n"
        ))
    };
    assert_eq!(with(160, "23 kB"), Some(13 * 1024), "all but a sixteenth of all");
    assert_eq!(with(800, "23 kB"), Some(0));
    for none in ["18446744073709551615 kB", "5 MB", "x kB"] {
        assert_eq!(with(160, none), None, "{none}");
    }
    assert_eq!(available(""), None);
    assert!(available(&std::fs::read_to_string("/proc/meminfo").unwrap()).is_some());
}

#[test]
fn large_memory_is_allocated_to_last_page() {
    let bytes = 2 * STEP + page();
    let shared = SharedWords::new("steps", bytes - 1).unwrap();
    assert_eq!(shared.len(), bytes);
    shared.words().last().unwrap().store(5, Ordering::Relaxed);
    let foreign = ForeignWords::map(received(&shared), bytes, bytes).unwrap();
    assert_eq!(foreign.load(bytes / 8 - 1, Ordering::Relaxed), 5);
}

/// Attempts to write another process's memory, to resize it and to remove its pages.
fn attack(fd: &OwnedFd, len: usize) {
    let writable = ProtFlags::READ | ProtFlags::WRITE;
    assert!(Mapping::new(fd, len, writable).is_err(), "a second writable mapping");
    let mapping = Mapping::new(fd, len, ProtFlags::READ).unwrap();
    // SAFETY: nothing else refers to this mapping, and it is not accessed afterwards.
    let protect = unsafe {
        mm::mprotect(mapping.start.as_ptr().cast(), len, mm::MprotectFlags::READ | mm::MprotectFlags::WRITE)
    };
    assert_eq!(protect, Err(Errno::ACCESS), "a mapping that is made writable");
    assert_eq!(rustix::io::pwrite(fd, b"x", 0), Err(Errno::PERM));
    assert_eq!(fs::ftruncate(fd, 0), Err(Errno::PERM));
    assert_eq!(fs::ftruncate(fd, 2 * len as u64), Err(Errno::PERM));
    let punch = fs::FallocateFlags::PUNCH_HOLE | fs::FallocateFlags::KEEP_SIZE;
    assert_eq!(fs::fallocate(fd, punch, 0, len as u64), Err(Errno::PERM));
    assert_eq!(fs::fcntl_add_seals(fd, SealFlags::WRITE), Err(Errno::PERM));
}

#[test]
fn only_owner_can_write_or_resize_memory() {
    let shared = SharedWords::new("test", 3 * page()).unwrap();
    shared.words()[0].store(9, Ordering::Relaxed);
    attack(&received(&shared), shared.len());
    let mut how = File::options();
    if let Ok(again) = reopened(shared.fd(), how.read(true).write(true)) {
        attack(&again, shared.len());
    }
    let foreign = ForeignWords::map(received(&shared), 1, shared.len()).unwrap();
    // The owner can still write, and the reader sees it.
    shared.words()[1].store(10, Ordering::Relaxed);
    assert_eq!((0..2).map(|index| foreign.load(index, Ordering::Relaxed)).sum::<u64>(), 19);
}

#[test]
fn unsealed_memfd_is_refused() {
    for missing in [SealFlags::FUTURE_WRITE, SealFlags::SHRINK, SealFlags::GROW] {
        let refusal = refusal(crafted(PAGE as u64, PAGE, SEALS.difference(missing)));
        assert!(refusal.contains(&format!("{missing:?}")), "{refusal}");
    }
    assert!(refusal(crafted(PAGE as u64, PAGE, SealFlags::empty())).contains("lacks the seals"));
    assert!(
        ForeignWords::map(crafted(PAGE as u64, PAGE, SEALS), PAGE, PAGE).is_ok(),
        "those three are enough"
    );
}

#[test]
fn memfd_of_wrong_size_is_refused() {
    let shared = SharedWords::new("test", page()).unwrap();
    for (at_least, at_most) in [(page() + 1, usize::MAX), (0, page() - 1), (page() + 1, page() - 1)] {
        let error = ForeignWords::map(received(&shared), at_least, at_most).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains(&format!("{} bytes", page())), "{error}");
    }
    assert!(refusal(crafted(0, 0, SEALS)).contains("0 bytes"));
    assert!(refusal(crafted(1 << 40, 1, SEALS)).contains("1099511627776 bytes"));
    let error = ForeignWords::map(crafted(0, 0, SEALS), 0, 100).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "nothing can be mapped of it");
}

#[test]
fn memfd_with_missing_pages_is_refused() {
    let refused = refusal(crafted(3 * page() as u64, page(), SEALS));
    assert!(
        refused.contains(&format!("memory for only {} of its {} bytes", page(), 3 * page())),
        "{refused}"
    );
    // Pages past the end do not count for those before it.
    let fd = memfd("crafted").unwrap();
    fs::ftruncate(&fd, 2 * page() as u64).unwrap();
    fs::fallocate(&fd, fs::FallocateFlags::KEEP_SIZE, 2 * page() as u64, 4 * page() as u64).unwrap();
    fs::fcntl_add_seals(&fd, SEALS).unwrap();
    assert!(refusal(fd).contains("missing pages"));
}

/// A read by the same open file holds its position for as long as it lasts, which a peer can prolong.
#[test]
fn mapping_keeps_shared_file_position() {
    let shared = SharedWords::new("test", page()).unwrap();
    fs::seek(shared.fd(), SeekFrom::Start(5)).unwrap();
    drop(ForeignWords::map(received(&shared), 1, page()).unwrap());
    assert_eq!(fs::tell(shared.fd()).unwrap(), 5);
}

#[test]
fn other_descriptor_is_refused() {
    let path = std::env::temp_dir().join(format!("runnel_memory_{}", std::process::id()));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    file.set_len(PAGE as u64).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (reader, _writer) = io::pipe().unwrap();
    let folder = File::open("/").unwrap();
    for other in [OwnedFd::from(file), File::open("/dev/zero").unwrap().into(), reader.into(), folder.into()]
    {
        let refusal = refusal(other);
        assert!(refusal.contains("not a memfd") || refusal.contains("lacks the seals"), "{refusal}");
    }
}

#[test]
fn read_only_descriptor_is_enough() {
    let shared = SharedWords::new("test", page()).unwrap();
    shared.words()[0].store(4, Ordering::Relaxed);
    let foreign =
        ForeignWords::map(reopened(shared.fd(), File::options().read(true)).unwrap(), 1, page()).unwrap();
    assert_eq!(foreign.load(0, Ordering::Relaxed), 4);
    // Write-only is possible only before it is sealed.
    let fd = memfd("crafted").unwrap();
    rustix::io::write(&fd, &vec![1; page()]).unwrap();
    let read_only = reopened(&fd, File::options().read(true)).unwrap();
    let write_only = reopened(&fd, File::options().write(true)).unwrap();
    assert!(refusal(read_only).contains("lacks the seals"));
    fs::fcntl_add_seals(&fd, SEALS).unwrap();
    let error = ForeignWords::map(write_only, 1, page()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
}

#[test]
fn dropped_memory_is_unmapped() {
    let name = format!("unmapped_{}", std::process::id());
    let mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().matches(&name).count();
    let shared = SharedWords::new(&name, page()).unwrap();
    let foreign = ForeignWords::map(received(&shared), 1, page()).unwrap();
    assert_eq!(mapped(), 2);
    drop(foreign);
    assert_eq!(mapped(), 1);
    drop(shared);
    assert_eq!(mapped(), 0);
}

#[test]
fn cgroup_limit_is_found_in_both_versions() {
    let folder = std::env::temp_dir().join(format!("runnel_cgroup_{}", crate::host::pid()));
    let write = |file: &str, text: &str| {
        let file = folder.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let available_bytes = |groups: &str| available_to_groups(&folder, groups);
    // Version 1. A container sees only its own group, as the root.
    let first = "5:cpu:/docker/1\n4:memory:/docker/1\n0::/\n";
    assert_eq!(available_bytes(first), None);
    write("memory/memory.limit_in_bytes", "4800\n");
    write("memory/memory.usage_in_bytes", "3000\n");
    assert_eq!(available_bytes(first), Some(1500), "all but a sixteenth of the limit");
    assert_eq!(available_bytes("4:cpu:/docker/1\n"), None, "no group of memory");
    write("memory/memory.stat", "cache 900\ntotal_inactive_file 500\n");
    assert_eq!(available_bytes(first), Some(2000));
    // Version 2, with a systemd unit.
    let second = "0::/system.slice/robot.service\n";
    assert_eq!(available_bytes(second), None);
    write("system.slice/memory.max", "max\n");
    write("system.slice/memory.current", "800\n");
    assert_eq!(available_bytes(second), None, "no limit");
    write("system.slice/robot.service/memory.max", "160\n");
    write("system.slice/robot.service/memory.current", "10\n");
    write("system.slice/robot.service/memory.stat", "anon 1\ninactive_file 4\n");
    assert_eq!(available_bytes(second), Some(144));
    write("system.slice/memory.max", "960\n");
    assert_eq!(available_bytes(second), Some(100), "the group above has less");
    write("system.slice/robot.service/memory.current", "1000\n");
    assert_eq!(available_bytes(second), Some(0));
    std::fs::remove_dir_all(&folder).unwrap();
}
