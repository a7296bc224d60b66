//! Runs instrumented modules without the host: on engines of the tests, and suspended at chosen instants.

use runnel_wasm::program::{CompileOptions, instrument_only};
use wasmtime::{Caller, Config, Engine, Extern, Instance, Linker, Memory, Module, Store, Val};

/// Bytes by which the memory grows for the call stack: as much as instrumented modules allow.
const BUFFER: usize = 32 * PAGE;
const PAGE: usize = 64 << 10;

/// Memory in which a module leaves its call stack.
///
/// The module's allocator does not know of it. One that takes all memory at its first use, as those of wasi-libc and
/// AssemblyScript do, takes this too. So what the module has there is kept while the call stack is there.
#[derive(Clone)]
struct Buffer {
    address: u32,
    kept: Vec<u8>,
}

/// What is left of a suspended module.
#[derive(Clone)]
pub struct Image {
    memory: Vec<u8>,
    globals: Vec<Val>,
    buffer: Buffer,
}

/// What a module has left when its main function returns.
#[derive(Debug, PartialEq, Eq)]
pub struct Result {
    pub memory: Vec<u8>,
    pub globals: Vec<String>,
}

pub enum Outcome {
    Returned(Result),
    Suspended(Image),
}

/// Until when a module runs.
#[derive(Clone, Copy)]
pub enum Until {
    Returned,
    /// It has called `pause` or `wait` so many times, since it began or was resumed.
    Calls(u64),
}

/// What the functions of the host know.
#[derive(Default)]
pub struct Calls {
    /// Calls that did not resume.
    pub count: u64,
    /// The parameters of each call of `wait`, also of those that resume.
    pub waits: Vec<(i64, i32, i32, i32)>,
    suspend_at: Option<u64>,
    buffer: Option<Buffer>,
    is_rewinding: bool,
    is_unwinding: bool,
}

/// An engine for a target, with the module.
pub struct Machine {
    module: Module,
}

impl Machine {
    pub fn new(target: &str, instrumented: &[u8]) -> Self {
        let mut config = Config::new();
        config.cranelift_nan_canonicalization(true).wasm_relaxed_simd(false).max_wasm_stack(1 << 20);
        config.target(target).expect("the target is known");
        let engine = Engine::new(&config).expect("an engine");
        Self { module: Module::new(&engine, instrumented).expect("it compiles") }
    }

    /// This processor's machine code, and the interpreter's bytecode.
    pub fn both(instrumented: &[u8]) -> [Self; 2] {
        let native = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        [Self::new(&native, instrumented), Self::new("pulley64", instrumented)]
    }

    /// Runs the main function, or resumes it.
    pub fn run(&self, image: Option<&Image>, until: Until) -> (Outcome, Calls) {
        let mut store = Store::new(self.module.engine(), Calls::default());
        let instance = self.link(&mut store);
        set_stop(&mut store, instance);
        if let Until::Calls(calls) = until {
            store.data_mut().suspend_at = Some(calls);
        }
        if let Some(image) = image {
            restore(&mut store, instance, image);
        }
        instance
            .get_typed_func::<(), ()>(&mut store, "_start")
            .unwrap()
            .call(&mut store, ())
            .expect("no trap");
        let outcome = if store.data().is_unwinding {
            Outcome::Suspended(suspended(&mut store, instance))
        } else {
            Outcome::Returned(result(&mut store, instance))
        };
        (outcome, store.into_data())
    }

    fn link(&self, store: &mut Store<Calls>) -> Instance {
        let mut linker = Linker::new(self.module.engine());
        linker
            .func_wrap("runnel:checkpoint", "pause", |mut caller: Caller<'_, Calls>| pause(&mut caller))
            .unwrap();
        linker
            .func_wrap(
                "runnel:guest/host@0.1.0",
                "wait",
                |mut caller: Caller<'_, Calls>, timeout: i64, record: i32, to: i32, capacity: i32| {
                    caller.data_mut().waits.push((timeout, record, to, capacity));
                    pause(&mut caller);
                    17
                },
            )
            .unwrap();
        linker.define_unknown_imports_as_default_values(&mut *store, &self.module).unwrap();
        linker.instantiate(store, &self.module).expect("it is linked")
    }
}

/// Any function of the host in which a module is suspended.
fn pause(caller: &mut Caller<'_, Calls>) {
    if std::mem::take(&mut caller.data_mut().is_rewinding) {
        call(caller, "asyncify_stop_rewind");
        let buffer = caller.data().buffer.clone().expect("it was suspended");
        return exported_memory(caller).write(caller, buffer.address as usize, &buffer.kept).unwrap();
    }
    caller.data_mut().count += 1;
    if caller.data().suspend_at == Some(caller.data().count) {
        let buffer = prepare_buffer(caller);
        caller.data_mut().is_unwinding = true;
        let Some(Extern::Func(start)) = caller.get_export("asyncify_start_unwind") else {
            panic!("no export")
        };
        start.typed::<u32, ()>(&mut *caller).unwrap().call(caller, buffer).expect("no trap");
    }
}

/// Memory for the call stack. It begins with where to write next, and its end.
fn prepare_buffer(caller: &mut Caller<'_, Calls>) -> u32 {
    let memory = exported_memory(caller);
    let address = match &caller.data().buffer {
        Some(buffer) => buffer.address,
        None => {
            let pages = memory.grow(&mut *caller, (BUFFER / PAGE) as u64).expect("it grows");
            (pages as usize * PAGE) as u32
        }
    };
    let kept = memory.data(&*caller)[address as usize..][..BUFFER].to_owned();
    caller.data_mut().buffer = Some(Buffer { address, kept });
    let header = [address + 8, address + BUFFER as u32];
    memory.write(caller, address as usize, &header.map(u32::to_le_bytes).concat()).unwrap();
    address
}

fn exported_memory(caller: &mut Caller<'_, Calls>) -> Memory {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else { panic!("no memory") };
    memory
}

fn call(caller: &mut Caller<'_, Calls>, name: &str) {
    let Some(Extern::Func(function)) = caller.get_export(name) else { panic!("no {name}") };
    function.typed::<(), ()>(&mut *caller).unwrap().call(caller, ()).expect("no trap");
}

/// From the first instruction on, each outer loop calls `pause`.
fn set_stop(store: &mut Store<Calls>, instance: Instance) {
    instance.get_global(&mut *store, "runnel:stop").unwrap().set(store, Val::I32(1)).unwrap();
}

fn memory(store: &mut Store<Calls>, instance: Instance) -> Memory {
    instance.get_memory(store, "memory").expect("it exports its memory")
}

fn suspended(store: &mut Store<Calls>, instance: Instance) -> Image {
    instance
        .get_typed_func::<(), ()>(&mut *store, "asyncify_stop_unwind")
        .unwrap()
        .call(&mut *store, ())
        .unwrap();
    let globals = globals(store, instance);
    let memory = memory(store, instance).data(&*store).to_owned();
    Image { memory, globals, buffer: store.data().buffer.clone().unwrap() }
}

fn restore(store: &mut Store<Calls>, instance: Instance, image: &Image) {
    let memory = memory(store, instance);
    let missing = image.memory.len() - memory.data_size(&*store);
    memory.grow(&mut *store, (missing / PAGE) as u64).expect("it grows");
    memory.write(&mut *store, 0, &image.memory).unwrap();
    for (number, value) in image.globals.iter().enumerate() {
        let global = instance.get_global(&mut *store, &format!("runnel:global:{number}")).unwrap();
        global.set(&mut *store, *value).unwrap();
    }
    let rewind = instance.get_typed_func::<u32, ()>(&mut *store, "asyncify_start_rewind").unwrap();
    rewind.call(&mut *store, image.buffer.address).expect("no trap");
    store.data_mut().buffer = Some(image.buffer.clone());
    store.data_mut().is_rewinding = true;
}

fn globals(store: &mut Store<Calls>, instance: Instance) -> Vec<Val> {
    let names = (0..).map(|number| format!("runnel:global:{number}"));
    let globals: Vec<_> = names.map_while(|name| instance.get_global(&mut *store, &name)).collect();
    globals.iter().map(|global| global.get(&mut *store)).collect()
}

/// The state, without the zeros at the end of the memory, which may have grown.
fn result(store: &mut Store<Calls>, instance: Instance) -> Result {
    let globals = globals(store, instance).iter().map(|value| format!("{value:?}")).collect();
    let memory = memory(store, instance).data(&*store);
    let used = memory.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    Result { memory: memory[..used].to_owned(), globals }
}

/// Instruments a module in text form.
pub fn instrumented(text: &str) -> Vec<u8> {
    let module = wat::parse_str(text).expect("the text is a module");
    instrument_only("test.wat", &module, &CompileOptions::default()).expect("it can be checkpointed")
}
