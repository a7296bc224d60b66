//! Systems that refuse what the better methods need.

use std::fs;
use std::mem::offset_of;
use std::path::Path;

use runnel_io::direct_file::{DirectFile, Method, Options};

use super::places::{Folder, in_new_file_system};
use super::write;

/// Has the kernel refuse a system call of this thread and of the threads that it starts, as container engines do.
fn refuse(call: libc::c_long) {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let number = offset_of!(libc::seccomp_data, nr) as u32;
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, number),
        libc::sock_filter { jf: 1, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32) },
        statement(libc::BPF_RET, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(libc::BPF_RET, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: both calls change only this thread. The second one reads the program, which outlives it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

/// The method and its text for a file that is then written and read.
fn method_in(folder: &Path) -> (Method, String) {
    let path = folder.join("bag");
    let mut file = DirectFile::create(&path, &Options::default()).unwrap();
    let chosen = (file.write_path().method, file.write_path().to_string());
    let block = file.block();
    for number in 0..20_u8 {
        write(&mut file, number, block, u64::from(number) * block as u64).unwrap();
    }
    file.sync().unwrap();
    file.finish(20 * block as u64).unwrap();
    let expected: Vec<u8> = (0..20).flat_map(|number| vec![number; block]).collect();
    assert!(fs::read(&path).unwrap() == expected);
    chosen
}

#[test]
fn container_without_io_uring_gets_a_thread() {
    let folder = Folder::new("no_ring");
    let without = std::thread::scope(|scope| {
        let there = || {
            refuse(libc::SYS_io_uring_setup);
            method_in(folder.path())
        };
        scope.spawn(there).join().unwrap()
    });
    // Where direct I/O is refused, io_uring is not asked for.
    if super::allowed(folder.path()).contains(&Method::DirectThread) {
        let text = "direct I/O by a thread (refused: io_uring: Operation not permitted (os error 1))";
        assert_eq!(without, (Method::DirectThread, text.to_owned()));
    }
}

/// Linux 5.1 to 5.5 have io_uring, but neither its writes nor the question for its operations.
#[test]
fn kernel_without_io_uring_writes_gets_a_thread() {
    let folder = Folder::new("old_ring");
    let without = std::thread::scope(|scope| {
        let there = || {
            refuse(libc::SYS_io_uring_register);
            method_in(folder.path())
        };
        scope.spawn(there).join().unwrap()
    });
    if super::allowed(folder.path()).contains(&Method::DirectRing) {
        let text =
            "direct I/O by a thread (refused: io_uring: the kernel lacks operations, which Linux 5.6 has)";
        assert_eq!(without, (Method::DirectThread, text.to_owned()));
    }
}

/// ramfs is nothing but page cache.
#[test]
fn file_system_without_direct_io_is_written_through_the_page_cache() {
    in_new_file_system("ramfs", &["-t", "ramfs", "ramfs"], |folder| {
        let (method, text) = method_in(folder);
        assert_eq!(method, Method::WriteBack);
        assert!(
            text.contains("(refused: direct I/O: Invalid argument (os error 22); RWF_DONTCACHE: "),
            "{text}"
        );
    });
}
