//! Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal ends
//! it. With `--never-spin` the program never calls a function that spins.

use std::thread;
use std::time::Duration;

use interop::messages::{Numbered, Options, Program, describe, log_to_standard_error, run_with};
use runnel::{Context, ContextOptions, Error, QoS};

struct Talker {
    context: Context,
    options: Options,
}

fn main() -> Result<(), Error> {
    log_to_standard_error();
    let spins = !std::env::args().any(|word| word == "--never-spin");
    let context = Context::with_options(ContextOptions::default().signals(spins))?;
    let options = Options::of(&context, &["--latch", "--never-spin"]);
    let type_name = options.type_name().to_owned();
    run_with(&type_name, &Talker { context, options })
}

impl Program for Talker {
    fn run<M: Numbered>(&self) -> Result<(), Error> {
        let number = |name, otherwise| self.options.number(name, otherwise);
        let qos = QoS::keep_last(number("--queue", 1000.0) as usize);
        let qos = if self.options.flag("--latch") { qos.transient_local() } else { qos };
        let node = self.context.create_node("talker")?;
        let publisher = node.create_publisher::<M>(&self.options.topic, qos)?;
        println!("ready");
        while self.context.ok() && publisher.subscription_count() < number("--wait", 1.0) as usize {
            self.pause(Duration::from_millis(10))?;
        }
        let (count, size, rate) = (number("--count", 0.0), number("--size", 0.0), number("--rate", 0.0));
        let last = if count > 0.0 { count as u32 } else { u32::MAX };
        for number in (1..=last).take_while(|_| self.context.ok()) {
            let message = M::numbered(number, size as usize);
            publisher.publish(&message)?;
            println!("sent {number} {}", describe(&message));
            if rate > 0.0 {
                self.pause(Duration::from_secs_f64(1.0 / rate))?;
            }
        }
        println!("done");
        self.stay()
    }
}

impl Talker {
    fn spins(&self) -> bool {
        !self.options.flag("--never-spin")
    }

    fn pause(&self, time: Duration) -> Result<(), Error> {
        if self.spins() {
            return self.context.sleep(time);
        }
        thread::sleep(time);
        Ok(())
    }

    fn stay(&self) -> Result<(), Error> {
        if self.spins() {
            return self.context.spin();
        }
        loop {
            thread::park();
        }
    }
}
