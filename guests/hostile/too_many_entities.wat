;; Creates timers until it is refused. It ends well if that is by -4 before 100000, and traps otherwise.
(module
  (import "runnel:guest/host@0.1.0" "create-node" (func $create_node (param i32 i32) (result i32)))
  (import "runnel:guest/host@0.1.0" "create-timer" (func $create_timer (param i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "too_many_entities")
  (func (export "_start") (local $node i32) (local $count i32) (local $result i32)
    (local.set $node (call $create_node (i32.const 0) (i32.const 17)))
    (loop $again
      (local.set $result
        (call $create_timer (local.get $node) (i64.const 3600000000000) (i32.const 0) (i32.const 0)))
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (if (i32.gt_u (local.get $count) (i32.const 100000)) (then (unreachable)))
      (br_if $again (i32.gt_s (local.get $result) (i32.const 0))))
    (if (i32.ne (local.get $result) (i32.const -4)) (then (unreachable)))))
