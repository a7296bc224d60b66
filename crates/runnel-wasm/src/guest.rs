//! A node that runs.

use std::sync::Arc;

use runnel::Context;
use runnel::core::sanitize;
use runnel::core::schema::Library;
use wasmtime::{InstancePre, Linker, Store, Trap, UpdateDeadline, WasmBacktrace};

use crate::error::GuestError;
use crate::host::{Host, Signals, Watchdog};
use crate::manifest::Manifest;
use crate::program::{Engine, Program};
use crate::refusal::Stopped;
use crate::wasi::Exit;
use crate::{imports, wasi};

/// How a guest is run.
#[derive(Default)]
pub struct GuestOptions {
    /// What it may do, in place of the manifest of its program.
    pub manifest: Option<Manifest>,
    /// The types that it may use, in addition to those that it defines. The standard packages without it.
    pub library: Option<Library>,
    /// Its arguments, the name of the program first.
    pub arguments: Vec<String>,
}

/// A program that runs, on the thread that calls [`run`](Self::run).
pub struct Guest {
    name: String,
    store: Store<Host>,
    instance: InstancePre<Host>,
    control: GuestControl,
}

/// Controls a guest from any thread.
#[derive(Clone)]
pub struct GuestControl {
    signals: Arc<Signals>,
    context: Context,
    engine: Engine,
}

/// How a guest has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Returned,
    /// By [`GuestControl::stop`].
    Stopped,
}

impl Guest {
    /// Prepares a program to run as a node of a context, which is its own: the guest ends it.
    ///
    /// # Errors
    /// If the program has no manifest and none is given, or if it needs functions that the host does not have.
    pub fn new(program: &Program, context: Context, options: GuestOptions) -> Result<Self, GuestError> {
        let refused = |why: String| GuestError::Program { name: program.name().to_owned(), why };
        let manifest = options.manifest.or_else(|| program.manifest().cloned()).ok_or_else(|| {
            refused("it has no manifest, which lists what it may do. Try: --manifest FILE.toml".to_owned())
        })?;
        let limits = manifest.limits;
        let signals = Arc::new(Signals::default());
        let engine = program.engine().clone();
        let control =
            GuestControl { signals: Arc::clone(&signals), context: context.clone(), engine: engine.clone() };
        let library = options.library.unwrap_or_else(runnel::msgs::library);
        let mut host = Host::new(context, manifest, library, options.arguments, Arc::clone(&signals));
        if host.pace.is_watched() {
            host.pace.watch(Watchdog::watch(&signals, &engine, limits));
        }
        let mut store = Store::new(engine.inner(), host);
        store.limiter(|host| host);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| -> wasmtime::Result<UpdateDeadline> {
            store.data_mut().pace.check()
        });
        let instance = link(program).map_err(|error| refused(format!("{error:#}")))?;
        Ok(Self { name: program.name().to_owned(), store, instance, control })
    }

    /// Controls the guest while another thread runs it.
    pub fn control(&self) -> GuestControl {
        self.control.clone()
    }

    /// Runs the program until it ends, on this thread.
    ///
    /// # Errors
    /// If the program ends otherwise than by returning from its main function: see [`GuestError`].
    pub fn run(mut self) -> Result<Ended, GuestError> {
        self.store.data_mut().pace.run();
        let ended = self.run_main();
        let host = self.store.data_mut();
        host.pace.end();
        host.console.flush();
        host.entities.close_all();
        host.context.shutdown();
        ended
    }

    /// Instantiates the module, which may run functions of it, and calls its main function.
    fn run_main(&mut self) -> Result<Ended, GuestError> {
        let store = &mut self.store;
        let instance = match self.instance.instantiate(&mut *store) {
            Ok(instance) => instance,
            Err(error) => return end(&error),
        };
        let memory = instance.get_memory(&mut *store, "memory");
        store.data_mut().memory = memory;
        let start = instance.get_typed_func::<(), ()>(&mut *store, "_start").map_err(|_| {
            let why = "it exports no function _start. Compile it as a program, with a main function";
            GuestError::Program { name: self.name.clone(), why: why.to_owned() }
        })?;
        match start.call(&mut *store, ()) {
            Ok(()) => Ok(Ended::Returned),
            Err(error) => end(&error),
        }
    }
}

impl GuestControl {
    /// Asks the guest to end: it gets the event `shutdown`.
    pub fn shutdown(&self) {
        self.context.shutdown();
    }

    /// Ends the guest at once, whatever it does.
    pub fn stop(&self) {
        self.signals.stop();
        self.engine.inner().increment_epoch();
        self.context.shutdown();
    }
}

/// Links a module to the functions of the host.
fn link(program: &Program) -> wasmtime::Result<InstancePre<Host>> {
    let mut linker = Linker::new(program.engine().inner());
    imports::add_all(&mut linker)?;
    wasi::add_all(&mut linker)?;
    linker.instantiate_pre(program.module())
}

/// The end of a guest that did not return.
fn end(error: &wasmtime::Error) -> Result<Ended, GuestError> {
    if let Some(Exit(status)) = error.downcast_ref::<Exit>() {
        return if *status == 0 { Ok(Ended::Returned) } else { Err(GuestError::Exit(*status)) };
    }
    let backtrace = error.downcast_ref::<WasmBacktrace>().map(functions).unwrap_or_default();
    Err(match (error.downcast_ref::<Stopped>(), error.downcast_ref::<Trap>()) {
        (Some(Stopped::ByControl), _) => return Ok(Ended::Stopped),
        (Some(Stopped::Overrun(limit)), _) => GuestError::Overrun { limit: *limit, backtrace },
        (None, Some(trap)) => GuestError::Trap { what: describe(*trap), backtrace },
        (None, None) => GuestError::Trap { what: error.root_cause().to_string(), backtrace },
    })
}

/// The functions of a backtrace, the innermost first.
fn functions(backtrace: &WasmBacktrace) -> Vec<String> {
    let name = |frame: &wasmtime::FrameInfo| match frame.func_name() {
        Some(name) => sanitize::one_line(&format!("{:#}", rustc_demangle::demangle(name))).into_owned(),
        None => format!("function {}", frame.func_index()),
    };
    backtrace.frames().iter().map(name).collect()
}

fn describe(trap: Trap) -> String {
    match trap {
        Trap::StackOverflow => "it used all of its stack, as by endless recursion".to_owned(),
        Trap::MemoryOutOfBounds => "it used an address outside of its memory".to_owned(),
        Trap::UnreachableCodeReached => {
            "it reached code that it says is unreachable, as after a panic".to_owned()
        }
        Trap::IndirectCallToNull | Trap::BadSignature | Trap::TableOutOfBounds => {
            "it called a function pointer that is not valid".to_owned()
        }
        Trap::IntegerDivisionByZero => "it divided an integer by zero".to_owned(),
        other => other.to_string(),
    }
}
