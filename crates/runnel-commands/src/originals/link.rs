//! Links with the names of programs.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Creates a link to this executable in `folder` for each name, and returns the links. Existing links stay. If one of
/// the names belongs to another file, nothing is created.
///
/// # Errors
/// When the folder does not exist, a name is taken, or a link cannot be created.
pub fn link(folder: &Path, names: &[&str]) -> Result<Vec<PathBuf>, CliError> {
    let failed = |at: &Path, why: &io::Error| CliError::Failed(format!("{}: {why}", at.display()));
    if !folder.is_dir() {
        return Err(CliError::Failed(format!("{0}: no such folder. Try: mkdir -p {0}", folder.display())));
    }
    let own = env::current_exe().and_then(fs::canonicalize).map_err(CliError::failed)?;
    let links: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    if let Some(taken) = links.iter().find(|link| is_taken(link, &own)) {
        return Err(CliError::Failed(format!(
            "{} exists and is no link to this program. Try: another folder",
            taken.display()
        )));
    }
    for link in links.iter().filter(|link| fs::symlink_metadata(link).is_err()) {
        symlink(&own, link).map_err(|error| failed(link, &error))?;
    }
    Ok(links)
}

/// Whether a shell finds programs in this folder.
pub fn is_in_path(folder: &Path) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let same = |other: PathBuf| other.canonicalize().ok() == folder.canonicalize().ok();
    env::split_paths(&path).any(same)
}

/// True if another file has this name.
fn is_taken(link: &Path, own: &Path) -> bool {
    fs::symlink_metadata(link).is_ok() && !is_same(link, own).unwrap_or_default()
}

/// True if two paths lead to one file, by links of either kind.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let [one, other] = [fs::metadata(one)?, fs::metadata(other)?];
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_made_once_and_replace_nothing() {
        let names = ["rostopic", "rosmsg"];
        let link = |folder: &Path| link(folder, &names);
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("bin");
        let refused = link(&inner).expect_err("there is no such folder").to_string();
        assert!(refused.contains("no such folder. Try: mkdir -p /") && !inner.exists(), "{refused}");
        fs::create_dir(&inner).expect("a folder");
        let made = link(&inner).expect("links");
        assert_eq!(made.len(), names.len());
        let own = fs::canonicalize(env::current_exe().expect("a path")).expect("a path");
        assert!(made.iter().all(|link| fs::canonicalize(link).is_ok_and(|target| target == own)));
        fs::remove_file(&made[0]).expect("a link");
        fs::hard_link(&own, &made[0]).or_else(|_| symlink(&own, &made[0])).expect("a link of another kind");
        assert_eq!(link(&inner).expect("they are ours"), made);

        let other = folder.path().join("other");
        fs::create_dir(&other).expect("a folder");
        fs::write(other.join("rosmsg"), "mine").expect("a file");
        let error = link(&other).expect_err("a name is taken").to_string();
        assert!(error.contains("rosmsg exists"), "{error}");
        assert_eq!(fs::read_to_string(other.join("rosmsg")).expect("untouched"), "mine");
        assert_eq!(fs::read_dir(&other).expect("a folder").count(), 1, "nothing else was made");
    }
}
