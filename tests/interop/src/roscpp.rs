//! Building the roscpp programs: once for each change of their sources, however many tests ask at a time.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use crate::{installed, sources};

/// The program built from `peers/roscpp/NAME.cpp`.
///
/// # Panics
/// When it cannot be built, with what the compiler said.
pub fn built(name: &str) -> PathBuf {
    let folder = installed().join("roscpp");
    let program = folder.join(name);
    let build = || -> io::Result<()> {
        fs::create_dir_all(&folder)?;
        let lock = File::create(folder.join(format!("{name}.lock")))?;
        lock.lock()?;
        if !is_up_to_date(&program)? {
            compile(name, &program)?;
        }
        Ok(())
    };
    build().unwrap_or_else(|error| panic!("building {}: {error}", program.display()));
    program
}

/// Whether the program is younger than every source, the shared ones included.
fn is_up_to_date(program: &Path) -> io::Result<bool> {
    let Ok(built) = modified(program) else { return Ok(false) };
    for source in fs::read_dir(sources().join("roscpp"))? {
        if modified(&source?.path())? >= built {
            return Ok(false);
        }
    }
    Ok(true)
}

fn modified(file: &Path) -> io::Result<SystemTime> {
    fs::metadata(file)?.modified()
}

/// Compiles beside the program and moves the result there, so that a build cut short leaves nothing half done.
fn compile(name: &str, program: &Path) -> io::Result<()> {
    let unfinished = program.with_extension("unfinished");
    let flags = output(Command::new("pkg-config").args(["--cflags", "--libs", "roscpp", "actionlib"]))?;
    let headers = program.with_extension("headers");
    generate("raspimouse_msgs", &headers)?;
    let mut compiler = Command::new("g++");
    compiler.args(["-O2", "-std=c++17", "-Wall", "-Wextra", "-o"]).arg(&unfinished).arg("-I").arg(headers);
    compiler.arg(sources().join("roscpp").join(name).with_extension("cpp"));
    compiler.args(String::from_utf8_lossy(&flags.stdout).split_whitespace()).arg("-lpthread");
    output(&mut compiler)?;
    fs::rename(unfinished, program)
}

/// Makes the headers of a package that no package of Debian's has, from its definitions.
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

/// Runs a command to its end; one that fails is an error with what it said.
fn output(command: &mut Command) -> io::Result<Output> {
    let program = command.get_program().display().to_string();
    let output =
        command.output().map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{program} failed ({}):\n{said}", output.status)))
}
