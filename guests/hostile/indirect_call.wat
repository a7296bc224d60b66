;; Calls a function of another type through its table. The engine ends it.
(module
  (memory (export "memory") 1)
  (type $takes_nothing (func))
  (type $takes_number (func (param i64)))
  (table 1 funcref)
  (elem (i32.const 0) $start)
  (func $start (export "_start") (type $takes_nothing)
    (call_indirect (type $takes_number) (i64.const 1) (i32.const 0))))
