;; Publishes a std_msgs/String that claims more text than it has, 5 bytes in place of a header, and nothing. The host does not
;; read messages that it need not convert, so it ends well if each is published or refused by -2, and traps otherwise.
(module
  (import "runnel:guest/host@0.1.0" "create-node" (func $create_node (param i32 i32) (result i32)))
  (import "runnel:guest/host@0.1.0" "create-publisher"
    (func $create_publisher (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "runnel:guest/host@0.1.0" "publish" (func $publish (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "malformed_message")
  (data (i32.const 32) "chatter")
  (data (i32.const 48) "std_msgs/msg/String")
  ;; A QoS: keep last, depth 1, reliable.
  (data (i32.const 80) "\00\00\00\00\01\00\00\00\01\00\00\00")
  ;; A length of nearly 4 GiB.
  (data (i32.const 128) "\00\01\00\00\ff\ff\ff\ffhello\00")
  (data (i32.const 160) "hello")
  (func $is_harmless (param $result i32)
    (if (i32.and (i32.ne (local.get $result) (i32.const 0)) (i32.ne (local.get $result) (i32.const -2)))
      (then (unreachable))))
  (func (export "_start") (local $publisher i32)
    (local.set $publisher
      (call $create_publisher
        (call $create_node (i32.const 0) (i32.const 17))
        (i32.const 32) (i32.const 7) (i32.const 48) (i32.const 19) (i32.const 1) (i32.const 80)))
    (if (i32.lt_s (local.get $publisher) (i32.const 1)) (then (unreachable)))
    (call $is_harmless (call $publish (local.get $publisher) (i32.const 128) (i32.const 14)))
    (call $is_harmless (call $publish (local.get $publisher) (i32.const 160) (i32.const 5)))
    (call $is_harmless (call $publish (local.get $publisher) (i32.const 160) (i32.const 0)))))
