//! Engines: how compiled nodes run.

use std::fmt;
use std::sync::OnceLock;

use wasmtime::Config;

use crate::error::GuestError;

/// Stack of a guest, in bytes: recursion that needs more ends it.
const STACK: usize = 1 << 20;

/// What a program is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Machine code of 64-bit x86 processors, under Linux.
    X86_64,
    /// Machine code of 64-bit Arm processors, under Linux.
    Aarch64,
    /// Bytecode of the Pulley interpreter, for all 64-bit processors.
    Pulley64,
    /// Bytecode of the Pulley interpreter, for all 32-bit processors.
    Pulley32,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 4] = [Self::X86_64, Self::Aarch64, Self::Pulley64, Self::Pulley32];

    /// The target of this host: its machine code where there is a compiler for it, otherwise the interpreter's.
    pub fn host() -> Self {
        match (cfg!(target_arch = "x86_64"), cfg!(target_arch = "aarch64")) {
            (true, _) => Self::X86_64,
            (_, true) => Self::Aarch64,
            _ if cfg!(target_pointer_width = "64") => Self::Pulley64,
            _ => Self::Pulley32,
        }
    }

    /// The target of the interpreter on this host.
    pub fn interpreter() -> Self {
        if cfg!(target_pointer_width = "64") { Self::Pulley64 } else { Self::Pulley32 }
    }

    /// The name, such as `x86_64` or `pulley64`.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Pulley64 => "pulley64",
            Self::Pulley32 => "pulley32",
        }
    }

    /// The target with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Whether this host can run it.
    pub fn runs_here(self) -> bool {
        [Self::host(), Self::interpreter()].contains(&self)
    }

    fn is_interpreted(self) -> bool {
        matches!(self, Self::Pulley64 | Self::Pulley32)
    }

    fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
            Self::Pulley64 => "pulley64",
            Self::Pulley32 => "pulley32",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Loads and runs programs of one target. The process has one for each.
#[derive(Clone)]
pub struct Engine {
    inner: wasmtime::Engine,
}

impl Engine {
    /// The engine for the target of a program.
    ///
    /// # Errors
    /// If this host cannot run it.
    pub fn of(target: Target, program: &str) -> Result<Self, GuestError> {
        static ENGINES: [OnceLock<Engine>; 4] = [const { OnceLock::new() }; 4];
        if !target.runs_here() {
            let why = format!(
                "it is compiled for {target}, and this host is {}. Try: runnel wasm compile --target {}",
                Target::host(),
                Target::host()
            );
            return Err(GuestError::Program { name: program.to_owned(), why });
        }
        let engine = &ENGINES[target as usize];
        if let Some(engine) = engine.get() {
            return Ok(engine.clone());
        }
        let mut config = config();
        // A native engine takes the host as it is: the C library in the name of the target need not be that of this program.
        let configured =
            if target.is_interpreted() { config.target(target.triple()) } else { Ok(&mut config) };
        let created = configured.and_then(|config| wasmtime::Engine::new(config));
        let inner = created.map_err(|error| GuestError::Program {
            name: format!("the engine for {target}"),
            why: format!("{error:#}"),
        })?;
        Ok(engine.get_or_init(|| Self { inner }).clone())
    }

    pub(crate) fn inner(&self) -> &wasmtime::Engine {
        &self.inner
    }
}

/// What compiling and running must have in common.
pub(super) fn config() -> Config {
    let mut config = Config::new();
    config
        // A guest is stopped, slowed down and checkpointed at any instant.
        .epoch_interruption(true)
        .max_wasm_stack(STACK)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(50))
        .wasm_relaxed_simd(false)
        // What a checkpoint does not hold.
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        .concurrency_support(false)
        .memory_init_cow(true);
    // A node that moves gets the same results from each processor.
    #[cfg(feature = "compile")]
    config.cranelift_nan_canonicalization(true);
    config
}

#[cfg(feature = "compile")]
impl Target {
    /// The engine that compiles for this target.
    pub(super) fn compiler(self) -> wasmtime::Result<wasmtime::Engine> {
        wasmtime::Engine::new(config().target(self.triple())?)
    }
}
