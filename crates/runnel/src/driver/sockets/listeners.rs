//! Listening sockets of engines.

use std::io;
use std::time::Duration;

use runnel_io::{Interest, Token, clock};

use super::Sockets;
use super::socket::Socket;
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::limits::ACCEPT_BATCH;
use crate::driver::table::Key;
use crate::log_output::console;

/// Pause of a listener after file descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

impl Sockets {
    /// Accepts connections.
    pub(super) fn accept(&mut self, key: Key, effects: &mut Effects) {
        for _ in 0..ACCEPT_BATCH {
            let Some(Socket::Listener { listener, engine, port }) = self.get(key) else { return };
            let (engine, port) = (*engine, *port);
            match listener.accept() {
                Ok(Some((stream, peer))) => {
                    effects.push_back(Effect::Accepted { engine, port, stream, peer });
                }
                Ok(None) => return,
                Err(error) => return self.pause_accepting(key, &error, effects),
            }
        }
    }

    /// Pauses a listener: without free file descriptors, it would be ready all the time.
    pub(in crate::driver) fn pause_accepting(&mut self, key: Key, error: &io::Error, effects: &mut Effects) {
        let pause = ACCEPT_PAUSE.as_millis();
        let what = format_args!("cannot accept connections, trying again in {pause} ms: {error}");
        self.accepting.warn(clock::monotonic(), what, |line| console::error!("{line}"));
        self.watch_listener(key, Interest::Nothing);
        if self.paused.is_empty() {
            effects.schedule(Deadline::Accept, clock::monotonic() + ACCEPT_PAUSE);
        }
        self.paused.push(key);
    }

    /// Resumes paused listeners.
    pub(in crate::driver) fn resume_accepting(&mut self) {
        let paused = std::mem::take(&mut self.paused);
        paused.into_iter().for_each(|key| self.watch_listener(key, Interest::Read));
    }

    fn watch_listener(&self, key: Key, interest: Interest) {
        let token = Token(key.to_bits());
        let _ = match self.get(key) {
            Some(Socket::Listener { listener, .. }) => self.reactor.modify(listener, token, interest),
            _ => Ok(()),
        };
    }
}
