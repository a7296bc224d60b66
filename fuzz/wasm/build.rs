//! Compiles the nodes of the targets: the compiler, which is large, is not to be instrumented.

#[expect(dead_code, unused_imports, reason = "the other half is used by the target")]
#[path = "src/guest_calls/mod.rs"]
mod guest_calls;

use std::path::Path;
use std::{env, fs};

use runnel_wasm::program::{CompileOptions, Instrumentation, Target, compile};

const RESTORED: &str = "../../crates/runnel-wasm/tests/it/hostile_checkpoints/mutation";

fn main() {
    for input in ["src/guest_calls", "../../crates/runnel-guest/include/runnel.h", RESTORED] {
        println!("cargo::rerun-if-changed={input}");
    }
    let calls = CompileOptions { checkpoint: Instrumentation::Off, ..CompileOptions::default() };
    write("wasm_host", guest_calls::module().as_bytes(), &calls);
    let checkpoint = Instrumentation::Required;
    let options = CompileOptions { target: Target::interpreter(), checkpoint, ..CompileOptions::default() };
    for name in ["node", "plain"] {
        let text =
            fs::read(Path::new(RESTORED).join(name).with_extension("wat")).expect("the module is there");
        write(name, &text, &options);
    }
}

fn write(name: &str, text: &[u8], options: &CompileOptions) {
    let module = wat::parse_bytes(text).expect("the module is valid");
    let compiled = compile(name, &module, options).expect("it compiles");
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder");
    let path = Path::new(&folder).join(name).with_extension("cwasm");
    fs::write(path, compiled.file).expect("the folder can be written");
}
