;; Has the host write an event that ends behind the memory. The host ends it.
(module
  (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start") (drop (call $wait (i64.const 0) (i32.const 65500) (i32.const 0) (i32.const 0)))))
