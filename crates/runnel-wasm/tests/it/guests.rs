//! Compiles and runs guests.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use runnel::{Context, ContextOptions, Graphs};
use runnel_wasm::program::{CompileOptions, Instrumentation, Target, compile};
use runnel_wasm::{Checkpoint, Ended, Guest, GuestControl, GuestError, GuestOptions, Manifest, Program};

/// How long a guest may take that is expected to end.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The imports that these guests use, and a memory of one page.
pub const IMPORTS: &str = r#"
    (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "last-error" (func $last_error (param i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "publish" (func $publish (param i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "close" (func $close (param i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
"#;

/// Compiles a module in text form for this host.
pub fn program(text: &str) -> Program {
    program_for(Target::host(), text)
}

/// Compiles a module in text form.
pub fn program_for(target: Target, text: &str) -> Program {
    program_with(&CompileOptions { target, ..CompileOptions::default() }, text)
}

fn program_with(options: &CompileOptions, text: &str) -> Program {
    let module = wat::parse_str(text).expect("the text is a module");
    let compiled = compile("test.wat", &module, options).expect("it compiles");
    Program::from_bytes("test.cwasm", &compiled.file).expect("it loads")
}

/// A program whose main function has this body. It is not instrumented.
pub fn with_main(body: &str) -> Program {
    let options = CompileOptions { checkpoint: Instrumentation::Off, ..CompileOptions::default() };
    program_with(&options, &main_with(body))
}

/// A module whose main function has this body.
pub fn main_with(body: &str) -> String {
    format!(r#"(module {IMPORTS} (func $main (export "_start") {body}))"#)
}

/// A guest that runs on a thread of its own.
pub struct Running {
    pub control: GuestControl,
    thread: JoinHandle<()>,
    ended: mpsc::Receiver<Result<Ended, GuestError>>,
}

/// Starts a guest that uses no graph.
pub fn start(program: &Program, manifest: Manifest) -> Running {
    start_in(program, manifest, context(Graphs::Ros1))
}

/// A context for a guest.
pub fn context(graphs: Graphs) -> Context {
    context_in(graphs, &namespace())
}

/// A context whose nodes are in a namespace.
pub fn context_in(graphs: Graphs, namespace: &str) -> Context {
    Context::with_options(options_in(graphs, namespace)).expect("a context")
}

/// Options of such a context.
pub fn options_in(graphs: Graphs, namespace: &str) -> ContextOptions {
    let options = ContextOptions::default().arguments([format!("__ns:={namespace}")]);
    options.signals(false).graphs(graphs)
}

/// A namespace that no other test uses: tests that run at the same time share a graph.
pub fn namespace() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("/test_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Starts a guest in a context.
pub fn start_in(program: &Program, manifest: Manifest, context: Context) -> Running {
    let options = GuestOptions { manifest: Some(manifest), ..GuestOptions::default() };
    run_on_thread(Guest::new(program, context, options).expect("it can be run"))
}

/// Starts a guest that goes on from a checkpoint.
pub fn start_from(
    checkpoint: &Checkpoint,
    program: &Program,
    manifest: Manifest,
    context: Context,
) -> Running {
    let options = GuestOptions { manifest: Some(manifest), ..GuestOptions::default() };
    run_on_thread(Guest::restore(program, checkpoint.clone(), context, options).expect("it can be restored"))
}

/// Runs a guest.
pub fn run_on_thread(guest: Guest) -> Running {
    let control = guest.control();
    let (send, ended) = mpsc::channel();
    let thread = thread::spawn(move || {
        _ = send.send(guest.run());
    });
    Running { control, thread, ended }
}

impl Running {
    /// How it ends.
    pub fn end(self) -> Result<Ended, GuestError> {
        let ended = self.ended.recv_timeout(TIMEOUT).expect("the guest ends");
        self.thread.join().expect("it does not panic");
        ended
    }

    /// Whether it still runs.
    pub fn runs(&self) -> bool {
        matches!(self.ended.try_recv(), Err(mpsc::TryRecvError::Empty))
    }
}

/// Runs a guest until it ends.
pub fn run(program: &Program, manifest: Manifest) -> Result<Ended, GuestError> {
    start(program, manifest).end()
}
