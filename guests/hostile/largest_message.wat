;; Takes all the memory that it gets, up to 256 MiB, and publishes the whole as one message. It ends well if the message is
;; published or refused by -5, and traps otherwise.
(module
  (import "runnel:guest/host@0.1.0" "create-node" (func $create_node (param i32 i32) (result i32)))
  (import "runnel:guest/host@0.1.0" "create-publisher"
    (func $create_publisher (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "runnel:guest/host@0.1.0" "publish" (func $publish (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1 4096)
  (data (i32.const 0) "largest_message")
  (data (i32.const 32) "bytes")
  (data (i32.const 48) "std_msgs/msg/UInt8MultiArray")
  ;; A QoS: keep last, depth 1, reliable.
  (data (i32.const 80) "\00\00\00\00\01\00\00\00\01\00\00\00")
  ;; The header; an array of 0 dimensions, an offset of 0, and the length of the data, which _start writes.
  (data (i32.const 1008) "\00\01\00\00\00\00\00\00\00\00\00\00")
  (func (export "_start") (local $length i32) (local $result i32)
    (loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (local.set $length (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1024)))
    (i32.store (i32.const 1020) (local.get $length))
    (local.set $result
      (call $publish
        (call $create_publisher
          (call $create_node (i32.const 0) (i32.const 15))
          (i32.const 32) (i32.const 5) (i32.const 48) (i32.const 28) (i32.const 1) (i32.const 80))
        (i32.const 1008)
        (i32.add (local.get $length) (i32.const 16))))
    (if (i32.and (i32.ne (local.get $result) (i32.const 0)) (i32.ne (local.get $result) (i32.const -5)))
      (then (unreachable)))))
