//! Instrumented modules: what is suspended on one engine goes on on another one.

mod machine;

use machine::{Image, Machine, Outcome, Result, Until, instrumented};

const MODULE: &str = include_str!("suspended.wat");

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % end
    }
}

/// Runs a module to its end, suspended at random instants, each time on the other engine.
fn run_in_parts(machines: &[Machine; 2], calls: u64, random: &mut Random) -> (Result, u64) {
    let mut image: Option<Image> = None;
    let (mut machine, mut done) = (random.below(2) as usize, 0);
    for _ in 0..=random.below(4) {
        if done == calls {
            break;
        }
        let until = 1 + random.below(calls - done);
        let (outcome, called) = machines[machine].run(image.as_ref(), Until::Calls(until));
        assert_eq!(called.count, until);
        let Outcome::Suspended(suspended) = outcome else { panic!("it was not suspended") };
        (image, machine, done) = (Some(suspended), 1 - machine, done + until);
    }
    let (outcome, called) = machines[machine].run(image.as_ref(), Until::Returned);
    (returned(outcome), done + called.count)
}

fn returned(outcome: Outcome) -> Result {
    match outcome {
        Outcome::Returned(result) => result,
        Outcome::Suspended(_) => panic!("it was suspended"),
    }
}

#[test]
fn suspended_module_goes_on_on_the_other_engine() {
    let machines = Machine::both(&instrumented(MODULE));
    let (outcome, called) = machines[0].run(None, Until::Returned);
    let (expected, calls) = (returned(outcome), called.count);
    assert!(calls > 300, "{calls}");
    assert_eq!(returned(machines[1].run(None, Until::Returned).0), expected);
    let mut random = Random(1);
    for journey in 0..60 {
        let (result, called) = run_in_parts(&machines, calls, &mut random);
        // No loop turns twice, and none is left out.
        assert_eq!(called, calls, "journey {journey}");
        assert!(result == expected, "journey {journey}");
    }
}

/// A module that is suspended before it has allocated anything takes all memory, also that of its call stack.
#[test]
fn memory_that_a_module_takes_after_it_was_suspended_stays_its_own() {
    let machines = Machine::both(&instrumented(
        r#"(module
             (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
             (memory (export "memory") 1)
             (func $wait_once (drop (call $wait (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
             (func $end (result i32) (i32.shl (memory.size) (i32.const 16)))
             (func (export "_start")
               (local $at i32)
               (call $wait_once)
               (memory.fill (i32.const 65536) (i32.const 7) (i32.sub (call $end) (i32.const 65536)))
               (call $wait_once)
               (local.set $at (i32.const 65536))
               (loop $next
                 (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 7)) (then (unreachable)))
                 (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1))) (call $end))))
               (i32.store8 (i32.const 0) (i32.const 1))))"#,
    ));
    let mut image = None;
    for machine in &machines {
        let Outcome::Suspended(suspended) = machine.run(image.as_ref(), Until::Calls(1)).0 else {
            panic!("it was not suspended")
        };
        image = Some(suspended);
    }
    let result = returned(machines[0].run(image.as_ref(), Until::Returned).0);
    assert_eq!((result.memory.len(), result.memory[0]), (33 * 65536, 1));
}

/// What the host tells a function when it resumes is what the module gets.
#[test]
fn module_gets_what_the_resumed_function_returns() {
    let machines = Machine::both(&instrumented(
        r#"(module
             (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
             (memory 1)
             (func (export "_start")
               (i32.store (i32.const 4) (call $wait (i64.const 1) (i32.const 2) (i32.const 3) (i32.const 4)))))"#,
    ));
    let Outcome::Suspended(image) = machines[0].run(None, Until::Calls(1)).0 else {
        panic!("it was not suspended")
    };
    let result = returned(machines[1].run(Some(&image), Until::Returned).0);
    assert_eq!(result.memory, [0, 0, 0, 0, 17]);
}
