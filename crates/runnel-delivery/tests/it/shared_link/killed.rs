//! Reset of the link's connection, with another link after it: messages in flight may be lost, and none is delivered
//! twice.

use super::*;

impl Scene {
    /// Kills the link; something happens before another exists.
    pub(super) fn kill_link(&mut self) {
        self.end_link();
        for _ in 0..self.random.below(8) {
            let id = self.any_pair();
            let is_compatible = self.pairs[index(id)].is_compatible;
            let is_there = self.is_there[id.reader as usize - 1];
            match self.random.below(4) {
                0 => self.publish(id.writer),
                1 if is_compatible && is_there => self.match_at_writer(id),
                2 if is_compatible => self.set_at_reader(id, true),
                _ => self.read_rtps(id),
            }
        }
        self.relink();
    }

    /// Ends the link with its messages. RTPS then serves the pairs that it has matched at the writer.
    fn end_link(&mut self) {
        let gone: Vec<Frame> = self.down_before.drain(..).chain(self.down.drain(..)).collect();
        for frame in gone {
            let Frame::Message(_, writer, _) = frame else { continue };
            ids().filter(|id| id.writer == writer).for_each(|id| *self.lost.entry(id).or_default() += 1);
        }
        for id in ids() {
            let next = self.next(id);
            let pair = &mut self.pairs[index(id)];
            if !pair.is_active {
                pair.since = next;
                pair.under_way = pair.waiting.take().unwrap_or_default().into();
                pair.unacknowledged = pair.under_way.clone();
                pair.is_active = pair.at_writer;
            }
        }
        self.receiver = SharedLinkReceiver::default();
        self.up.clear();
        (self.is_linked, self.is_killed) = (false, true);
    }

    fn relink(&mut self) {
        (self.sender, self.receiver) = (SharedLinkSender::default(), SharedLinkReceiver::default());
        (self.on_link, self.is_linked) = (1, true);
        for reader in (1..=SUBSCRIPTIONS).filter(|reader| self.is_there[*reader as usize - 1]) {
            self.receiver.add(reader, true);
            self.receiver.add_reader(reader, reader);
        }
        for id in ids() {
            let pair = &mut self.pairs[index(id)];
            pair.is_followed = pair.at_reader;
            self.receiver.add_lost_pair(id, pair.position);
            if pair.at_reader {
                self.receiver.matched(id, id.reader);
            }
            if pair.is_active {
                self.down.push_back(Frame::Statement(self.sender.declare_on_rtps(id, 1)));
            }
        }
    }
}

#[test]
fn killed_link_duplicates_and_reorders_nothing() {
    for seed in 0..2_000 {
        run(seed, Trouble::BlackoutsWithKilledLinks);
    }
}
