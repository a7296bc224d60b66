//! The tracer of the line-tracing robot: `cargo build -p tracer` makes a program, and with `--target wasm32-wasip1` a
//! module that `runnel wasm run` runs. Both are made from this source.

// The API of nodes in WebAssembly has another package, and the same shape.
#[cfg(target_arch = "wasm32")]
extern crate runnel_guest as runnel;

use std::error::Error;

use line_trace::nodes::{Recording, TracerNode};
use runnel::{Context, ContextOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let context = Context::with_options(ContextOptions::from_args()?)?;
    let tracer = TracerNode::new(&context, Recording::Off)?;
    tracer.node().install_logger()?;
    Ok(context.spin()?)
}
