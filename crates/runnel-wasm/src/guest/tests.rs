//! Guests whose threads race with those that control them.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use runnel::{Context, ContextOptions};

use super::{Ended, Guest, GuestOptions};
use crate::manifest::{Limits, Manifest};
use crate::program::{CompileOptions, Instrumentation, Program, Target, compile};

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn guest_that_has_just_looked_at_its_signals_is_stopped() {
    let module = wat::parse_str(
        r#"(module (memory (export "memory") 1) (func (export "_start") (loop $again (br $again))))"#,
    );
    let checkpoint = Instrumentation::Off;
    let options = CompileOptions { target: Target::host(), checkpoint, ..CompileOptions::default() };
    let compiled = compile("endless.wat", &module.unwrap(), &options).unwrap();
    let program = Program::from_bytes("endless.cwasm", &compiled.file).unwrap();
    for _ in 0..100 {
        // Without limits, nothing else makes it look.
        let limits = Limits { callback: Duration::ZERO, ..Limits::default() };
        let manifest = Some(Manifest { limits, ..Manifest::default() });
        let context = ContextOptions::default().arguments([""; 0]).signals(false).log_file(false);
        let context = Context::with_options(context).unwrap();
        let options = GuestOptions { manifest, ..GuestOptions::default() };
        let guest = Guest::new(&program, context, options).unwrap();
        let (control, (send, ended)) = (guest.control(), mpsc::channel());
        thread::spawn(move || send.send(guest.run()));
        // It looks at its signals again and again, and also while it is stopped.
        for _ in 0..100_000 {
            control.engine.inner().increment_epoch();
        }
        control.stop();
        let ended = ended.recv_timeout(TIMEOUT).expect("it ends");
        assert_eq!(ended.unwrap(), Ended::Stopped);
    }
}
