//! Search for definition files below a folder.

use super::generation::Generation;
use super::library::Kind;
use super::types::TypeName;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

/// Search depth for packages below a folder: `src/group/package` in a workspace, and one more.
const MAX_FOLDER_DEPTH: usize = 4;
/// Maximum number of folders per search.
const MAX_FOLDERS: usize = 50_000;
/// Marker files of folders that are skipped, including their subfolders.
const IGNORE_MARKS: [&str; 3] = ["CATKIN_IGNORE", "COLCON_IGNORE", "AMENT_IGNORE"];

/// A file that, by its place, defines a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionFile {
    /// The kind of definition.
    pub kind: Kind,
    /// The only generation that has the definition; `None` if both have it.
    pub generation: Option<Generation>,
    /// The name: package and file name without its ending.
    pub name: TypeName,
    /// Its path.
    pub path: PathBuf,
}

/// The files `<package>/msg/*.msg`, `<package>/srv/*.srv` and `<package>/action/*.action` below a folder, which may
/// also be a package itself, sorted by path. Packages are searched four levels deep, but not within packages.
///
/// Files in a direct subfolder `ros1` or `ros2` are only for that generation.
///
/// # Errors
/// If the folder itself cannot be read. Unreadable files and folders in it are skipped.
pub fn definition_files(folder: &Path) -> io::Result<Vec<DefinitionFile>> {
    let folder = fs::canonicalize(folder)?;
    fs::read_dir(&folder)?;
    let mut search = Search { files: Vec::new(), remaining_folders: MAX_FOLDERS };
    search.visit(&folder, 0, None);
    search.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(search.files)
}

struct Search {
    files: Vec<DefinitionFile>,
    remaining_folders: usize,
}

impl Search {
    fn visit(&mut self, folder: &Path, depth: usize, generation: Option<Generation>) {
        let Some(remaining) = self.remaining_folders.checked_sub(1) else { return };
        self.remaining_folders = remaining;
        let entries = entries(folder);
        let names: Vec<_> = entries.iter().map(DirEntry::file_name).collect();
        if names.iter().any(|name| IGNORE_MARKS.iter().any(|mark| name == mark)) {
            return;
        }
        let found_before = self.files.len();
        for kind in Kind::ALL {
            if names.iter().any(|name| name == kind.extension()) {
                self.add_package_files(folder, kind, generation);
            }
        }
        let is_package = self.files.len() > found_before || names.iter().any(|name| name == "package.xml");
        if is_package || depth == MAX_FOLDER_DEPTH {
            return;
        }
        let folders = entries.iter().filter(|entry| is_folder(entry) && !is_hidden(entry));
        for entry in folders {
            let is_of = |generation: &Generation| depth == 0 && entry.file_name() == generation.folder();
            let generation = Generation::ALL.into_iter().find(is_of).or(generation);
            self.visit(&entry.path(), depth + 1, generation);
        }
    }

    fn add_package_files(&mut self, package: &Path, kind: Kind, generation: Option<Generation>) {
        let Some(package_name) = package.file_name().and_then(|name| name.to_str()) else { return };
        for path in entries(&package.join(kind.extension())).iter().map(DirEntry::path) {
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let ending_fits = path.extension().is_some_and(|ending| ending == kind.extension());
            let name = stem.and_then(|stem| TypeName::parse(&format!("{package_name}/{stem}")));
            if let Some(name) = name.filter(|_| ending_fits) {
                self.files.push(DefinitionFile { kind, generation, name, path });
            }
        }
    }
}

fn entries(folder: &Path) -> Vec<DirEntry> {
    fs::read_dir(folder).map(|entries| entries.flatten().collect()).unwrap_or_default()
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.path().is_dir()
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().to_str().is_some_and(|name| name.starts_with('.'))
}
