//! Check that all threads of a process group are stopped, according to `/proc` (`proc_pid_stat(5)`).

use std::fs;
use std::path::Path;

use rustix::process::Pid;

/// Whether every thread of each process in the group is stopped or has ended.
pub(super) fn is_stopped(group: Pid) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let mut of_group = processes.flatten().filter(|process| {
        stat(&process.path()).is_some_and(|stat| stat.group == group.as_raw_nonzero().get())
    });
    of_group.all(|process| {
        let Ok(threads) = fs::read_dir(process.path().join("task")) else { return true };
        threads
            .flatten()
            .all(|thread| stat(&thread.path()).is_none_or(|stat| matches!(stat.state, 'T' | 'Z' | 'X')))
    })
}

struct Stat {
    state: char,
    group: i32,
}

/// Fields 3 and 5 of the `stat` file in this folder: state and process group.
fn stat(folder: &Path) -> Option<Stat> {
    let text = fs::read_to_string(folder.join("stat")).ok()?;
    // The program's name, in parentheses, may contain spaces and parentheses.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let group = fields.nth(1)?.parse().ok()?;
    Some(Stat { state, group })
}
