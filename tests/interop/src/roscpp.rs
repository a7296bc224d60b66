//! Builds of the roscpp programs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peer_builds::{self, flags, output};
use crate::sources;

/// The program built from `peers/roscpp/NAME.cpp`.
///
/// # Panics
/// If it cannot be built; with the compiler's output.
pub fn built(name: &str) -> PathBuf {
    peer_builds::built("roscpp", None, name, |program| compile(name, program))
}

fn compile(name: &str, program: &Path) -> io::Result<()> {
    let headers = program.with_extension("headers");
    generate("raspimouse_msgs", &headers)?;
    let mut compiler = Command::new("g++");
    compiler.args(["-O2", "-std=c++17", "-Wall", "-Wextra", "-o"]).arg(program).arg("-I").arg(headers);
    compiler.arg(sources().join("roscpp").join(name).with_extension("cpp"));
    compiler.args(flags(&["roscpp", "actionlib"])?).arg("-lpthread");
    output(&mut compiler)?;
    Ok(())
}

/// Generates the headers of a package that Debian does not have, from its definitions.
fn generate(package: &str, headers: &Path) -> io::Result<()> {
    let definitions = sources().join("../../../crates/runnel-gen/interfaces").join(package).join("msg");
    let into = headers.join(package);
    fs::create_dir_all(&into)?;
    for definition in fs::read_dir(&definitions)? {
        let mut generator = Command::new("/usr/bin/python3");
        generator
            .arg("/usr/lib/gencpp/gen_cpp.py")
            .arg(definition?.path())
            .args(["-p", package, "-o"])
            .arg(&into);
        generator
            .arg("-I")
            .arg(format!("{package}:{}", definitions.display()))
            .args(["-e", "/usr/share/gencpp"]);
        output(&mut generator)?;
    }
    Ok(())
}
