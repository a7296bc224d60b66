//! `runnel wasm` as users type it.

use std::fs;

use interop::ros2::Ros2Graph;
use interop::{TIMEOUT, outcome, wait_until};
use runnel_testkit::process::{Signal, deadline_in};

/// A node that waits until it is to end.
const WAITING: &str = r#"(module
  (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
  (import "runnel:guest/host@0.1.0" "create-node" (func $node (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "waiting")
  (func (export "_start")
    (drop (call $node (i32.const 100) (i32.const 7)))
    (loop $next
      (drop (call $wait (i64.const -1) (i32.const 0) (i32.const 0) (i32.const 0)))
      (br_if $next (i32.ne (i32.load (i32.const 0)) (i32.const 10))))))"#;

/// A node that traps.
const TRAPPING: &str = r#"(module
  (memory (export "memory") 1)
  (func $divide (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0)))
  (func $main (export "_start") (drop (call $divide (i32.const 0)))))"#;

fn graph_with(files: &[(&str, &str)]) -> Ros2Graph {
    let graph = Ros2Graph::new();
    for (name, text) in files {
        fs::write(graph.home().join(name), text).expect("a file");
    }
    graph
}

fn error(graph: &Ros2Graph, words: &[&str]) -> String {
    let ran = graph.ran(words);
    assert_eq!(ran.code, Some(1), "{words:?}: {}", ran.error);
    ran.error
}

#[test]
fn node_runs_until_ctrl_c_under_the_names_that_the_user_gives() {
    let graph = graph_with(&[("node.wat", WAITING), ("node.toml", "nodes = [\"waiting\"]")]);
    for mode in [&[][..], &["--interpreter"], &["--jit"]] {
        let words = [&["wasm", "run", "node.wat", "--ros2", "__name:=patient"], mode].concat();
        let node = graph.running(&words);
        wait_until("the node is seen", deadline_in(TIMEOUT), || {
            graph.ran(&["node", "list", "--ros2"]).output.contains("/patient\n")
        });
        node.signal(Signal::INT).expect("it runs");
        assert_eq!(outcome(node).code, Some(0), "{mode:?}");
    }
}

#[test]
fn compiled_node_needs_no_module() {
    let graph = graph_with(&[("node.wat", TRAPPING), ("node.toml", "publish = [\"a\"]")]);
    graph.answer(&["wasm", "compile", "node.wat", "-o", "other.cwasm"]);
    fs::remove_file(graph.home().join("node.wat")).unwrap();
    let why = error(&graph, &["wasm", "run", "other.cwasm", "--ros2"]);
    assert_eq!(why, "error: the node ended: it divided an integer by zero\n    in divide\n    in main\n");
    for option in ["--interpreter", "--jit"] {
        let ran = graph.ran(&["wasm", "run", "other.cwasm", "--ros2", option]);
        assert_eq!(ran.code, Some(2), "{}", ran.error);
        assert!(ran.error.contains(&format!("{option} needs a module")), "{}", ran.error);
    }
    let foreign = ["wasm", "compile", "node.wat", "--target", "sparc"];
    assert!(error(&graph, &foreign).contains("expected one of x86_64, aarch64, pulley64, pulley32"));
}

#[test]
fn errors_name_the_file_and_what_helps() {
    let graph = graph_with(&[
        ("bare.wat", WAITING),
        ("broken.wat", "(module (func"),
        ("text.cwasm", "no node at all, but a text"),
        ("wrong.wat", WAITING),
        ("wrong.toml", "[limits]\nmemory = 3"),
    ]);
    let why = |node: &str| error(&graph, &["wasm", "run", node, "--ros2"]);
    let bare = why("bare.wat");
    assert!(bare.contains("it has no manifest") && bare.contains("Try: --manifest FILE.toml"), "{bare}");
    assert!(why("broken.wat").contains("broken.wat"));
    assert!(why("text.cwasm").contains("text.cwasm: it is no compiled node"));
    assert!(why("missing.wasm").contains("missing.wasm: No such file"));
    let broken = error(&graph, &["wasm", "run", "broken.wat", "--ros2", "--jit"]);
    assert!(broken.contains("broken.wat"), "{broken}");
    let wrong = why("wrong.wat");
    assert!(wrong.contains("wrong.toml") && wrong.contains("line 2"), "{wrong}");
}
