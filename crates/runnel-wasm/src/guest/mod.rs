//! A node that runs.

mod control;
mod ended;
#[cfg(all(test, feature = "compile"))]
mod tests;

use std::sync::Arc;

pub(crate) use control::SuspendedMoment;
pub use control::{GuestControl, SuspendedGuest};
pub use ended::Ended;
use ended::end;
use runnel::Context;
use runnel::core::schema::Library;
use wasmtime::{InstancePre, Linker, Store, UpdateDeadline};

use crate::checkpoint::{
    Checkpoint, CheckpointRequests, Decision, MemoryImage, Restoring, State, capture, restore_entities,
};
use crate::error::GuestError;
use crate::host::{
    Asyncify, Host, Signals, Suspended, Suspension, Watchdog, other_function, poll_former_host,
};
use crate::manifest::Manifest;
use crate::program::{ModuleHash, Program};
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
    /// The arguments for ROS with which its context was made. A checkpoint holds them.
    pub ros_arguments: Vec<String>,
}

/// Where a guest begins.
enum Beginning {
    Main,
    Checkpoint(Box<Checkpoint>),
    /// Where it is when it comes from another host.
    Arrival(Arrive),
}

/// How a guest comes from another host. It sets all that the guest is, and returns where it was suspended; `None` if it does
/// not come.
pub(crate) type Arrive = Box<dyn FnOnce(&mut Store<Host>) -> Result<Option<Suspended>, String> + Send>;

/// A program that runs, on the thread that calls [`run`](Self::run).
pub struct Guest {
    name: String,
    store: Store<Host>,
    instance: InstancePre<Host>,
    module: ModuleHash,
    begins: Beginning,
    control: GuestControl,
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
        let control = GuestControl {
            name: program.name().to_owned(),
            signals: Arc::clone(&signals),
            requests: Arc::new(CheckpointRequests::new(&signals)),
            context: context.clone(),
            engine: engine.clone(),
            checkpoint_refusal: program.checkpoint_refusal().map(str::to_owned),
            module: program.hash(),
        };
        let library = options.library.unwrap_or_else(runnel::msgs::library);
        let mut host = Host::new(context, manifest, library, options.arguments, Arc::clone(&signals));
        host.ros_arguments = options.ros_arguments;
        if host.pace.is_watched() {
            host.pace.watch(Watchdog::watch(&signals, &engine, limits));
        }
        let mut store = Store::new(engine.inner(), host);
        store.limiter(|host| host);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| -> wasmtime::Result<UpdateDeadline> {
            let host = store.data_mut();
            let deadline = host.pace.check()?;
            if host.pace.is_suspension_wanted()
                && let Some(asyncify) = host.asyncify.clone()
            {
                asyncify.request_pause(&mut store, true)?;
            }
            Ok(deadline)
        });
        let instance = link(program).map_err(|error| refused(format!("{error:#}")))?;
        Ok(Self {
            name: program.name().to_owned(),
            store,
            instance,
            module: program.hash(),
            begins: Beginning::Main,
            control,
        })
    }

    /// Prepares a program to go on from a checkpoint, otherwise as [`new`](Self::new). Its arguments are those of the
    /// checkpoint.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the checkpoint is of another module.
    pub fn restore(
        program: &Program,
        checkpoint: Checkpoint,
        context: Context,
        options: GuestOptions,
    ) -> Result<Self, GuestError> {
        let refused = |why: String| GuestError::Checkpoint { name: program.name().to_owned(), why };
        if let Some(why) = program.checkpoint_refusal() {
            return Err(refused(why.to_owned()));
        }
        if checkpoint.module != program.hash() {
            return Err(refused(format!(
                "the checkpoint is of a node of module {}, and this is {}. A node goes on from the module with which it ran, \
                 compiled by the same version of the compiler and of wasm-opt",
                checkpoint.module,
                program.hash()
            )));
        }
        let arguments = checkpoint.state.arguments.clone();
        let mut guest = Self::new(program, context, GuestOptions { arguments, ..options })?;
        guest.begins = Beginning::Checkpoint(Box::new(checkpoint));
        Ok(guest)
    }

    /// Prepares a program to go on as a node of this module that comes from another host, otherwise as [`new`](Self::new).
    pub(crate) fn arriving(
        program: &Program,
        module: ModuleHash,
        context: Context,
        options: GuestOptions,
        arrive: Arrive,
    ) -> Result<Self, GuestError> {
        let refused = |why: String| GuestError::Checkpoint { name: program.name().to_owned(), why };
        if let Some(why) = program.checkpoint_refusal() {
            return Err(refused(why.to_owned()));
        }
        if module != program.hash() {
            return Err(refused(format!("the node is of module {module}")));
        }
        let mut guest = Self::new(program, context, options)?;
        guest.begins = Beginning::Arrival(arrive);
        Ok(guest)
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
        self.control.requests.close();
        host.console.flush();
        host.entities.close_all();
        host.context.shutdown();
        self.control.signals.end();
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
        let asyncify = Asyncify::of(instance, store);
        (store.data_mut().memory, store.data_mut().asyncify) = (memory, asyncify);
        let start = instance.get_typed_func::<(), ()>(&mut *store, "_start").map_err(|_| {
            let why = "it exports no function _start. Compile it as a program, with a main function";
            GuestError::Program { name: self.name.clone(), why: why.to_owned() }
        })?;
        store.data_mut().pace.stand_still();
        let refused = |why| GuestError::Checkpoint { name: self.name.clone(), why };
        let suspended = match std::mem::replace(&mut self.begins, Beginning::Main) {
            Beginning::Main => None,
            Beginning::Checkpoint(checkpoint) => {
                restore(store, &checkpoint).map_err(refused)?;
                Some(checkpoint.state.suspended)
            }
            Beginning::Arrival(arrive) => match arrive(store).map_err(refused)? {
                Some(suspended) => Some(suspended),
                None => return Ok(Ended::NotCome),
            },
        };
        store.data_mut().pace.run();
        if let Some(at) = suspended
            && let Err(error) = rewind(store, at)
        {
            return end(&error).map_err(|error| self.damaged(error));
        }
        loop {
            if let Err(error) = start.call(&mut self.store, ()) {
                return end(&error);
            }
            let at = match std::mem::take(&mut self.store.data_mut().suspension) {
                Suspension::None => return Ok(Ended::Returned),
                Suspension::Unwinding(at) => at,
                Suspension::Rewinding(_) => return end(&other_function()),
            };
            match self.answer_request(at) {
                Ok(Decision::Terminate) => return Ok(Ended::Stopped),
                Ok(Decision::Resume) => {}
                Ok(Decision::Leave(leave)) => {
                    leave(self.store.data_mut());
                    return Ok(Ended::HandedOver);
                }
                Err(error) => return end(&error),
            }
        }
    }

    /// The error of a restored guest whose functions cannot be called again.
    fn damaged(&self, error: GuestError) -> GuestError {
        match error {
            GuestError::Trap { what, .. } => {
                GuestError::Checkpoint { name: self.name.clone(), why: format!("it is damaged: {what}") }
            }
            other => other,
        }
    }

    /// Gives the checkpoint to its requester, which decides what becomes of the guest. It is to be called again if it goes on.
    fn answer_request(&mut self, at: Suspended) -> wasmtime::Result<Decision> {
        let store = &mut self.store;
        let Some(mut asyncify) = store.data().asyncify.clone() else { return Ok(Decision::Resume) };
        asyncify.end_unwinding(store)?;
        store.data_mut().asyncify = Some(asyncify);
        store.data_mut().pace.stand_still();
        let mut decision = Decision::Resume;
        if let Some(request) = self.control.requests.take() {
            poll_former_host(store.data_mut());
            store.data().receive_waiting()?;
            let module = self.module;
            let capture = |wanted| capture(store, (module, wanted), at);
            decision = request.answer(capture, || self.control.signals.is_stopped());
            self.control.requests.done();
        }
        store.data_mut().pace.run();
        if matches!(decision, Decision::Resume) {
            rewind(store, at)?;
        }
        Ok(decision)
    }
}

/// Gives a new instance what the guest of a checkpoint had.
fn restore(store: &mut Store<Host>, checkpoint: &Checkpoint) -> Result<(), String> {
    let Checkpoint { state, memory, .. } = checkpoint;
    set_instance(store, state, memory)?;
    restore_entities(store.data_mut(), state, Restoring::Checkpoint)
}

/// Sets memory, globals and call stack. The main function leads to where the guest was, then.
pub(crate) fn set_instance(
    store: &mut Store<Host>,
    state: &State,
    memory: &MemoryImage,
) -> Result<(), String> {
    let place = store.data().memory.ok_or("the module exports no memory")?;
    memory.restore(place, store)?;
    let mut asyncify = store.data().asyncify.clone().ok_or("the module is not compiled for checkpoints")?;
    asyncify.set_globals(store, &state.globals)?;
    asyncify.set_buffer(state.buffer, state.under_buffer.clone());
    store.data_mut().asyncify = Some(asyncify);
    Ok(())
}

/// Lets the main function lead to where the guest was. Functions of the module do that, so that its limits hold meanwhile.
fn rewind(store: &mut Store<Host>, at: Suspended) -> wasmtime::Result<()> {
    match store.data().asyncify.clone() {
        Some(asyncify) => asyncify.begin_rewinding(store, at),
        None => Ok(()),
    }
}

/// Links a module to the functions of the host.
fn link(program: &Program) -> wasmtime::Result<InstancePre<Host>> {
    let mut linker = Linker::new(program.engine().inner());
    imports::add_all(&mut linker)?;
    wasi::add_all(&mut linker)?;
    linker.instantiate_pre(program.module())
}
