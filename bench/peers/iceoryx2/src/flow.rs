//! Ping-pong at a rate, without waiting for every answer: one thread sends, another takes the answers.

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::options::{Options, Wait};
use crate::stamps::{NUMBER, Pace, Stamps, now, number};
use crate::talk::{End, join, wait_for_go};
use crate::topic::{Outlet, Topics};

/// Sends each message when it is due, as long as few enough are unanswered.
///
/// # Errors
/// When iceoryx2 refuses or the bench has gone.
pub fn ping(options: &Options) -> Result<(), Box<dyn Error>> {
    if options.wait == Wait::Poll {
        return Err("two threads cannot poll on one CPU".into());
    }
    let questions = Topics::one("ping", options)?;
    let outlet = questions.outlet()?;
    let ((told, answered), end) = (channel(), End::default());
    let (listening, ending) = (options.clone(), end.clone());
    // Nothing of iceoryx2's may go from one thread to another: this one has all of its own.
    let listener = thread::Builder::new()
        .name("answers".into())
        .spawn(move || take(&listening, &ending, &told).map_err(|error| error.to_string()))?;
    join(&[&questions, &Topics::one("pong", options)?], &outlet)?;
    wait_for_go()?;
    end.watch("pong")?;
    let mut flow = Flow { options, outlet, answered, unanswered: 0, next: 0, sent: options.stamps() };
    let sent = flow.run();
    let received = listener.join().map_err(|_| "the thread that takes answers has panicked")??;
    sent?;
    options.write_sent(&flow.sent)?;
    options.write_received(&received)
}

/// Takes answers until all have come, and tells of each.
fn take(options: &Options, end: &End, told: &Sender<()>) -> Result<Stamps, Box<dyn Error>> {
    let mut received = options.stamps();
    let answers = Topics::one("pong", options)?;
    let inlet = answers.inlet()?;
    let mut left = options.total;
    inlet.each(end, |answer| {
        received.take(number(answer));
        // The other thread may have ended.
        let _ = told.send(());
        left -= 1;
        Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(received)
}

struct Flow<'a> {
    options: &'a Options,
    outlet: Outlet,
    /// Says so once for each answer.
    answered: Receiver<()>,
    unanswered: u64,
    next: u64,
    sent: Stamps,
}

impl Flow<'_> {
    fn run(&mut self) -> Result<(), Box<dyn Error>> {
        let mut message = self.options.message();
        let mut pace = Pace::new(self.options.rate);
        while self.next < self.options.total {
            if !self.wait(pace.due(self.next)) {
                break;
            }
            message[..NUMBER].copy_from_slice(&self.next.to_le_bytes());
            self.sent.take(self.next);
            self.outlet.send(&message[..self.options.size_of(self.next)])?;
            self.next += 1;
            self.unanswered += 1;
        }
        Ok(())
    }

    /// Waits until a message is due and may be unanswered; false if no answers can come any more.
    fn wait(&mut self, due: u64) -> bool {
        loop {
            let left = Duration::from_nanos(due.saturating_sub(now()));
            let full = self.unanswered >= self.options.watermark;
            if left.is_zero() && !full {
                return true;
            }
            let told = if full {
                self.answered.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                self.answered.recv_timeout(left)
            };
            match told {
                Ok(()) => self.unanswered -= 1,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}
