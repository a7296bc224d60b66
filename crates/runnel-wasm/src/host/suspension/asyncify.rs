//! Suspends the functions of a guest that run, and resumes them.

use std::sync::Arc;

use wasmtime::{AsContextMut, Caller, Global, Instance, Memory, Store, TypedFunc, Val};

use super::suspended::{GlobalValue, Suspended};
use crate::host::Host;
use crate::instrumented::{BUFFER, BUFFER_PAGES, GLOBAL, PAGE, PAUSE_FLAG};

/// Bytes of the buffer's header: where to write next, and the end.
const HEADER: u32 = 8;

/// What the host uses of an instrumented module: Asyncify's functions, and the buffer in which they leave the call stack.
#[derive(Clone)]
pub struct Asyncify {
    start_unwind: TypedFunc<u32, ()>,
    stop_unwind: TypedFunc<(), ()>,
    start_rewind: TypedFunc<u32, ()>,
    stop_rewind: TypedFunc<(), ()>,
    /// Not zero: the guest pauses at the next turn of a loop.
    pause_flag: Global,
    globals: Vec<Global>,
    memory: Memory,
    /// Where the buffer is.
    buffer: u32,
    /// What the guest has there: its allocator may take all memory that it finds. While the guest is suspended, as far as its
    /// functions cover it.
    under_buffer: Arc<[u8]>,
}

/// Whether the guest is between two states.
#[derive(Default)]
pub enum Suspension {
    #[default]
    None,
    /// Its functions return.
    Unwinding(Suspended),
    /// Its functions are called again.
    Rewinding(Suspended),
}

/// Suspends the guest, which has called a function of the host. The function returns after it.
pub fn suspend(caller: &mut Caller<'_, Host>, at: Suspended) -> wasmtime::Result<()> {
    let host = caller.data_mut();
    let mut asyncify = host.asyncify.clone().ok_or_else(not_instrumented)?;
    // A module that only claims to be instrumented may get here within `start_unwind`.
    if !matches!(host.suspension, Suspension::None) {
        return Err(other_function());
    }
    host.suspension = Suspension::Unwinding(at);
    asyncify.prepare_buffer(&mut *caller)?;
    asyncify.request_pause(&mut *caller, false)?;
    asyncify.start_unwind.call(&mut *caller, asyncify.buffer)?;
    caller.data_mut().asyncify = Some(asyncify);
    Ok(())
}

/// Where the guest was suspended, if it calls this function of the host again.
#[inline]
pub fn resume(caller: &mut Caller<'_, Host>) -> wasmtime::Result<Option<Suspended>> {
    match caller.data().suspension {
        Suspension::Rewinding(_) => resume_now(caller),
        _ => Ok(None),
    }
}

/// A resumed guest calls another function of the host than the one in which it was suspended.
#[cold]
pub fn other_function() -> wasmtime::Error {
    wasmtime::Error::msg("the checkpoint is damaged: its functions are not those of the module")
}

#[cold]
fn resume_now(caller: &mut Caller<'_, Host>) -> wasmtime::Result<Option<Suspended>> {
    let host = caller.data_mut();
    let Suspension::Rewinding(at) = std::mem::take(&mut host.suspension) else { return Ok(None) };
    let asyncify = host.asyncify.clone().ok_or_else(not_instrumented)?;
    asyncify.stop_rewind.call(&mut *caller, ())?;
    asyncify.memory.write(caller, asyncify.buffer as usize, &asyncify.under_buffer)?;
    Ok(Some(at))
}

#[cold]
fn not_instrumented() -> wasmtime::Error {
    wasmtime::Error::msg("the module is not compiled for checkpoints")
}

impl Asyncify {
    /// Adds the memory for the buffer. `None` if the module is not instrumented, or there is no memory for it.
    pub fn of(instance: Instance, store: &mut Store<Host>) -> Option<Self> {
        let unwinds = |store: &mut Store<Host>, name| instance.get_typed_func(store, name).ok();
        let ends = |store: &mut Store<Host>, name| instance.get_typed_func(store, name).ok();
        let globals =
            (0..).map_while(|number| instance.get_global(&mut *store, &format!("{GLOBAL}{number}")));
        let globals = globals.collect();
        Some(Self {
            start_unwind: unwinds(store, "asyncify_start_unwind")?,
            stop_unwind: ends(store, "asyncify_stop_unwind")?,
            start_rewind: unwinds(store, "asyncify_start_rewind")?,
            stop_rewind: ends(store, "asyncify_stop_rewind")?,
            pause_flag: instance.get_global(&mut *store, PAUSE_FLAG)?,
            memory: instance.get_memory(&mut *store, "memory")?,
            globals,
            buffer: Self::add_buffer(instance, store)?,
            under_buffer: Arc::default(),
        })
    }

    fn add_buffer(instance: Instance, store: &mut Store<Host>) -> Option<u32> {
        let memory = instance.get_memory(&mut *store, "memory")?;
        store.data_mut().buffer_memory = BUFFER;
        let first = memory.grow(&mut *store, BUFFER_PAGES).ok()?;
        u32::try_from(first).ok()?.checked_mul(PAGE as u32)
    }

    /// Asks the guest to pause at the next turn of a loop, or no longer.
    pub fn request_pause(&self, store: impl AsContextMut, wanted: bool) -> wasmtime::Result<()> {
        self.pause_flag.set(store, Val::I32(wanted.into()))
    }

    /// The guest's main function has returned, since it was suspended.
    pub fn end_unwinding(&mut self, store: &mut Store<Host>) -> wasmtime::Result<()> {
        self.stop_unwind.call(&mut *store, ())?;
        let mut end = [0; 4];
        self.memory.read(&mut *store, self.buffer as usize, &mut end)?;
        let covered = u32::from_le_bytes(end).saturating_sub(self.buffer) as usize;
        self.under_buffer = self.under_buffer.get(..covered).unwrap_or_default().into();
        Ok(())
    }

    /// The guest's main function is called again then.
    pub fn begin_rewinding(&self, store: &mut Store<Host>, at: Suspended) -> wasmtime::Result<()> {
        self.start_rewind.call(&mut *store, self.buffer)?;
        store.data_mut().suspension = Suspension::Rewinding(at);
        Ok(())
    }

    pub fn buffer(&self) -> u32 {
        self.buffer
    }

    pub fn under_buffer(&self) -> &[u8] {
        &self.under_buffer
    }

    /// Sets the buffer of a checkpoint, and what the guest has there.
    pub fn set_buffer(&mut self, buffer: u32, under_buffer: Vec<u8>) {
        (self.buffer, self.under_buffer) = (buffer, under_buffer.into());
    }

    pub fn globals(&self, store: &mut Store<Host>) -> Vec<GlobalValue> {
        self.globals.iter().filter_map(|global| GlobalValue::of(&global.get(&mut *store))).collect()
    }

    /// Sets the globals to those of a checkpoint.
    pub fn set_globals(&self, store: &mut Store<Host>, values: &[GlobalValue]) -> Result<(), String> {
        if values.len() != self.globals.len() {
            return Err(format!("it has {} globals, and the module {}", values.len(), self.globals.len()));
        }
        let mut pairs = self.globals.iter().zip(values);
        pairs.try_for_each(|(global, value)| {
            global.set(&mut *store, value.into()).map_err(|error| format!("a global of it: {error}"))
        })
    }

    /// Makes the buffer ready. What the guest has there is kept.
    fn prepare_buffer(&mut self, mut store: impl AsContextMut) -> wasmtime::Result<()> {
        let (at, mut under) = (self.buffer as usize, vec![0; BUFFER]);
        self.memory.read(&mut store, at, &mut under)?;
        self.under_buffer = under.into();
        // It fits into 32 bits, since the memory does, but for its last byte.
        let (start, end) = (self.buffer + HEADER, self.buffer.saturating_add(BUFFER as u32));
        self.memory.write(&mut store, at, &start.to_le_bytes())?;
        self.memory.write(&mut store, at + 4, &end.to_le_bytes())?;
        Ok(())
    }
}
