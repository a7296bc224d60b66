//! Suspends the functions of a guest that run, and resumes them.

use std::sync::Arc;

use wasmtime::{AsContextMut, Caller, Global, Instance, Memory, Store, TypedFunc, Val};

use super::suspended::{GlobalValue, Suspended};
use crate::host::Host;

/// Bytes of memory in which the functions leave their variables.
pub const BUFFER: usize = 2 << 20;

/// Bytes of a page of linear memory.
const PAGE: usize = 64 << 10;

/// Bytes of the buffer's header: where to write next, and the end.
const HEADER: u32 = 8;

/// What the host uses of an instrumented module.
#[derive(Clone)]
pub struct Stack {
    start_unwind: TypedFunc<u32, ()>,
    stop_unwind: TypedFunc<(), ()>,
    start_rewind: TypedFunc<u32, ()>,
    stop_rewind: TypedFunc<(), ()>,
    /// Not zero: the guest pauses at the next turn of a loop.
    stop: Global,
    globals: Vec<Global>,
    memory: Memory,
    /// Where the buffer is, once there is one.
    buffer: Option<u32>,
    /// What the guest has there: an allocator that starts after the first checkpoint takes all memory that there is. While
    /// the guest is suspended, as far as its functions cover it.
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
    let not_instrumented = || wasmtime::Error::msg("the module is not compiled for checkpoints");
    let mut stack = caller.data().stack.clone().ok_or_else(not_instrumented)?;
    let buffer = stack.prepare_buffer(&mut *caller)?;
    stack.set_stop(&mut *caller, false)?;
    stack.start_unwind.call(&mut *caller, buffer)?;
    caller.data_mut().stack = Some(stack);
    caller.data_mut().suspension = Suspension::Unwinding(at);
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
    let stack = host.stack.clone().ok_or_else(|| wasmtime::Error::msg("it is not suspended"))?;
    stack.stop_rewind.call(&mut *caller, ())?;
    if let Some(buffer) = stack.buffer {
        stack.memory.write(caller, buffer as usize, &stack.under_buffer)?;
    }
    Ok(Some(at))
}

impl Stack {
    /// `None` if the module is not instrumented.
    pub fn of(instance: Instance, store: &mut Store<Host>) -> Option<Self> {
        let unwinds = |store: &mut Store<Host>, name| instance.get_typed_func(store, name).ok();
        let ends = |store: &mut Store<Host>, name| instance.get_typed_func(store, name).ok();
        let globals =
            (0..).map_while(|number| instance.get_global(&mut *store, &format!("runnel:global:{number}")));
        let globals = globals.collect();
        Some(Self {
            start_unwind: unwinds(store, "asyncify_start_unwind")?,
            stop_unwind: ends(store, "asyncify_stop_unwind")?,
            start_rewind: unwinds(store, "asyncify_start_rewind")?,
            stop_rewind: ends(store, "asyncify_stop_rewind")?,
            stop: instance.get_global(&mut *store, "runnel:stop")?,
            memory: instance.get_memory(&mut *store, "memory")?,
            globals,
            buffer: None,
            under_buffer: Arc::default(),
        })
    }

    /// Asks the guest to pause at the next turn of a loop, or no longer.
    pub fn set_stop(&self, store: impl AsContextMut, stop: bool) -> wasmtime::Result<()> {
        self.stop.set(store, Val::I32(stop.into()))
    }

    /// The guest's main function has returned, since it was suspended.
    pub fn end_unwinding(&mut self, store: &mut Store<Host>) -> wasmtime::Result<()> {
        self.stop_unwind.call(&mut *store, ())?;
        let buffer = self.buffer.unwrap_or_default();
        let mut end = [0; 4];
        self.memory.read(&mut *store, buffer as usize, &mut end)?;
        let covered = u32::from_le_bytes(end).saturating_sub(buffer) as usize;
        self.under_buffer = self.under_buffer.get(..covered).unwrap_or_default().into();
        Ok(())
    }

    /// The guest's main function is called again then.
    pub fn begin_rewinding(&self, store: &mut Store<Host>, at: Suspended) -> wasmtime::Result<()> {
        let buffer = self.buffer.ok_or_else(|| wasmtime::Error::msg("it is not suspended"))?;
        self.start_rewind.call(&mut *store, buffer)?;
        store.data_mut().suspension = Suspension::Rewinding(at);
        Ok(())
    }

    pub fn buffer(&self) -> Option<u32> {
        self.buffer
    }

    pub fn under_buffer(&self) -> &[u8] {
        &self.under_buffer
    }

    /// Sets the buffer of a checkpoint, and what the guest has there.
    pub fn set_buffer(&mut self, buffer: u32, under_buffer: Vec<u8>) {
        (self.buffer, self.under_buffer) = (Some(buffer), under_buffer.into());
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

    /// Makes the buffer ready. Its memory is reserved at the first use, and what is there is kept.
    fn prepare_buffer(&mut self, mut store: impl AsContextMut<Data = Host>) -> wasmtime::Result<u32> {
        let buffer = match self.buffer {
            Some(buffer) => buffer,
            None => {
                store.as_context_mut().data_mut().buffer_memory = BUFFER;
                let pages = self.memory.grow(&mut store, (BUFFER / PAGE) as u64)?;
                u32::try_from(pages * PAGE as u64)?
            }
        };
        let mut under = vec![0; BUFFER];
        self.memory.read(&mut store, buffer as usize, &mut under)?;
        self.under_buffer = under.into();
        let (start, end) = (buffer + HEADER, buffer + BUFFER as u32);
        self.memory.write(&mut store, buffer as usize, &start.to_le_bytes())?;
        self.memory.write(&mut store, buffer as usize + 4, &end.to_le_bytes())?;
        self.buffer = Some(buffer);
        Ok(buffer)
    }
}
