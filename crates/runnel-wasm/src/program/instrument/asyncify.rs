//! Runs Binaryen's `wasm-opt`, which makes the functions of a module unwind and rewind.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The functions in which a node is suspended, each as module and name.
const SUSPENDING: &str =
    "runnel:guest/host@0.1.0.wait,wasi_snapshot_preview1.poll_oneoff,runnel:checkpoint.pause";

/// What a valid module of WebAssembly 2.0 has. Only what a module has is used.
const FEATURES: [&str; 7] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
    "--enable-simd",
];

/// Functions are not put into others, so that backtraces have all of them: the compiler of the language has done so where it
/// helps.
const OPTIMIZATIONS: [&str; 7] = [
    "-O2",
    "--always-inline-max-function-size",
    "0",
    "--flexible-inline-max-function-size",
    "0",
    "--one-caller-inline-max-function-size",
    "0",
];

/// Threads of the program, each of which reserves memory of its own.
const THREADS: (&str, &str) = ("BINARYEN_CORES", "4");

/// Bytes of its errors that are reported.
const REPORTED: u64 = 1000;

/// What the program may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub time: Duration,
    /// Bytes of its address space.
    pub memory: u64,
    /// Bytes of its files.
    pub written: u64,
}

/// A module of 2 MB takes ten seconds.
pub const LIMITS: Limits = Limits { time: Duration::from_secs(300), memory: 4 << 30, written: 512 << 20 };

/// Adds the code that unwinds and rewinds.
///
/// # Errors
/// If the program cannot be started, fails, or needs more than it may use.
pub fn run(program: &Path, module: &[u8], limits: &Limits) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", program.display());
    // Only this user can read and write it.
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = |name: &str| folder.path().join(name);
    let (input, output, errors) = (path("module.wasm"), path("instrumented.wasm"), path("errors"));
    fs::write(&input, module).map_err(failed)?;
    let mut command = Command::new(program);
    command
        .arg(&input)
        .args(FEATURES)
        .args(["-g", "--asyncify"])
        .arg(format!("--pass-arg=asyncify-imports@{SUSPENDING}"))
        .args(OPTIMIZATIONS)
        .arg("-o")
        .arg(&output)
        .env(THREADS.0, THREADS.1)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&errors).map_err(failed)?);
    let memory = limit_memory(&mut command, limits.memory);
    let mut child = command.spawn().map_err(failed)?;
    let ended = wait(&mut child, &[&output, &errors], limits);
    if ended.is_err() {
        _ = child.kill();
        _ = child.wait();
    }
    match ended {
        Ok(status) if status.success() => fs::read(&output)
            .map_err(|error| format!("{}: it has written no module: {error}", program.display())),
        Ok(status) => Err(format!(
            "{} failed ({status}; it may use {} MiB of memory): {}",
            program.display(),
            memory >> 20,
            first_lines(&errors)
        )),
        Err(why) => Err(format!("{} {why}", program.display())),
    }
}

/// Limits the address space of a program. Returns the limit, which is lower if this process has a lower one.
#[expect(unsafe_code, reason = "a system call between fork and exec")]
fn limit_memory(command: &mut Command, bytes: u64) -> u64 {
    let bytes = getrlimit(Resource::As).maximum.map_or(bytes, |most| most.min(bytes));
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    // SAFETY: it only makes a system call: it allocates nothing, and takes no lock.
    unsafe { command.pre_exec(move || Ok(setrlimit(Resource::As, limit)?)) };
    bytes
}

/// Waits for the end of the program.
fn wait(child: &mut Child, written: &[&Path], limits: &Limits) -> Result<ExitStatus, String> {
    let deadline = Instant::now() + limits.time;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            return Err(format!("was ended: it took more than {:?}", limits.time));
        }
        if written.iter().any(|file| fs::metadata(file).is_ok_and(|file| file.len() > limits.written)) {
            return Err(format!("was ended: it wrote more than {} bytes", limits.written));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// What the program said first, in one line.
fn first_lines(errors: &Path) -> String {
    let mut text = Vec::new();
    let read = File::open(errors).and_then(|file| file.take(REPORTED).read_to_end(&mut text));
    match read {
        Ok(0) | Err(_) => "without a reason".to_owned(),
        Ok(_) => runnel::core::sanitize::one_line(String::from_utf8_lossy(&text).trim()).into_owned(),
    }
}
