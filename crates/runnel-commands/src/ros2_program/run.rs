//! `ros2 run`

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Failure;

/// The variable with the folders in which packages are installed.
const PREFIXES: &str = "AMENT_PREFIX_PATH";

/// Run a program of an installed package, found by AMENT_PREFIX_PATH
#[derive(Debug, clap::Args)]
#[command(trailing_var_arg = true)]
pub struct Args {
    /// Words before the program, such as 'gdb -ex run --args'
    #[arg(long, value_name = "WORDS")]
    prefix: Option<String>,

    /// The package
    package: String,

    /// The program
    executable: String,

    /// Arguments of the program
    #[arg(value_name = "ARGUMENTS", allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let prefixes = env::var_os(PREFIXES).unwrap_or_default();
    let prefixes: Vec<PathBuf> =
        env::split_paths(&prefixes).filter(|one| !one.as_os_str().is_empty()).collect();
    let program = find(&prefixes, &args.package, &args.executable)?;
    let prefix = args.prefix.as_deref().unwrap_or_default().split_whitespace().map(PathBuf::from);
    let mut line = prefix.chain([program]);
    let first = line.next().unwrap_or_default();
    let error = Command::new(&first).args(line).args(&args.arguments).exec();
    Err(Failure::failed(format!("{}: {error}", first.display())))
}

/// The only program of this name in a package.
fn find(prefixes: &[PathBuf], package: &str, executable: &str) -> Result<PathBuf, Failure> {
    let prefix = prefixes.iter().find(|prefix| has_package(prefix, package));
    let not_found = || Failure::failed(format!("Package '{package}' not found (searched: {PREFIXES})"));
    let folder = prefix.ok_or_else(not_found)?.join("lib").join(package);
    let mut found = Vec::new();
    programs(&folder, executable, &mut found);
    match found.as_slice() {
        [] => Err(Failure::failed("No executable found")),
        [only] => Ok(only.clone()),
        several => {
            let lines: String = several.iter().map(|path| format!("\n- {}", path.display())).collect();
            Err(Failure::error(1, format!("Multiple executables found:{lines}")))
        }
    }
}

fn has_package(prefix: &Path, package: &str) -> bool {
    let marker = prefix.join("share/ament_index/resource_index/packages").join(package);
    marker.exists() || prefix.join("lib").join(package).is_dir()
}

/// Adds the programs of this name in a folder and below it.
fn programs(folder: &Path, name: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_link = path.symlink_metadata().is_ok_and(|data| data.is_symlink());
        if path.is_dir() && !is_link {
            programs(&path, name, found);
        } else if path.file_name().is_some_and(|file| file == name) && is_executable(&path) {
            found.push(path);
        }
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_found_below_its_package() {
        let folder = tempfile::tempdir().expect("a folder");
        let lib = folder.path().join("lib/demo");
        fs::create_dir_all(lib.join("inner")).expect("folders");
        let program = |name: &str, mode: u32| {
            let path = lib.join(name);
            fs::write(&path, "#!/bin/sh\n").expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("permissions");
            path
        };
        let talker = program("inner/talker", 0o755);
        program("data", 0o644);
        let prefixes = [folder.path().to_owned()];
        let why = |package: &str, name: &str| find(&prefixes, package, name).expect_err("none").to_string();
        assert_eq!(find(&prefixes, "demo", "talker").expect("it is there"), talker);
        assert_eq!(why("demo", "data"), "No executable found");
        assert!(why("nope", "talker").starts_with("Package 'nope' not found"));
        program("talker", 0o755);
        assert!(why("demo", "talker").starts_with("Multiple executables found:\n- "));
    }
}
