//! What connections of links still owe before what memory brings: the loop reads it.

use runnel_io::clock;

use crate::driver::Driver;
use crate::driver::effect::Deadline;
use crate::driver::sessions::PATIENCE;
use crate::driver::sockets::Given;
use crate::driver::table::Key;
use crate::ipc::Carried;

impl Driver {
    /// Reads what links of all sessions wait for; true if there was anything.
    pub(super) fn read_late(&mut self) -> bool {
        let mut any = self.read_owed();
        for session in self.sessions.standing.clone() {
            any |= self.catch_up(session);
        }
        if self.sessions.late_since.is_none() {
            self.effects.cancel(Deadline::LateLinks);
        }
        any
    }

    /// Reads from connections what links of messages wait for that go by memory already, and ends those that have waited too
    /// long. True if there was anything.
    pub(super) fn read_owed(&mut self) -> bool {
        let mut any = false;
        for (link, since) in self.sessions.take_owed() {
            if self.sockets.read_owed(link, &mut self.effects) {
                if clock::monotonic().since(since) < PATIENCE {
                    self.sessions.owe_since(link, since, &mut self.effects);
                    continue;
                }
                let why = "its connection did not give what is said to have gone there".to_owned();
                self.sockets.misbehaved(link, why, &mut self.effects);
            }
            any = true;
        }
        any
    }

    /// Has links of services go on whose connections have given what they are to give, and ends those that have waited too long.
    /// True if there were any.
    pub(super) fn catch_up(&mut self, session: Key) -> bool {
        let mut any = false;
        for (link, before, since) in self.sessions.late_links(session) {
            match self.sockets.read_up_to(link, before, &mut self.effects) {
                Given::NotYet if clock::monotonic().since(since) < PATIENCE => {
                    self.sessions.look_later(since, &mut self.effects);
                    continue;
                }
                Given::All => self.go_on(session, link),
                wrong => self.sessions.give_up(session, link, wrong.why(), &mut self.effects),
            }
            any = true;
        }
        any
    }

    /// The connection of a link has given all: what waits comes, and then what the channel brings.
    fn go_on(&mut self, session: Key, link: Key) {
        let Some(late) = self.sessions.take_late(session, link) else { return };
        for piece in late.pieces {
            self.sockets.carried(link, Carried::Stream(piece), &mut self.effects);
        }
        let Some(channel) = late.channel else { return };
        self.sessions.set_channel(session, channel, link);
        if let Some(token) = self.sockets.token_of_called(link) {
            // The service has gone over, and so do we.
            self.sessions.go_over(session, token, &mut self.effects);
        }
    }
}
