;; Computes for a while, in all that a suspended node may consist of: deep and indirect recursion with values of each type,
;; nested loops, several results, and state in globals, memory and tables. It calls the host only in the innermost function.
(module
  (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
  (type $level (func (param i32 i64 f32 f64) (result i64)))
  (memory (export "memory") 2 40)
  (table 3 funcref)
  (elem (i32.const 0) $even $odd $leaf)
  (global $turns (mut i32) (i32.const 0))
  (global $sum (mut i64) (i64.const 0))
  (global $small (mut f32) (f32.const 0.5))
  (global $large (mut f64) (f64.const 1.5))
  (global $constant i32 (i32.const 1103515245))
  (global $last (mut v128) (v128.const i64x2 1 2))

  (func $main (export "_start")
    (local $round i32)
    (loop $again
      (i64.store
        (i32.add (i32.const 1024) (i32.shl (local.get $round) (i32.const 3)))
        (call $even (i32.const 25) (i64.extend_i32_u (local.get $round)) (f32.const 0.25) (f64.const 0.125)))
      (local.set $round (i32.add (local.get $round) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $round) (i32.const 3)))))

  ;; Each level keeps its own values over the call of the next one, and has a loop before and after it.
  (func $even (type $level)
    (local $vector v128) (local $turn i32) (local $low i32) (local $high i32)
    (local.set $vector (i32x4.splat (local.get 0)))
    (loop $before
      (call $mix (local.get $turn))
      (local.set $low) (local.set $high)
      (local.set 1 (i64.add (i64.rotl (local.get 1) (i64.const 7)) (i64.extend_i32_u (local.get $low))))
      (local.set $turn (i32.add (local.get $turn) (i32.const 1)))
      (br_if $before (i32.lt_u (local.get $turn) (i32.const 2))))
    (local.set 1
      (i64.xor (local.get 1)
        (call_indirect (type $level)
          (i32.sub (local.get 0) (i32.const 1))
          (i64.mul (local.get 1) (i64.const 6364136223846793005))
          (f32.add (local.get 2) (f32.const 0.5))
          (f64.mul (local.get 3) (f64.const 1.25))
          (select (i32.const 1) (i32.const 2) (local.get 0)))))
    (global.set $small (f32.add (global.get $small) (local.get 2)))
    (global.set $large (f64.add (global.get $large) (local.get 3)))
    (loop $after
      (local.set $vector (i32x4.add (local.get $vector) (i32x4.splat (local.get $high))))
      (local.set $turn (i32.sub (local.get $turn) (i32.const 1)))
      (br_if $after (local.get $turn)))
    (global.set $last (v128.xor (global.get $last) (local.get $vector)))
    (v128.store (i32.const 2048) (local.get $vector))
    (i64.add (local.get 1) (i64x2.extract_lane 0 (local.get $vector))))

  (func $odd (type $level)
    (if (result i64) (i32.and (local.get 0) (i32.const 2))
      (then (i64.sub (i64.const 7) (call $even (local.get 0) (local.get 1) (local.get 2) (local.get 3))))
      (else (call $even (local.get 0) (i64.const 99) (local.get 2) (f64.sqrt (local.get 3))))))

  ;; Loops in loops, which call the host from time to time.
  (func $leaf (type $level)
    (local $outer i32) (local $inner i32)
    (loop $outside
      (local.set $inner (i32.const 0))
      (loop $inside
        (global.set $turns (i32.add (global.get $turns) (i32.const 1)))
        (i32.store8 offset=4096 (local.get $inner) (i32.add (global.get $turns) (i32.wrap_i64 (local.get 1))))
        (local.set 1 (i64.add (local.get 1) (i64.extend_i32_u (i32.load8_u offset=4095 (i32.add (local.get $inner) (i32.const 1))))))
        (local.set $inner (i32.add (local.get $inner) (i32.const 1)))
        (br_if $inside (i32.lt_u (local.get $inner) (i32.const 10))))
      (if (i32.eqz (i32.rem_u (local.get $outer) (i32.const 3)))
        (then
          (global.set $sum
            (i64.add (global.get $sum)
              (i64.extend_i32_s
                (call $wait (i64.extend_i32_u (local.get $outer)) (i32.const 16) (local.get $inner) (i32.const 64)))))))
      (memory.copy (i32.const 8192) (i32.const 4096) (i32.const 64))
      (local.set $outer (i32.add (local.get $outer) (i32.const 1)))
      (br_if $outside (i32.lt_u (local.get $outer) (i32.const 12))))
    (i64.add (local.get 1) (global.get $sum)))

  ;; Two results.
  (func $mix (param i32) (result i32 i32)
    (local $turn i32)
    (loop $again
      (local.set 0 (i32.add (i32.mul (local.get 0) (global.get $constant)) (i32.const 12345)))
      (br_if $again (i32.lt_u (local.tee $turn (i32.add (local.get $turn) (i32.const 1))) (i32.const 2))))
    (i32.shr_u (local.get 0) (i32.const 3))
    (i32.rotl (local.get 0) (i32.const 5))))
