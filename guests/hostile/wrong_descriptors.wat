;; Writes to descriptors that it does not have. It ends well if each is refused by 8 (EBADF), and traps otherwise.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func $is_refused (param $descriptor i32)
    (if (i32.ne (call $fd_write (local.get $descriptor) (i32.const 64) (i32.const 1) (i32.const 128)) (i32.const 8))
      (then (unreachable))))
  (func (export "_start")
    (call $is_refused (i32.const 0))
    (call $is_refused (i32.const 3))
    (call $is_refused (i32.const -1))))
