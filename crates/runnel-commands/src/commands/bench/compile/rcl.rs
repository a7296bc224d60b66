//! The rcl ends, built against the ROS 2 that `python3` of this environment uses: a sourced installation, or wheels of
//! the packages in a virtual environment.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{RCL, SHARED, is_built, output, write_source};
use crate::commands::bench::failure::Failure;

/// Prints the prefix that contains rcl's headers, the library path of the environment, and Python's library or nothing:
/// the libraries of messages in wheels of Python packages need it.
const ENVIRONMENT: &str = r#"
import os, sys, sysconfig
prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) + [sys.prefix]
print(next(prefix for prefix in prefixes if os.path.isdir(os.path.join(prefix, "include", "rcl"))))
print(os.environ.get("LD_LIBRARY_PATH", ""))
python = os.path.join(*map(str, sysconfig.get_config_vars("LIBDIR", "INSTSONAME")))
print(python if os.path.isfile(python) and ".so" in python else "")
"#;

const LIBRARIES: &[&str] = &[
    "-lrcl",
    "-lrcutils",
    "-lrosidl_runtime_c",
    "-lstd_srvs__rosidl_typesupport_c",
    "-lstd_srvs__rosidl_generator_c",
    "-lpthread",
    // The libraries of a wheel find theirs by the library path, which the linker does not search.
    "-Wl,--unresolved-symbols=ignore-in-shared-libs",
    "-Wl,--no-as-needed",
];

const NO_RCL: &str =
    "no rcl with headers in this environment (source the setup file of a ROS 2 installation)";

/// The command that runs the rcl ends: `env`, the library path, and the program built with the system's compiler.
///
/// # Errors
/// When rcl or the compiler is missing or refuses.
pub fn rcl(folder: &Path) -> Result<Vec<String>, Failure> {
    let environment = output(Command::new("python3").args(["-c", ENVIRONMENT]));
    let environment = environment.map_err(|_| Failure::Missing(NO_RCL.into()))?;
    let mut lines = environment.lines();
    let mut line = || lines.next().unwrap_or_default();
    let (prefix, library_path, python) = (line(), line(), line());
    let program = folder.join("rcl").join("ends");
    // Ends built against another installation are built again.
    let sources = || RCL.iter().chain(SHARED).copied().chain([("prefix", prefix)]);
    if !sources().all(|(name, text)| is_built(&program, &program.with_file_name(name), text)) {
        let compile = || {
            sources().try_for_each(|(name, text)| write_source(&program.with_file_name(name), text))?;
            // Another bench may build at the same time: neither may run a half-written program.
            let unfinished = program.with_extension(std::process::id().to_string());
            let mut compiler = Command::new("g++");
            compiler.args(["-O2", "-std=c++17", "-o"]).args([&unfinished, &program.with_extension("cpp")]);
            for package in fs::read_dir(Path::new(prefix).join("include"))? {
                compiler.arg("-I").arg(package?.path());
            }
            compiler.arg(format!("-L{prefix}/lib")).args(LIBRARIES);
            output(compiler.args(Some(python).filter(|library| !library.is_empty())))?;
            fs::rename(unfinished, &program)
        };
        compile().map_err(Failure::missing("cannot compile the rcl peer"))?;
    }
    let library_path = format!("LD_LIBRARY_PATH={library_path}");
    Ok(vec!["env".into(), library_path, program.display().to_string()])
}
