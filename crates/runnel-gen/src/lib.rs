//! Rust types from `.msg`, `.srv` and `.action` files, for build scripts.
//!
//! A crate with interfaces of its own has them in package folders as ROS does, such as
//! `interfaces/my_msgs/msg/Foo.msg`, and this `build.rs`:
//!
//! ```no_run
//! runnel_gen::generate("interfaces");
//! ```
//!
//! One type serves both generations of ROS. What its form in ROS 2 differs by mostly follows from the one file: names in
//! lower case, times as messages. Where that is not all, a second file, below `ros2`, says what ROS 2 has:
//!
//! ```text
//! interfaces/my_msgs/msg/Foo.msg           Foo in ROS 1, and in ROS 2 unless the next is there
//! interfaces/ros2/my_msgs/msg/Foo.msg      Foo in ROS 2
//! interfaces/ros2/my_msgs/msg/Bar.msg      ROS 2 alone has Bar (or ROS 1, below `ros1`)
//! ```
//!
//! Both files become one type with the fields and constants of both; what only one generation has is passed over in the
//! bytes of the other, and zero or empty when these are read. Fields that both have must be of one type and in one order.
//! A default that one of the files gives is the type's; ROS 2's, if both do.
//!
//! In its code, `runnel::include_interfaces!();` then brings in a module for each package, with a module for each kind of file:
//! `my_msgs::msg::Foo`,
//! `my_msgs::srv::Bar`, `my_msgs::action::BazAction`. Types of the standard packages are those of `runnel::msgs`.

mod collect;
mod docs;
mod emit;
mod merge;
mod names;
mod tail;
mod values;

use collect::{GenerateError, Interfaces};
use std::path::{Path, PathBuf};

/// The file that [`generate`] writes in `OUT_DIR`.
const INTERFACES_FILE: &str = "runnel_interfaces.rs";
/// The file that [`generate_standard`] writes beside it: a list of the definitions' texts.
const DEFINITIONS_FILE: &str = "runnel_definitions.rs";
/// The third: a macro that names every message.
const MESSAGES_FILE: &str = "runnel_messages.rs";

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
    write_out(MESSAGES_FILE, interfaces.as_ref().map(emit::message_list).map_err(Vec::clone));
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
