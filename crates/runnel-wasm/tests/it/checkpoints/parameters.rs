//! Parameters that others have set.

use std::time::Duration;

use runnel::{Graphs, Parameter, ParameterValue};
use runnel_wasm::Ended;

use super::{checkpoint, unlimited};
use crate::guests::{TIMEOUT, context_in, namespace, program, start_from, start_in};

/// Declares the parameter `text`, and waits for the end.
const HOLDER: &str = r#"(module
    (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "create-node" (func $node (param i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "declare-parameter"
      (func $declare_parameter (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 5000) "holder")
    (data (i32.const 5010) "text")
    ;; A text (4) that is empty, as a value of a parameter.
    (data (i32.const 6000) "\00\01\00\00\04")
    (data (i32.const 6028) "\01")
    (func (export "_start")
      (if (i32.lt_s (i32.const 0) (call $declare_parameter
          (call $node (i32.const 5000) (i32.const 6)) (i32.const 5010) (i32.const 4)
          (i32.const 6000) (i32.const 56) (i32.const 0) (i32.const 1024) (i32.const 256)))
        (then
          (loop $next
            (drop (call $wait (i64.const -1) (i32.const 0) (i32.const 1024) (i32.const 256)))
            (br_if $next (i32.ne (i32.load (i32.const 0)) (i32.const 10)))))
        (else (unreachable)))))"#;

#[test]
fn parameters_that_others_have_set_are_kept() {
    let (namespace, program) = (namespace(), program(HOLDER));
    let context = || context_in(Graphs::Ros2, &namespace);
    let native = context();
    let node = native.create_node("native").unwrap();
    let client = node.create_parameter_client(&format!("{namespace}/holder")).unwrap();
    let client = client.timeout(Duration::from_secs(10));
    let guest = start_in(&program, unlimited(), context());
    // Longer than what the guest itself may set.
    let long = ParameterValue::String("long ".repeat(20_000));
    let set = [("text", long.clone()), ("use_sim_time", true.into())];
    let set = set.map(|(name, value)| Parameter { name: name.to_owned(), value: Some(value) });
    assert!(client.wait_for_services(TIMEOUT).unwrap());
    client.set_parameters_atomically(&set).unwrap();
    let taken = checkpoint(&guest, true);
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
    let restored = start_from(&taken, &program, unlimited(), context());
    // The services of the node that has ended may be there for a moment.
    let values = (0..100).find_map(|_| {
        assert!(client.wait_for_services(TIMEOUT).unwrap());
        client.get_parameters(&["text", "use_sim_time"]).ok()
    });
    assert!(
        values.as_deref() == Some(&[Some(long), Some(true.into())]),
        "{:?}",
        values.map(|all| all[1].clone())
    );
    restored.control.stop();
    assert_eq!(restored.end().unwrap(), Ended::Stopped);
}
