//! Links and pairs whose other ends may be of this host: the end that receives asks the other to send by the session of the two.

use runnel_core::local_peer::{LocalIdentity, LocalPeerId};
use runnel_delivery::Statement;
use runnel_io::Token;

use super::{Entry, Met, Sessions};
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::table::{Key, Owner};

/// What is at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum OtherEnd {
    Publisher,
    Service,
    /// One that receives, and so asks itself.
    Receiver,
    /// An endpoint of the ROS 2 graph.
    Endpoint,
}

impl Sessions {
    /// Who this process is for others of its host, for one more node: with a secret of its own, since each counts its
    /// links.
    pub(crate) fn same_host(&mut self) -> Option<LocalIdentity> {
        self.listen_for_processes();
        let identity = &mut self.settings.as_mut()?.identity;
        identity.secret = identity.secret.wrapping_add(1);
        Some(identity.clone())
    }

    /// By what other processes of this host find this one.
    pub(in crate::driver) fn own_process(&mut self) -> Option<u128> {
        self.listen_for_processes();
        self.settings.as_ref().map(|settings| settings.identity.process)
    }

    /// A link stands whose other end may be of this host.
    pub(in crate::driver) fn meet(
        &mut self,
        key: Key,
        other_end: OtherEnd,
        peer: LocalPeerId,
        effects: &mut Effects,
    ) {
        let LocalPeerId { process, token } = peer;
        self.links.insert(token, key);
        self.met.insert(key, Met { peer, other_end });
        match self.session_with(process) {
            Some(session) => self.ask(session, key, effects),
            None if self.peers.contains_key(&process) => {}
            None => self.connect_process(process, effects),
        }
    }

    /// A pair is gone.
    pub(in crate::driver) fn remove_pair(&mut self, key: Key, effects: &mut Effects) {
        if let Some(Entry::SampleOutput(output)) = self.entries.remove(key) {
            output.publication.leave_memory(output.pair());
        }
        self.part(key, effects);
    }

    /// A link is gone.
    pub(in crate::driver) fn part(&mut self, key: Key, effects: &mut Effects) {
        let Some(Met { peer: LocalPeerId { process, token }, .. }) = self.met.remove(&key) else { return };
        // Another link may be known by that token already.
        if self.links.get(&token) == Some(&key) {
            self.links.remove(&token);
        }
        self.hurry_ending(process, effects);
    }

    /// A session stands: links with the other process go over to it.
    pub(super) fn stands(&mut self, session: Key, process: u128, effects: &mut Effects) {
        effects.cancel(Deadline::Process(process));
        let is_of_process = |key: &Key| self.peer_of(*key).is_some_and(|peer| peer.process == process);
        let links: Vec<Key> = self.links.values().copied().filter(is_of_process).collect();
        links.into_iter().for_each(|key| self.ask(session, key, effects));
    }

    /// The end that receives by a link asks to have it by a session as well.
    pub(super) fn ask(&mut self, session: Key, key: Key, effects: &mut Effects) {
        let Some(Met { peer: LocalPeerId { token, .. }, other_end }) = self.met.get(&key) else { return };
        let token = *token;
        let samples = match (self.entries.get_mut(key), other_end) {
            (Some(Entry::SampleOutput(_)), _) => return self.go_over_if_asked(session, token, effects),
            (Some(Entry::SampleInput(input)), _) if input.memory.delivery.is_some() => {
                return input.asks_later = true;
            }
            (Some(Entry::SampleInput(input)), _) => Some(input.waits_for_user()),
            (_, OtherEnd::Publisher) => {
                return effects.push_back(Effect::AskPublisher { session, link: key });
            }
            (_, OtherEnd::Service) => None,
            (_, OtherEnd::Receiver | OtherEnd::Endpoint) => return,
        };
        let Some(session) = self.open.get_mut(session) else { return };
        let asked = match samples {
            Some(waits_for_user) => session.sender.ask_samples(token, waits_for_user),
            None => session.sender.ask(token),
        };
        if !asked {
            session.unasked.push(token);
        }
    }

    /// The publisher of a link is told how far this end is, and asked to send by a session.
    pub(in crate::driver) fn ask_publisher(&mut self, session: Key, link: Key, reached: &Statement) {
        let token = self.peer_of(link).map(|peer| peer.token);
        let (Some(session), Some(token)) = (self.open.get_mut(session), token) else { return };
        if !session.sender.tell_reached(token, reached) || !session.sender.ask(token) {
            session.unasked.push(token);
        }
    }

    /// The other end wants what a link of ours carries by the session: now, or once that can be.
    pub(in crate::driver) fn go_over(&mut self, session: Key, token: u128, effects: &mut Effects) {
        let Some(key) = self.links.get(&token).copied() else { return };
        let process = self.peer_of(key).map(|peer| peer.process);
        let Some(open) = self.open.get_mut(session).filter(|open| process == Some(open.process)) else {
            return;
        };
        if key.owner() == Owner::Sockets {
            return effects.push_back(Effect::SwitchPath { session, link: key, token });
        }
        if let Some(Entry::SampleOutput(output)) = self.entries.get_mut(key) {
            let how = (Token(key.to_bits()), output.waits_for_user);
            if !output.publication.switch_to_memory(output.pair(), how, &open.sender, token) {
                self.go_over_later(session, token);
            }
        }
    }

    /// A link could not go over to a session for want of room, or since a header of ours is on its way.
    pub(in crate::driver) fn go_over_later(&mut self, session: Key, token: u128) {
        if let Some(open) = self.open.get_mut(session)
            && !open.unopened.contains(&token)
        {
            open.unopened.push(token);
        }
    }

    /// There is room in a session's ring: what waits for that is asked for and goes over. Gives the links that wait for it to send.
    pub(in crate::driver) fn go_on_with_room(&mut self, session: Key, effects: &mut Effects) -> Vec<Token> {
        let Some(open) = self.open.get_mut(session) else { return Vec::new() };
        let (unasked, unopened) = (std::mem::take(&mut open.unasked), std::mem::take(&mut open.unopened));
        let (untold, waiting) = (std::mem::take(&mut open.untold), open.sender.ready_links());
        for key in untold {
            match key.owner() {
                Owner::Sockets => effects.push_back(Effect::PublisherUntold { key }),
                Owner::Sessions => self.tell_untold(key),
            }
        }
        for token in unasked {
            if let Some(key) = self.links.get(&token).copied() {
                self.ask(session, key, effects);
            }
        }
        unopened.into_iter().for_each(|token| self.go_over(session, token, effects));
        waiting
    }

    /// A link or a pair takes more.
    pub(in crate::driver) fn writable(&mut self, key: Key) {
        if let Some(Entry::SampleOutput(output)) = self.entries.get(key) {
            output.publication.memory_writable(output.pair());
        }
    }

    /// Tells the writer of a pair how far its reader is, now or when there is room for that.
    pub(super) fn tell_untold(&mut self, key: Key) {
        let Some(Entry::SampleInput(input)) = self.entries.get_mut(key) else { return };
        if let Some(reached) = input.memory.untold.take()
            && !self.tell_reached(key, &reached)
            && let Some(Entry::SampleInput(input)) = self.entries.get_mut(key)
        {
            input.memory.untold = Some(reached);
        }
    }

    /// Tells the other end of a link how far this one is; false if that is to be tried again, of which the loop is told.
    pub(in crate::driver) fn tell_reached(&mut self, key: Key, reached: &Statement) -> bool {
        let Some(peer) = self.peer_of(key) else { return true };
        let session = self.session_with(peer.process);
        let Some(open) = session.and_then(|session| self.open.get_mut(session)) else { return true };
        let is_told = open.sender.tell_reached(peer.token, reached);
        if !is_told && !open.untold.contains(&key) {
            open.untold.push(key);
        }
        is_told
    }
}
