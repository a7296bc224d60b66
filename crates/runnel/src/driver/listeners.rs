//! Sockets on which others connect.

use std::io;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{Interest, Token, clock};

use super::Driver;
use super::socket::Socket;
use super::table::Key;
use crate::log_output::console;

/// How long no connection is accepted once descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Connections accepted from one listener before others get their turn.
pub(super) const ACCEPT_BATCH: usize = 64;

impl Driver {
    /// Takes connections that have come.
    pub(super) fn accept(&mut self, key: Key) {
        for _ in 0..ACCEPT_BATCH {
            let Some(Socket::Listener { listener, engine, port }) = self.sockets.get(key) else { return };
            let (engine, port) = (*engine, *port);
            match listener.accept() {
                Ok(Some((stream, peer))) => self.accepted(engine, port, stream, peer),
                Ok(None) => return,
                Err(error) => return self.pause_accepting(key, &error),
            }
        }
    }

    /// Without free descriptors a listener would be ready for ever: it is left alone for a moment.
    pub(super) fn pause_accepting(&mut self, key: Key, error: &io::Error) {
        let pause = ACCEPT_PAUSE.as_millis();
        let what = format_args!("cannot accept connections, trying again in {pause} ms: {error}");
        self.accepting.warn(clock::monotonic(), what, |line| console::error!("{line}"));
        self.watch_listener(key, Interest::Nothing);
        let until = clock::monotonic() + ACCEPT_PAUSE;
        self.paused.get_or_insert((until, Vec::new())).1.push(key);
    }

    /// Listeners that were left alone are looked at again, once it is time.
    pub(super) fn resume_accepting(&mut self, now: Instant) {
        let Some((_, keys)) = self.paused.take_if(|(at, _)| *at <= now) else { return };
        keys.into_iter().for_each(|key| self.watch_listener(key, Interest::Read));
    }

    fn watch_listener(&self, key: Key, interest: Interest) {
        let token = Token(key.to_bits());
        let _ = match self.sockets.get(key) {
            Some(Socket::Listener { listener, .. }) => self.reactor.modify(listener, token, interest),
            Some(Socket::PacketListener(listener)) => self.reactor.modify(listener, token, interest),
            _ => Ok(()),
        };
    }
}
