//! The checked files of a workspace, by their paths from its root.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Texts of manifests and sources by path.
#[derive(Debug, Default)]
pub struct Tree(BTreeMap<String, String>);

impl Tree {
    /// Reads the manifests and sources below a folder, without cargo's and git's own files.
    ///
    /// # Errors
    /// If a folder or a file cannot be read, or a file is not UTF-8.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.add_folder(root, "")?;
        Ok(tree)
    }

    /// A tree of these files.
    pub fn of<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Self {
        Self(files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect())
    }

    fn add_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if entry.file_type()?.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    self.add_folder(&entry.path(), &format!("{path}/"))?;
                }
            } else if name == "Cargo.toml" || name.ends_with(".rs") {
                self.0.insert(path, fs::read_to_string(entry.path())?);
            }
        }
        Ok(())
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The paths of the files in a folder, without its subfolders.
    pub fn files_in(&self, folder: &str) -> Vec<&str> {
        let is_direct = |path: &&str| path.strip_prefix(folder).is_some_and(|name| !name.contains('/'));
        self.0.keys().map(String::as_str).filter(is_direct).collect()
    }

    /// The folders, with a trailing slash, whose manifest matches a pattern of the workspace's members.
    pub fn members(&self, pattern: &str) -> Vec<&str> {
        let matches = |folder: &str| match pattern.strip_suffix('*') {
            Some(outer) => folder.strip_prefix(outer).is_some_and(|name| !name.contains('/')),
            None => folder == pattern,
        };
        let folder = |path: &'_ str| -> Option<usize> {
            let folder = path.strip_suffix("/Cargo.toml")?;
            matches(folder).then_some(folder.len() + 1)
        };
        self.0.keys().filter_map(|path| Some(&path[..folder(path)?])).collect()
    }
}
