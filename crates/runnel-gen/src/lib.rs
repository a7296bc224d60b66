//! Generation of Rust types from `.msg`, `.srv` and `.action` files, for build scripts.
//!
//! A crate with its own interfaces has package folders as in ROS, such as `interfaces/my_msgs/msg/Foo.msg`, and this
//! `build.rs`:
//!
//! ```no_run
//! runnel_gen::generate("interfaces");
//! ```
//!
//! One type serves ROS 1 and ROS 2. The ROS 2 form mostly follows from the same file: lower-case names, times as
//! messages. Where that is not enough, a second file in `ros2` defines the ROS 2 form:
//!
//! ```text
//! interfaces/my_msgs/msg/Foo.msg           Foo in ROS 1, and in ROS 2 unless the next file exists
//! interfaces/ros2/my_msgs/msg/Foo.msg      Foo in ROS 2
//! interfaces/ros2/my_msgs/msg/Bar.msg      Bar, in ROS 2 only (in ROS 1 only: below `ros1`)
//! ```
//!
//! The files are merged into one type with the fields and constants of both. A field of only one generation is not
//! written in the other's encoding, and is zero or empty when read from it. Fields of both must have the same type
//! and order. A default of either file is used; if both have one, that of ROS 2.
//!
//! `runnel::include_interfaces!();` then adds a module for each package to the crate, with a module for each kind of file:
//! `my_msgs::msg::Foo`, `my_msgs::srv::Bar`, `my_msgs::action::BazAction`. Types of the standard packages are those of
//! `runnel::msgs`.

mod collect;
mod docs;
mod emit;
mod merge;
mod names;
mod tail;
mod values;

use collect::{GenerateError, Interfaces};
use std::path::{Path, PathBuf};

/// The file that [`generate`] writes to `OUT_DIR`.
const INTERFACES_FILE: &str = "runnel_interfaces.rs";
/// The second file of [`generate_standard`]: a list of the definitions' texts.
const DEFINITIONS_FILE: &str = "runnel_definitions.rs";
/// The third file: a macro that names every message.
const MESSAGES_FILE: &str = "runnel_messages.rs";

/// Generates the types of a package folder, or of all packages in a folder. Call it in a build script. It ends the
/// script with errors that name file, line and column if a definition is wrong.
pub fn generate(folder: impl AsRef<Path>) {
    watch(folder.as_ref());
    let interfaces = Interfaces::collect(folder.as_ref(), Some(&standard_folder()), |_| true);
    write_out(INTERFACES_FILE, interfaces.and_then(|interfaces| emit::packages(&interfaces)));
}

/// Generates the standard packages that the features of the crate being built select, each by the package's name, and lists the
/// definitions of all of them. For the crate that contains them.
pub fn generate_standard() {
    let folder = standard_folder();
    watch(&folder);
    let interfaces = Interfaces::collect(&folder, None, is_feature_on);
    write_out(MESSAGES_FILE, interfaces.as_ref().map(emit::message_list).map_err(Vec::clone));
    write_out(INTERFACES_FILE, interfaces.and_then(|interfaces| emit::packages(&interfaces)));
    write_out(DEFINITIONS_FILE, collect::definition_list(&folder));
}

/// Whether the crate that is being built has a feature of this name, and it is on.
fn is_feature_on(name: &str) -> bool {
    std::env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some()
}

fn standard_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interfaces")
}

fn watch(folder: &Path) {
    println!("cargo::rerun-if-changed={}", folder.display());
}

/// Writes a file to `OUT_DIR`, or ends the build script with the errors.
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
