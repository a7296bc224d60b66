//! Folders in which processes of one user leave the sockets that others find them by.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Place, remove_dead};
use crate::host;

/// Files of a folder that are looked at, so that one with very many costs a start no more than that.
const MOST_FILES: usize = 4096;

/// The bits of a folder's mode that let everyone write, and only the owner of a file remove it.
const EVERYONE_WRITES: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Makes sure that a folder is one in which nobody else can take a socket's place, members of its group apart: many
/// systems have every user be a group of its own. Who connects there is asked for the user anyway.
///
/// # Errors
/// When it is not there or no folder, belongs to another user who is not root, or everyone may remove files from it. The
/// text does not name the folder.
pub fn check(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    if !found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder"));
    }
    refusal(found.uid(), found.mode(), host::uid())
        .map_or(Ok(()), |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why)))
}

/// What is wrong with a folder of this owner and mode for this user.
fn refusal(owner: u32, mode: u32, user: u32) -> Option<String> {
    if owner != user && owner != 0 {
        return Some(format!("it belongs to user {owner}, and this process is of user {user}"));
    }
    let open = mode & EVERYONE_WRITES != 0 && mode & STICKY == 0;
    open.then(|| "everyone may remove files from it: it lacks the sticky bit".to_owned())
}

/// Removes the sockets of this user from a folder whose names begin so and to which nobody listens, because a process
/// ended without doing so. One that is made in this very moment may be among them: its process is not found by it then.
///
/// # Errors
/// When the folder cannot be read.
pub fn remove_dead_sockets(folder: &Path, prefix: &str) -> io::Result<()> {
    for file in fs::read_dir(folder)?.take(MOST_FILES).flatten() {
        let ours = || file.metadata().is_ok_and(|found| found.uid() == host::uid());
        if !file.file_name().as_bytes().starts_with(prefix.as_bytes()) || !ours() {
            continue;
        }
        let path = file.path();
        if let Ok(address) = Place::Path(&path).address() {
            // What is alive or no socket stays.
            let _ = remove_dead(&path, &address);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unix::PacketListener;
    use crate::unix::tests::Folder;

    #[test]
    fn a_folder_of_another_user_and_one_that_everyone_may_change_are_refused() {
        for (owner, mode, fit) in [
            (7, 0o40700, true),
            (7, 0o40775, true),
            (7, 0o41777, true),
            (0, 0o41777, true),
            (7, 0o40777, false),
            (0, 0o40777, false),
            (8, 0o40700, false),
            (8, 0o41777, false),
        ] {
            assert_eq!(refusal(owner, mode, 7).is_none(), fit, "{owner} {mode:o}");
        }
    }

    #[test]
    fn the_sockets_of_the_dead_go_and_all_else_stays() {
        let folder = Folder::new();
        let path = |name: &str| folder.file(name);
        let living = PacketListener::bind(Place::Path(&path("here-living"))).unwrap();
        for name in ["here-dead", "other-dead"] {
            drop(std::os::unix::net::UnixListener::bind(path(name)).unwrap());
        }
        fs::write(path("here-file"), "").unwrap();
        remove_dead_sockets(&path(""), "here-").unwrap();
        let names =
            fs::read_dir(path("")).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["here-file", "here-living", "other-dead"]);
        assert!(living.accept().unwrap().is_none(), "the living did not hear of it");
    }
}
