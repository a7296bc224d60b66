;; Publishes a message whose pointer and length together pass 4 GiB. The host ends it.
(module
  (import "runnel:guest/host@0.1.0" "create-node" (func $create_node (param i32 i32) (result i32)))
  (import "runnel:guest/host@0.1.0" "create-publisher"
    (func $create_publisher (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "runnel:guest/host@0.1.0" "publish" (func $publish (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "wrong_length")
  (data (i32.const 16) "chatter")
  (data (i32.const 32) "std_msgs/msg/String")
  ;; A QoS: keep last, depth 1, reliable.
  (data (i32.const 64) "\00\00\00\00\01\00\00\00\01\00\00\00")
  (func (export "_start")
    (drop (call $publish
      (call $create_publisher
        (call $create_node (i32.const 0) (i32.const 12))
        (i32.const 16) (i32.const 7) (i32.const 32) (i32.const 19) (i32.const 1) (i32.const 64))
      (i32.const 1024) (i32.const -1)))))
