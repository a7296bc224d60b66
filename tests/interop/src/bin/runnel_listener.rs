//! Subscriber: prints `got N len L crc C` for each message, and ends after `--count` of them with `done`. With
//! `--block` the first callback never returns; with `--udp` UDPROS is preferred.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use interop::messages::{Numbered, Options, Program, describe, log_to_standard_error, run_with};
use runnel::{Context, Error, SubscriptionOptions};

struct Listener {
    context: Context,
    options: Options,
}

fn main() -> Result<(), Error> {
    log_to_standard_error();
    let context = Context::new()?;
    // TCP_NODELAY is always set by Runnel.
    let options = Options::of(&context, &["--nodelay", "--block", "--udp"]);
    let type_name = options.type_name().to_owned();
    run_with(&type_name, &Listener { context, options })
}

impl Program for Listener {
    fn run<M: Numbered>(&self) -> Result<(), Error> {
        let count = self.options.number("--count", 0.0) as u32;
        let (blocks, context) = (self.options.flag("--block"), self.context.clone());
        let received = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&received);
        let on_message = move |message: &M| {
            let number = counter.load(Ordering::SeqCst) + 1;
            if count != 0 && number > count {
                return;
            }
            println!("got {number} {}", describe(message));
            counter.store(number, Ordering::SeqCst);
            if number == count {
                context.shutdown();
            }
            if blocks {
                for_ever();
            }
        };
        let options = SubscriptionOptions::from(self.options.number("--queue", 1000.0) as usize);
        let options = if self.options.flag("--udp") { options.udpros() } else { options };
        let node = self.context.create_node("listener")?;
        let _subscription = node.create_subscription(&self.options.topic, options, on_message)?;
        println!("ready");
        self.context.spin()?;
        if count != 0 && received.load(Ordering::SeqCst) == count {
            println!("done");
        }
        Ok(())
    }
}

/// A callback that never returns; the test ends the process.
fn for_ever() {
    loop {
        thread::park();
    }
}
