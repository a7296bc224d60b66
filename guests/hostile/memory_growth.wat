;; Takes memory, 1 MiB at a time, until it gets no more, then more than 4 GiB at once. It ends well if both are refused
;; before 256 MiB, and traps otherwise.
(module
  (memory (export "memory") 1)
  (func (export "_start")
    (loop $again
      (if (i32.gt_u (memory.size) (i32.const 4096)) (then (unreachable)))
      (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (if (i32.ne (memory.grow (i32.const 65535)) (i32.const -1)) (then (unreachable)))))
