//! Builds of the talkers and listeners on other DDS implementations.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peer_builds::{self, flags, output};
use crate::{installed, sources};

/// The folder of their shared sources.
const SHARED: &str = "dds";

/// The program built from `peers/cyclonedds/ROLE.c`.
///
/// # Panics
/// If it cannot be built; with the compiler's output.
pub fn cyclone(role: &str) -> PathBuf {
    let folder = sources().join("cyclonedds");
    peer_builds::built("cyclonedds", Some(SHARED), role, |program| {
        let types = program.with_extension("types");
        fs::create_dir_all(&types)?;
        // Without type descriptions: version 0.10.2 requests Kilted's, and crashes on the reply.
        output(Command::new("idlc").args(["-t", "-o"]).arg(&types).arg(folder.join("messages.idl")))?;
        let mut compiler = compiler("gcc", "gnu11", program);
        compiler.arg("-I").args([&types, &types.join("messages.c")]);
        compiler.args([folder.join(role).with_extension("c"), folder.join("peer.c")]);
        output(compiler.args(flags(&["CycloneDDS"])?))?;
        Ok(())
    })
}

/// The program built from `peers/fastdds/ROLE.cpp`.
///
/// # Panics
/// If it cannot be built; with the compiler's output.
pub fn fast_dds(role: &str) -> PathBuf {
    peer_builds::built("fastdds", Some(SHARED), role, |program| {
        let mut compiler = compiler("g++", "c++17", program);
        compiler.arg(sources().join("fastdds").join(role).with_extension("cpp"));
        output(compiler.args(["-lfastrtps", "-lfastcdr"]))?;
        Ok(())
    })
}

/// The program of a crate in `peers/crates`.
///
/// # Panics
/// If it is not built.
pub fn crate_of(name: &str) -> PathBuf {
    let program = installed().join("crates/debug").join(name);
    assert!(program.is_file(), "{} is missing: run ./test", program.display());
    program
}

fn compiler(name: &str, standard: &str, program: &Path) -> Command {
    let mut compiler = Command::new(name);
    compiler.args(["-O2", &format!("-std={standard}"), "-Wall", "-Wextra", "-o"]).arg(program);
    compiler.arg("-I").arg(sources().join(SHARED));
    compiler
}
