//! Programs that are built on first use: the ends of other contestants, and idle nodes in several profiles.

mod rcl;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use self::rcl::rcl;
use super::failure::Failure;

/// Runnel's source folder at the time of the build.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The name and the text of each source of a folder of peers.
macro_rules! sources {
    ($folder:literal: $($name:literal),+) => {
        &[$(($name, include_str!(concat!("../../../../../bench/peers/", $folder, "/", $name)))),+]
    };
}

/// The roscpp ends.
const ROSCPP: &[(&str, &str)] = sources!("roscpp":
    "ends.cpp", "calls.hpp", "options.hpp", "pairs.hpp", "small.hpp", "stamps.hpp", "streams.hpp", "talk.hpp",
    "two_ints.hpp");

/// Message definition of the Cyclone DDS ends.
const MESSAGE: &str = "message.idl";

/// The Cyclone DDS ends.
const CYCLONEDDS: &[(&str, &str)] = sources!("cyclonedds":
    "ends.c", "roles.h", "pairs.c", "streams.c", "small.c", "end.h", "end.c", "topics.h", "topics.c", "stamps.h",
    "stamps.c", "options.h", "options.c", "talk.h", "talk.c", "message.idl");

/// A program that does nothing.
const BARE: &str = include_str!("../../../../../bench/peers/bare/bare.rs");

/// The rcl ends, the Fast DDS ends, and the files that they share with the roscpp ends.
const RCL: &[(&str, &str)] = sources!("rcl": "ends.cpp");
const FAST_DDS: &[(&str, &str)] =
    sources!("fastdds": "ends.cpp", "calls.hpp", "place.hpp", "roles.hpp", "talk.hpp");
const SHARED: &[(&str, &str)] = sources!("roscpp": "options.hpp", "stamps.hpp");

/// The rclpy ends.
const RCLPY: &[(&str, &str)] = sources!("rclpy": "ends.py");

const NO_RCLPY: &str = "no rclpy in this environment (source the setup file of a ROS 2 installation)";

const NO_FAST_DDS: &str =
    "Fast DDS is not installed (Debian: apt-get install g++ libfastrtps-dev libfastcdr-dev)";

const NO_ROSCPP: &str = "roscpp is not installed (Debian: apt-get install g++ pkg-config libroscpp-dev libstd-msgs-dev libstd-srvs-dev)";

const NO_CYCLONEDDS: &str =
    "Cyclone DDS is not installed (Debian: apt-get install gcc pkg-config cyclonedds-dev cyclonedds-tools)";

/// How a node is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// In the release profile, linked to the system's libraries.
    Ordinary,
    /// In the `tiny` profile, linked statically: needs no library of the system.
    Static,
}

/// The folder of the bench's own programs: next to the build of this program, or in the user's cache.
///
/// # Errors
/// When there is neither.
pub fn folder() -> Result<PathBuf, Failure> {
    let program = env::current_exe().map_err(Failure::missing("cannot find this program"))?;
    // Cargo tags only folders that it created.
    let tagged =
        |folder: &&Path| ["CACHEDIR.TAG", ".rustc_info.json"].iter().any(|name| folder.join(name).is_file());
    if let Some(target) = program.ancestors().skip(2).take(2).find(tagged) {
        return Ok(target.join("bench"));
    }
    let home = || env::home_dir().map(|home| home.join(".cache"));
    let cache =
        env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute()).or_else(home);
    let nowhere = || {
        Failure::Missing(
            "no folder for the peers: neither XDG_CACHE_HOME nor HOME is set. Try: XDG_CACHE_HOME=/tmp/cache"
                .into(),
        )
    };
    Ok(cache.ok_or_else(nowhere)?.join("runnel/bench"))
}

/// The roscpp ends, built with the system's compiler and roscpp.
///
/// # Errors
/// When roscpp or the compiler is missing or refuses.
pub fn roscpp(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = folder.join("roscpp");
    let program = folder.join("ends");
    if ROSCPP.iter().all(|(name, text)| is_built(&program, &folder.join(name), text)) {
        return Ok(program);
    }
    let missing = |_| Failure::Missing(NO_ROSCPP.into());
    let libraries = ["roscpp", "std_msgs", "std_srvs"];
    let flags = output(Command::new("pkg-config").args(["--cflags", "--libs"]).args(libraries));
    let flags = flags.map_err(missing)?;
    let compile = || {
        ROSCPP.iter().try_for_each(|(name, text)| write_source(&folder.join(name), text))?;
        // Another bench may build at the same time: neither may run a half-written program.
        let unfinished = program.with_extension(std::process::id().to_string());
        let mut compiler = Command::new("g++");
        compiler.args(["-O2", "-std=c++17", "-o"]).args([&unfinished, &folder.join("ends.cpp")]);
        output(compiler.args(flags.split_whitespace()).arg("-lpthread"))?;
        fs::rename(unfinished, &program)
    };
    compile().map_err(Failure::missing("cannot compile the roscpp peer"))?;
    Ok(program)
}

/// The Cyclone DDS ends, built with the system's compiler and Cyclone DDS.
///
/// # Errors
/// When Cyclone DDS or a compiler is missing or refuses.
pub fn cyclonedds(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = folder.join("cyclonedds");
    let program = folder.join("ends");
    if CYCLONEDDS.iter().all(|(name, text)| is_built(&program, &folder.join(name), text)) {
        return Ok(program);
    }
    let missing = |_| Failure::Missing(NO_CYCLONEDDS.into());
    let flags = output(Command::new("pkg-config").args(["--cflags", "--libs", "CycloneDDS"]));
    let flags = flags.map_err(missing)?;
    output(Command::new("idlc").arg("-v")).map_err(missing)?;
    let compile = || {
        CYCLONEDDS.iter().try_for_each(|(name, text)| write_source(&folder.join(name), text))?;
        // Another bench may build at the same time: neither may use a half-written program.
        let unfinished = folder.join(std::process::id().to_string());
        fs::create_dir_all(&unfinished)?;
        output(Command::new("idlc").arg("-o").arg(&unfinished).arg(folder.join(MESSAGE)))?;
        let (types, unfinished_program) = (unfinished.join("message.c"), unfinished.join("ends"));
        let mut compiler = Command::new("gcc");
        compiler
            .args(["-O2", "-std=gnu11", "-I"])
            .arg(&unfinished)
            .arg("-o")
            .args([&unfinished_program, &types]);
        let parts = CYCLONEDDS.iter().filter(|(name, _)| name.ends_with(".c"));
        compiler.args(parts.map(|(name, _)| folder.join(name)));
        output(compiler.args(flags.split_whitespace()).arg("-lpthread"))?;
        fs::rename(unfinished_program, &program)?;
        fs::remove_dir_all(unfinished)
    };
    compile().map_err(Failure::missing("cannot compile the Cyclone DDS peer"))?;
    Ok(program)
}

/// The Fast DDS ends, built with the system's compiler and Fast DDS.
///
/// # Errors
/// When Fast DDS or the compiler is missing or refuses.
pub fn fast_dds(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = folder.join("fastdds");
    let program = folder.join("ends");
    let sources = || FAST_DDS.iter().chain(SHARED);
    if sources().all(|(name, text)| is_built(&program, &folder.join(name), text)) {
        return Ok(program);
    }
    let header = "#include <fastdds/dds/domain/DomainParticipant.hpp>";
    let check = || {
        write_source(&folder.join("check.cpp"), header)?;
        output(Command::new("g++").args(["-std=c++17", "-fsyntax-only"]).arg(folder.join("check.cpp")))
    };
    check().map_err(|_| Failure::Missing(NO_FAST_DDS.into()))?;
    let compile = || {
        sources().try_for_each(|(name, text)| write_source(&folder.join(name), text))?;
        // Another bench may build at the same time: neither may run a half-written program.
        let unfinished = program.with_extension(std::process::id().to_string());
        let mut compiler = Command::new("g++");
        compiler.args(["-O2", "-std=c++17", "-o"]).args([&unfinished, &folder.join("ends.cpp")]);
        output(compiler.args(["-lfastrtps", "-lfastcdr", "-lpthread"]))?;
        fs::rename(unfinished, &program)
    };
    compile().map_err(Failure::missing("cannot compile the Fast DDS peer"))?;
    Ok(program)
}

/// The rclpy ends: a Python program, for the rclpy that this environment has.
///
/// # Errors
/// When rclpy is missing.
pub fn rclpy(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = folder.join("rclpy");
    let imports = "import rclpy, std_srvs.srv";
    output(Command::new("python3").args(["-c", imports])).map_err(|_| Failure::Missing(NO_RCLPY.into()))?;
    let written = RCLPY.iter().try_for_each(|(name, text)| write_source(&folder.join(name), text));
    written.map_err(Failure::missing("cannot write the rclpy peer"))?;
    Ok(folder.join("ends.py"))
}

/// The iceoryx2 ends, built by cargo with the crates of their lock file.
///
/// # Errors
/// When the sources, cargo or a crate is missing.
pub fn iceoryx2(folder: &Path) -> Result<PathBuf, Failure> {
    let target = folder.join("iceoryx2");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release", "--locked", "--manifest-path"]);
    cargo.arg(Path::new(SOURCES).join("bench/peers/iceoryx2/Cargo.toml")).arg("--target-dir").arg(&target);
    let lacks = "cannot build the iceoryx2 peer (this needs cargo and the crates of its Cargo.lock)";
    output(&mut cargo).map_err(Failure::missing(lacks))?;
    Ok(target.join("release/runnel-bench-iceoryx2"))
}

/// The idle node of an example in `crates/runnel/examples`.
///
/// # Errors
/// When the sources, cargo or a dependency is missing.
pub fn idle_node(folder: &Path, example: &str, build: Build) -> Result<PathBuf, Failure> {
    let built = cargo_build(folder, build, &["-p", "runnel", "--example", example]);
    Ok(built.map_err(Failure::missing("the idle node cannot be built"))?.join("examples").join(example))
}

/// The line tracer's program, with both nodes in it.
///
/// # Errors
/// As [`idle_node`].
pub fn robot(folder: &Path, build: Build) -> Result<PathBuf, Failure> {
    let built = cargo_build(folder, build, &["-p", "line_trace"]);
    Ok(built.map_err(Failure::missing("the robot's program cannot be built"))?.join("line_trace"))
}

/// Runs `cargo build` in a folder of the bench. Returns the folder of the result.
fn cargo_build(folder: &Path, build: Build, what: &[&str]) -> io::Result<PathBuf> {
    let target = folder.join("cargo");
    let mut cargo = Command::new("cargo");
    cargo.current_dir(SOURCES).args(["build", "--quiet", "--offline"]).args(what);
    cargo.arg("--target-dir").arg(&target);
    let built = match build {
        Build::Ordinary => {
            cargo.arg("--release");
            target.join("release")
        }
        Build::Static => {
            let machine = static_machine()?;
            cargo.args(["--profile", "tiny", "--target", &machine]);
            target.join(machine).join("tiny")
        }
    };
    output(&mut cargo)?;
    Ok(built)
}

/// A static program that does nothing, built as the `tiny` profile builds.
///
/// # Errors
/// When the Rust compiler is missing.
pub fn bare(folder: &Path) -> Result<PathBuf, Failure> {
    let machine = static_machine().map_err(Failure::missing("the bare program cannot be built"))?;
    let program = folder.join("bare").join(&machine).join("bare");
    let source = program.with_extension("rs");
    let compile = || {
        if is_built(&program, &source, BARE) {
            return Ok(());
        }
        write_source(&source, BARE)?;
        let mut compiler = Command::new("rustc");
        compiler.args(["--edition", "2024", "-C", "opt-level=s", "-C", "lto=fat", "-C", "panic=abort"]);
        compiler.args(["-C", "strip=symbols", "--target", &machine, "-o"]).args([&program, &source]);
        output(&mut compiler).map(drop)
    };
    compile().map_err(Failure::missing("the bare program cannot be built"))?;
    Ok(program)
}

/// The Rust target of this machine with musl, which makes programs static.
fn static_machine() -> io::Result<String> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let processor = host.and_then(|host| host.split('-').next());
    let processor = processor.ok_or_else(|| io::Error::other("rustc does not report its host target"))?;
    let machine = format!("{processor}-unknown-linux-musl");
    let libraries = output(Command::new("rustc").args(["--print", "target-libdir", "--target", &machine]))?;
    if Path::new(libraries.trim()).is_dir() {
        return Ok(machine);
    }
    Err(io::Error::other(format!(
        "the target for static programs is not installed. Try: rustup target add {machine}"
    )))
}

fn is_built(program: &Path, source: &Path, text: &str) -> bool {
    program.is_file() && fs::read_to_string(source).is_ok_and(|built| built == text)
}

/// Writes a source file. First removes the old program, so that a failed build is not taken for a finished one.
fn write_source(source: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = source.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::remove_file(source.with_extension("")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::write(source, text)
}

/// Standard output of a command. If it fails, an error with its first line that begins with "error", or its last
/// line.
fn output(command: &mut Command) -> io::Result<String> {
    let name = command.get_program().display().to_string();
    let result =
        command.output().map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
    if result.status.success() {
        return Ok(String::from_utf8_lossy(&result.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&result.stderr);
    let first = errors.lines().find(|line| line.starts_with("error"));
    let last = errors.lines().rev().find(|line| !line.trim().is_empty());
    let why = first.or(last).unwrap_or("no reason given");
    Err(io::Error::other(format!("{name}: {}", why.trim())))
}
