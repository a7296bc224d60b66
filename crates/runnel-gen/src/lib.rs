//! Rust types from `.msg`, `.srv` and `.action` files, for build scripts.
//!
//! A crate with interfaces of its own has them in package folders as ROS does, such as
//! `interfaces/my_msgs/msg/Foo.msg`, and this `build.rs`:
//!
//! ```no_run
//! runnel_gen::generate("interfaces");
//! ```
//!
//! In its code, `runnel::include_interfaces!();` then brings in a module for each package: `my_msgs::Foo`. Types of the
//! standard packages are those of `runnel::msgs`.

mod collect;
mod docs;
mod emit;
mod names;
mod tail;
mod values;

pub use collect::GenerateError;

use collect::Interfaces;
use std::path::{Path, PathBuf};

/// The file that [`generate`] writes in `OUT_DIR`.
pub const INTERFACES_FILE: &str = "runnel_interfaces.rs";
/// The file that [`generate_standard`] writes beside it: a list of the definitions' texts.
pub const DEFINITIONS_FILE: &str = "runnel_definitions.rs";

/// Generates the types of the packages in a folder, or of the package that it is. To be called in a build script,
/// which it ends with messages that name file, line and column if a definition is wrong.
pub fn generate(folder: impl AsRef<Path>) {
    generate_all([folder]);
}

/// As [`generate`], of several folders, whose types may name one another's.
pub fn generate_all(folders: impl IntoIterator<Item = impl AsRef<Path>>) {
    let folders: Vec<PathBuf> = folders.into_iter().map(|folder| folder.as_ref().to_owned()).collect();
    watch(&folders);
    write_out(INTERFACES_FILE, source(&folders));
}

/// Generates the standard packages, for the crate that holds them.
pub fn generate_standard() {
    let folder = standard_folder();
    watch(std::slice::from_ref(&folder));
    let interfaces = Interfaces::collect(&[folder], None);
    write_out(INTERFACES_FILE, interfaces.and_then(|interfaces| emit::packages(&interfaces)));
    write_out(DEFINITIONS_FILE, collect::definition_list(&standard_folder()));
}

/// The Rust code of the types of the packages in some folders: a module for each package.
///
/// # Errors
/// Everything that is wrong with the definitions, not only the first.
pub fn source(folders: &[PathBuf]) -> Result<String, Vec<GenerateError>> {
    emit::packages(&Interfaces::collect(folders, Some(&standard_folder()))?)
}

fn standard_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interfaces")
}

fn watch(folders: &[PathBuf]) {
    folders.iter().for_each(|folder| println!("cargo::rerun-if-changed={}", folder.display()));
}

/// Writes a file for the crate that is being built, or ends the build script with the errors.
fn write_out(file: &str, source: Result<String, Vec<GenerateError>>) {
    let written = source.and_then(|source| {
        let folder = std::env::var_os("OUT_DIR").ok_or_else(|| vec![GenerateError::NotABuildScript])?;
        let path = Path::new(&folder).join(file);
        std::fs::write(&path, source).map_err(|error| vec![GenerateError::folder(&path, &error)])
    });
    if let Err(errors) = written {
        errors.iter().for_each(|error| println!("cargo::error={error}"));
        std::process::exit(1);
    }
}
