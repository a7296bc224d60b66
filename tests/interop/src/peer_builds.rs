//! Building the peers that are no scripts: once for each change of their sources, however many tests ask at a time.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use crate::{installed, sources};

/// The program NAME of the sources in `peers/FOLDER` and in another folder that it shares with others, which `compile` makes
/// at the path that it is given.
///
/// # Panics
/// When it cannot be built, with what the compiler said.
pub fn built(
    folder: &str,
    shared: Option<&str>,
    name: &str,
    compile: impl FnOnce(&Path) -> io::Result<()>,
) -> PathBuf {
    let program = installed().join(folder).join(name);
    let build = || -> io::Result<()> {
        fs::create_dir_all(installed().join(folder))?;
        let lock = File::create(program.with_extension("lock"))?;
        lock.lock()?;
        let folders = [Some(folder), shared].into_iter().flatten().map(|folder| sources().join(folder));
        if !is_up_to_date(&program, folders)? {
            // Made beside it and moved there, so that a build cut short leaves nothing half done.
            let unfinished = program.with_extension("unfinished");
            compile(&unfinished)?;
            fs::rename(unfinished, &program)?;
        }
        Ok(())
    };
    build().unwrap_or_else(|error| panic!("building {}: {error}", program.display()));
    program
}

/// Whether the program is younger than every source, the shared ones included.
fn is_up_to_date(program: &Path, folders: impl Iterator<Item = PathBuf>) -> io::Result<bool> {
    let Ok(built) = modified(program) else { return Ok(false) };
    for folder in folders {
        for source in fs::read_dir(folder)? {
            if modified(&source?.path())? >= built {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn modified(file: &Path) -> io::Result<SystemTime> {
    fs::metadata(file)?.modified()
}

/// Runs a command to its end; one that fails is an error with what it said.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let program = command.get_program().display().to_string();
    let output =
        command.output().map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(output);
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{program} failed ({}):\n{printed}", output.status)))
}

/// What `pkg-config` says of libraries.
pub fn flags(libraries: &[&str]) -> io::Result<Vec<String>> {
    let flags = output(Command::new("pkg-config").args(["--cflags", "--libs"]).args(libraries))?;
    Ok(String::from_utf8_lossy(&flags.stdout).split_whitespace().map(str::to_owned).collect())
}
