//! Shared parts of the fuzz targets: a node that makes the calls of an input, and contexts that are alone.

pub mod guest_calls;
#[allow(missing_docs, reason = "the tests of the crate have it")]
#[path = "../../../crates/runnel-wasm/tests/it/hostile_checkpoints/mutation/mod.rs"]
pub mod mutation;

use std::time::Duration;

use runnel::{Context, ContextOptions, Graphs};

/// Keeps all contexts to this process, and its output to errors.
pub fn stay_alone() {
    let nowhere = std::fs::File::options().write(true).open("/dev/null").expect("the null device");
    rustix::stdio::dup2_stdout(nowhere).expect("a descriptor");
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF");
        std::env::set_var("RCUTILS_LOGGING_USE_STDOUT", "1");
    }
}

/// A context for one node.
pub fn context() -> Context {
    let options = ContextOptions::default().arguments([""; 0]).signals(false).graphs(Graphs::Ros2);
    let options = options.ipc(false).log_file(false).linger(Duration::ZERO);
    Context::with_options(options).expect("a context")
}

/// A context of a node that is to end when it begins to run.
pub fn ended_context() -> Context {
    let options = ContextOptions::default().arguments([""; 0]).signals(false).graphs(Graphs::Ros1);
    let context = Context::with_options(options.log_file(false)).expect("a context");
    context.shutdown();
    context
}
