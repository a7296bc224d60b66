//! Tests of SIGINT and SIGTERM, in child processes.

use std::env;
use std::io::{BufRead, BufReader, stdin};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio, exit};
use std::thread;

use runnel::{Context, ContextOptions};
use rustix::process::{Pid, Signal, kill_process};

/// Environment variable with the role of a child process.
const ROLE: &str = "PART";

fn context() -> Context {
    Context::with_options(ContextOptions::default().arguments([""; 0])).unwrap()
}

fn print_line(word: &str) {
    println!("\n{word}");
}

/// Runs a role and exits.
fn run_role(role: &str) -> ! {
    let context = context();
    match role {
        "spins" => {
            print_line("ready");
            context.spin().unwrap();
            exit(0);
        }
        "has no context any more" => {
            drop(context);
            print_line("ready");
        }
        "is stuck in a callback" => {
            print_line("ready");
            while context.ok() {
                thread::yield_now();
            }
            print_line("stopping");
        }
        other => panic!("no such role: {other}"),
    }
    // The parent holds the other end.
    let _ = stdin().read_line(&mut String::new());
    exit(1)
}

struct Program {
    child: Child,
    /// Open until the child has ended: waiting would close it.
    stdin: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Program {
    fn that(role: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "signal_ends_every_kind_of_wait", "--nocapture"]).env(ROLE, role);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let stdin = child.stdin.take();
        let mut program = Self { child, stdin, lines };
        program.await_word("ready");
        program
    }

    fn await_word(&mut self, word: &str) {
        assert!(self.lines.any(|line| line.unwrap() == word), "it ended before it was {word}");
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn end(mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        drop(self.stdin.take());
        status
    }
}

#[test]
fn signal_ends_every_kind_of_wait() {
    if let Ok(role) = env::var(ROLE) {
        run_role(&role);
    }
    let regular = Program::that("spins");
    regular.send(Signal::INT);
    assert_eq!(regular.end().code(), Some(0));

    let late = Program::that("has no context any more");
    late.send(Signal::TERM);
    assert_eq!(late.end().signal(), Some(Signal::TERM.as_raw()));

    let mut stuck = Program::that("is stuck in a callback");
    stuck.send(Signal::INT);
    stuck.await_word("stopping");
    stuck.send(Signal::INT);
    assert_eq!(stuck.end().signal(), Some(Signal::INT.as_raw()));
}
