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

use collect::{GenerateError, Interfaces};
use std::path::{Path, PathBuf};

/// The file that [`generate`] writes in `OUT_DIR`.
const INTERFACES_FILE: &str = "runnel_interfaces.rs";
/// The file that [`generate_standard`] writes beside it: a list of the definitions' texts.
const DEFINITIONS_FILE: &str = "runnel_definitions.rs";

/// Generates the types of the packages in a folder, or of the package that it is. To be called in a build script,
/// which it ends with messages that name file, line and column if a definition is wrong.
pub fn generate(folder: impl AsRef<Path>) {
    watch(folder.as_ref());
    let interfaces = Interfaces::collect(folder.as_ref(), Some(&standard_folder()));
    write_out(INTERFACES_FILE, interfaces.and_then(|interfaces| emit::packages(&interfaces)));
}

/// Generates the standard packages, for the crate that holds them.
pub fn generate_standard() {
    let folder = standard_folder();
    watch(&folder);
    let interfaces = Interfaces::collect(&folder, None);
    write_out(INTERFACES_FILE, interfaces.and_then(|interfaces| emit::packages(&interfaces)));
    write_out(DEFINITIONS_FILE, collect::definition_list(&folder));
}

fn standard_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interfaces")
}

fn watch(folder: &Path) {
    println!("cargo::rerun-if-changed={}", folder.display());
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
