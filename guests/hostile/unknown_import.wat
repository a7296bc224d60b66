;; Imports a function that no host has. It is not started.
(module
  (import "runnel:guest/host@0.1.0" "open-socket" (func $open_socket (result i32)))
  (memory (export "memory") 1)
  (func (export "_start") (drop (call $open_socket))))
