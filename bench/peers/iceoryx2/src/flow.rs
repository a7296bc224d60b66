//! Ping-pong at a rate, without waiting for each answer: one thread sends, another receives the answers.

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::options::{Options, Wait};
use crate::stamps::{NUMBER, Pace, Stamps, now, number};
use crate::talk::{StopSignal, join, wait_for_start};
use crate::topic::{Publishers, Topics};

/// Sends each message when it is due, with at most the watermark unanswered.
///
/// # Errors
/// If iceoryx2 fails or the bench has ended.
pub fn ping(options: &Options) -> Result<(), Box<dyn Error>> {
    if options.wait == Wait::Poll {
        return Err("two threads cannot poll on one CPU".into());
    }
    let questions = Topics::one("ping", options)?;
    let publishers = questions.publishers()?;
    let ((notifier, answered), stop) = (channel(), StopSignal::default());
    let (receiver_options, receiver_stop) = (options.clone(), stop.clone());
    // Ports of iceoryx2 are not `Send`: this thread opens its own.
    let listener = thread::Builder::new().name("answers".into()).spawn(move || {
        receive(&receiver_options, &receiver_stop, &notifier).map_err(|error| error.to_string())
    })?;
    join(&[&questions, &Topics::one("pong", options)?], &publishers)?;
    wait_for_start()?;
    stop.watch("pong")?;
    let mut flow = Flow { options, publishers, answered, unanswered: 0, next: 0, sent: options.stamps() };
    let sent = flow.run();
    let received = listener.join().map_err(|_| "the receiving thread panicked")??;
    sent?;
    options.write_sent(&flow.sent)?;
    options.write_received(&received)
}

/// Receives all answers, and notifies the sending thread of each.
fn receive(options: &Options, stop: &StopSignal, notifier: &Sender<()>) -> Result<Stamps, Box<dyn Error>> {
    let mut received = options.stamps();
    let answers = Topics::one("pong", options)?;
    let subscribers = answers.subscribers()?;
    let mut remaining = options.total;
    subscribers.receive_all(stop, |answer| {
        received.record(number(answer));
        // The sending thread may have ended.
        let _ = notifier.send(());
        remaining -= 1;
        Ok(if remaining == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(received)
}

struct Flow<'a> {
    options: &'a Options,
    publishers: Publishers,
    /// Receives one notification per answer.
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
            self.sent.record(self.next);
            self.publishers.send(&message[..self.options.size_of(self.next)])?;
            self.next += 1;
            self.unanswered += 1;
        }
        Ok(())
    }

    /// Waits until a message is due and the watermark allows it; false if no more answers can arrive.
    fn wait(&mut self, due: u64) -> bool {
        loop {
            let wait = Duration::from_nanos(due.saturating_sub(now()));
            let full = self.unanswered >= self.options.watermark;
            if wait.is_zero() && !full {
                return true;
            }
            let answer = if full {
                self.answered.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                self.answered.recv_timeout(wait)
            };
            match answer {
                Ok(()) => self.unanswered -= 1,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}
