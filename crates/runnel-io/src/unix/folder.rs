//! Folders that hold the socket files of one user's processes.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{UnixAddress, remove_dead};
use crate::host;

/// Most files of a folder that are examined at a start.
const MOST_FILES: usize = 4096;

/// The mode bit that lets everyone write.
const EVERYONE_WRITES: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Checks that no other user can replace a socket in a folder, except members of its group: on many systems each user
/// has a group of its own. Peer credentials are checked for every connection anyway.
///
/// # Errors
/// If it is missing or not a folder, belongs to another user who is not root, or everyone may remove files from it.
/// The text does not name the folder.
pub fn check(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    if !found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder"));
    }
    refusal(found.uid(), found.mode(), host::uid())
        .map_or(Ok(()), |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why)))
}

/// The fault of a folder with this owner and mode, for this user.
fn refusal(owner: u32, mode: u32, user: u32) -> Option<String> {
    if owner != user && owner != 0 {
        return Some(format!("it belongs to user {owner}, but this process runs as user {user}"));
    }
    let open = mode & EVERYONE_WRITES != 0 && mode & STICKY == 0;
    open.then(|| "everyone may remove files from it: it lacks the sticky bit".to_owned())
}

/// Removes this user's dead sockets with this name prefix from a folder. A process that creates one at this very
/// moment may lose it, and is then not found by it.
///
/// # Errors
/// If the folder cannot be read.
pub fn remove_dead_sockets(folder: &Path, prefix: &str) -> io::Result<()> {
    for file in fs::read_dir(folder)?.take(MOST_FILES).flatten() {
        let ours = || file.metadata().is_ok_and(|found| found.uid() == host::uid());
        if !file.file_name().as_bytes().starts_with(prefix.as_bytes()) || !ours() {
            continue;
        }
        let path = file.path();
        if let Ok(address) = UnixAddress::Path(&path).address() {
            // Living sockets and other files stay.
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
    fn folder_writable_by_others_is_refused() {
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
    fn only_dead_sockets_are_removed() {
        let folder = Folder::new();
        let path = |name: &str| folder.file(name);
        let living = PacketListener::bind(UnixAddress::Path(&path("here-living"))).unwrap();
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
        assert!(living.accept().unwrap().is_none(), "the living socket is not affected");
    }
}
