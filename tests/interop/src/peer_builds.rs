//! Builds of the compiled peers: one per change of their sources, even if several tests need it at a time.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use crate::{installed, sources};

/// The program NAME of the sources in `peers/FOLDER` and in a shared folder, which `compile` builds at the given
/// path.
///
/// # Panics
/// If it cannot be built; with the compiler's output.
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
            // Built under a temporary name and renamed, so that an aborted build leaves no partial file.
            let unfinished = program.with_extension("unfinished");
            compile(&unfinished)?;
            fs::rename(unfinished, &program)?;
        }
        Ok(())
    };
    build().unwrap_or_else(|error| panic!("building {}: {error}", program.display()));
    program
}

/// Whether the program is newer than every source, including the shared ones.
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

/// Runs a command to its end; failure is an error with its standard error.
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

/// Output of `pkg-config` for libraries.
pub fn flags(libraries: &[&str]) -> io::Result<Vec<String>> {
    let flags = output(Command::new("pkg-config").args(["--cflags", "--libs"]).args(libraries))?;
    Ok(String::from_utf8_lossy(&flags.stdout).split_whitespace().map(str::to_owned).collect())
}
