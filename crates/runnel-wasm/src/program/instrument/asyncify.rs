//! Runs Binaryen's `wasm-opt`, which makes the functions of a module unwind and rewind.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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

/// Longest time that the program may take. A module of 2 MB takes ten seconds.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Most bytes that it may write.
const MOST_WRITTEN: u64 = 512 << 20;
/// Bytes of its errors that are reported.
const REPORTED: u64 = 1000;

/// Adds the code that unwinds and rewinds.
///
/// # Errors
/// If the program cannot be started, or fails.
pub fn run(program: &Path, module: &[u8]) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", program.display());
    // Only this user can read and write it.
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = |name: &str| folder.path().join(name);
    let (input, output, errors) = (path("module.wasm"), path("instrumented.wasm"), path("errors"));
    fs::write(&input, module).map_err(failed)?;
    let mut child = Command::new(program)
        .arg(&input)
        .args(FEATURES)
        .args(["-g", "--asyncify"])
        .arg(format!("--pass-arg=asyncify-imports@{SUSPENDING}"))
        .args(OPTIMIZATIONS)
        .arg("-o")
        .arg(&output)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&errors).map_err(failed)?)
        .spawn()
        .map_err(failed)?;
    let ended = wait(&mut child, &[&output, &errors]);
    if ended.is_err() {
        _ = child.kill();
        _ = child.wait();
    }
    match ended {
        Ok(status) if status.success() => fs::read(&output)
            .map_err(|error| format!("{}: it has written no module: {error}", program.display())),
        Ok(status) => Err(format!("{} failed ({status}): {}", program.display(), first_lines(&errors))),
        Err(why) => Err(format!("{} {why}", program.display())),
    }
}

/// Waits for the end of the program.
fn wait(child: &mut Child, written: &[&Path]) -> Result<ExitStatus, String> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            return Err(format!("was ended: it took more than {TIMEOUT:?}"));
        }
        if written.iter().any(|file| fs::metadata(file).is_ok_and(|file| file.len() > MOST_WRITTEN)) {
            return Err(format!("was ended: it wrote more than {MOST_WRITTEN} bytes"));
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
