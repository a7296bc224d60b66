//! Moves: all possible next steps of a world, and their effects.

use runnel_delivery::{Numbered, QueuePolicy, SendAction, Statement};

use crate::oracle::Fault;
use crate::world::{Config, Item, Kind, Line, World, bit, numbers};

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    Publish,
    SenderActs,
    Switch(usize),
    Repeat,
    ReachedArrives,
    ReachedIsLost,
    Establish(usize),
    Receive(usize),
    ReceiveSample(usize, u64),
    ReceiveBegin(usize),
    LoseBegin(usize),
    ReceiveGap(usize, u64),
    LoseFirst(usize),
    LoseSample(usize, u64),
    Resend(usize, u64),
    Acknowledge(usize),
    BecomesEmpty(usize),
    DrainEnds(usize),
    Break(usize),
    SenderNotices(usize),
    ReceiverNotices(usize),
    Forget(usize),
}

impl World {
    /// Returns all possible moves.
    pub fn moves(&self, config: &Config) -> Vec<Move> {
        let mut moves = Vec::new();
        let next = self.published + 1;
        if next <= config.messages && !self.sender.is_full(config.bytes_of(next)) {
            moves.push(Move::Publish);
        }
        if self.sender.clone().poll_action().is_some() {
            moves.push(Move::SenderActs);
        }
        if self.reached.is_some() && self.lines.iter().any(|line| line.is_up && !line.is_broken) {
            moves.push(Move::ReachedArrives);
            if config.loses_statements {
                moves.push(Move::ReachedIsLost);
            }
        }
        let is_silent = self.reached.is_none() && self.lines.iter().all(|line| line.begin.is_none());
        if config.loses_statements && self.sender.awaits_reached() && is_silent {
            moves.push(Move::Repeat);
        }
        (0..self.lines.len()).for_each(|index| self.moves_of(config, index, &mut moves));
        moves
    }

    fn moves_of(&self, config: &Config, index: usize, moves: &mut Vec<Move>) {
        let line = &self.lines[index];
        if !line.is_up {
            moves.extend((self.births > 0).then_some(Move::Establish(index)));
            return;
        }
        let can_switch = self.switches > 0 && !line.sender_knows && !line.is_broken;
        if can_switch && self.sender.clone().switch_path(Self::id(index)).is_ok() {
            moves.push(Move::Switch(index));
        }
        if self.is_emptying(index) && self.can_be_empty(index) && self.deaths_are_known() {
            moves.push(Move::BecomesEmpty(index));
        }
        if !line.receiver_knows {
            self.arrivals(config, index, moves);
        }
        self.losses(index, moves);
        if !line.is_broken && self.deaths > 0 && config.kinds[index].2 {
            moves.push(Move::Break(index));
        }
        if line.is_broken && !line.sender_knows {
            moves.push(Move::SenderNotices(index));
        }
        if line.is_broken && !line.receiver_knows {
            moves.push(Move::ReceiverNotices(index));
        }
        let is_left = line.fifo.is_empty() && line.bag == 0;
        if line.is_broken && line.sender_knows && line.receiver_knows && !is_left {
            moves.push(Move::Forget(index));
        }
    }

    fn arrivals(&self, config: &Config, index: usize, moves: &mut Vec<Move>) {
        let line = &self.lines[index];
        moves.extend((!line.fifo.is_empty() && self.takes_more(index)).then_some(Move::Receive(index)));
        moves.extend(numbers(line.bag).map(|number| Move::ReceiveSample(index, number)));
        if line.begin.is_some() && !line.is_broken {
            moves.push(Move::ReceiveBegin(index));
            if config.loses_statements {
                moves.push(Move::LoseBegin(index));
            }
        }
        if !line.is_broken {
            moves.extend(numbers(line.gaps).map(|number| Move::ReceiveGap(index, number)));
        }
        moves.extend((line.drain && self.takes_more(index)).then_some(Move::DrainEnds(index)));
    }

    fn losses(&self, index: usize, moves: &mut Vec<Move>) {
        let line = &self.lines[index];
        if line.kind == Kind::Udp && matches!(line.fifo.front(), Some(Item::Data(_))) {
            moves.push(Move::LoseFirst(index));
        }
        moves.extend(numbers(line.bag).map(|number| Move::LoseSample(index, number)));
        if line.kind == Kind::Rtps && !line.is_broken && !line.sender_knows {
            moves.extend(numbers(line.unacked & !line.bag).map(|number| Move::Resend(index, number)));
            if line.unacked & self.acknowledged() != 0 {
                moves.push(Move::Acknowledge(index));
            }
        }
    }

    /// Returns the messages that the receiver has.
    fn acknowledged(&self) -> u128 {
        let has = |number: &u64| *number < self.receiver.next() || self.receiver.holds(*number);
        (0..100).filter(has).fold(0, |mask, number| mask | bit(number))
    }

    /// Returns whether the time for the receiver to notice deaths is over.
    fn deaths_are_known(&self) -> bool {
        self.lines.iter().all(|line| !line.sender_knows || line.receiver_knows)
    }

    /// Returns whether a path can be empty: a connection when the peer's kernel has all messages; memory and RTPS when
    /// the peer has read them. A dead path is left when the peer has noticed.
    fn can_be_empty(&self, index: usize) -> bool {
        let line = &self.lines[index];
        if line.is_broken {
            return line.receiver_knows && line.sender_knows;
        }
        match line.kind {
            Kind::Plain | Kind::Tcp | Kind::Udp | Kind::Local | Kind::Best => true,
            Kind::Mem | Kind::Relay => line.fifo.is_empty(),
            Kind::Rtps => line.unacked | line.gaps == 0,
        }
    }

    /// Executes a step.
    pub fn apply(&mut self, config: &Config, step: Move) -> Result<(), Fault> {
        match step {
            Move::Publish => self.publish(config)?,
            Move::SenderActs => self.sender_acts()?,
            Move::Switch(to) => {
                self.switches -= 1;
                self.sender.switch_path(Self::id(to)).map_err(|error| Fault(error.to_string()))?;
            }
            Move::Repeat => self.sender.repeat(),
            Move::ReachedArrives => {
                if let Some((epoch, next)) = self.reached.take() {
                    self.sender.reached(epoch, next).map_err(|error| Fault(error.to_string()))?;
                }
            }
            Move::ReachedIsLost => self.reached = None,
            Move::Establish(index) => {
                self.births -= 1;
                self.establish(index);
            }
            Move::Receive(index) => {
                if let Some(item) = self.lines[index].fifo.pop_front() {
                    self.state_item(config, index, item)?;
                }
            }
            Move::ReceiveSample(index, number) => {
                self.lines[index].bag &= !bit(number);
                self.message_arrives(config, index, number)?;
            }
            Move::ReceiveBegin(index) => {
                if let Some((epoch, from, is_settled)) = self.lines[index].begin.take() {
                    self.state_item(config, index, Item::Begin(epoch, from, is_settled))?;
                }
            }
            Move::LoseBegin(index) => self.lines[index].begin = None,
            Move::ReceiveGap(index, number) => self.receive_gap(config, index, number)?,
            Move::LoseFirst(index) => {
                self.lines[index].fifo.pop_front();
            }
            Move::LoseSample(index, number) => self.lines[index].bag &= !bit(number),
            Move::Resend(index, number) => self.lines[index].bag |= bit(number),
            Move::Acknowledge(index) => self.lines[index].unacked &= !self.acknowledged(),
            Move::BecomesEmpty(index) => {
                let before = self.queued();
                self.sender.path_empty(Self::id(index));
                self.oracle.gone |= before & !self.queued();
            }
            Move::DrainEnds(index) => {
                self.read_to_end(config, index)?;
                self.pump(config)?;
            }
            Move::Break(index) => {
                self.deaths -= 1;
                self.lines[index].is_broken = true;
            }
            Move::SenderNotices(index) => self.sender_notices(config, index)?,
            Move::ReceiverNotices(index) => self.receiver_notices(config, index)?,
            Move::Forget(index) => {
                self.lines[index].fifo.clear();
                self.lines[index].bag = 0;
            }
        }
        self.note_capacities(config);
        Ok(())
    }

    fn queued(&self) -> u128 {
        self.sender.queued().fold(0, |mask, number| mask | bit(number))
    }

    fn publish(&mut self, config: &Config) -> Result<(), Fault> {
        self.published += 1;
        let number = self.published;
        let before = self.queued() | bit(number);
        let dropped = self.sender.dropped();
        let published = self.sender.publish(number, number, config.bytes_of(number));
        let count = published.map_err(|error| Fault(error.to_string()))?;
        let gone = before & !self.queued();
        self.oracle.gone |= gone;
        if self.sender.dropped() - dropped != count || u64::from(gone.count_ones()) != count {
            return Err(Fault(format!("loss: {count} dropped, {gone:#b} missing")));
        }
        Ok(())
    }

    fn sender_acts(&mut self) -> Result<(), Fault> {
        match self.sender.poll_action() {
            Some(SendAction::Begin { path, statement: Statement::Begin { epoch, from, is_settled, .. } }) => {
                let line = &mut self.lines[path.0 as usize];
                if line.kind == Kind::Best {
                    // Messages in flight may arrive after this and pass those that are sent again.
                    let carried = line.unacked;
                    let is_passed = |number: &u64| numbers(carried).any(|later| later > *number);
                    self.oracle.risked |=
                        (from..100).filter(is_passed).fold(0, |mask, number| mask | bit(number));
                }
                if line.kind.is_bag() {
                    line.begin = Some((epoch, from, is_settled));
                } else {
                    line.fifo.push_back(Item::Begin(epoch, from, is_settled));
                }
            }
            Some(SendAction::Skip { path, from, to, .. }) => {
                let line = &mut self.lines[path.0 as usize];
                match line.kind {
                    // The writer sends a GAP for messages that it does not hold itself.
                    Kind::Rtps => {
                        (from..to).filter(|n| line.unacked & bit(*n) == 0).for_each(|n| line.gaps |= bit(n))
                    }
                    Kind::Best | Kind::Plain | Kind::Udp => {}
                    _ => line.fifo.push_back(Item::Skip(to)),
                }
            }
            Some(SendAction::Send { path, message }) => {
                let line = &mut self.lines[path.0 as usize];
                let number = message.number;
                if line.kind.is_lossy() {
                    self.oracle.risked |= bit(number);
                }
                if line.kind.is_bag() {
                    line.bag |= bit(number);
                    line.unacked |= bit(number);
                    line.gaps &= !bit(number);
                } else {
                    line.fifo.push_back(Item::Data(number));
                }
            }
            other => return Err(Fault(format!("action: {other:?}"))),
        }
        Ok(())
    }

    fn receive_gap(&mut self, config: &Config, index: usize, number: u64) -> Result<(), Fault> {
        let is_kept = self.receiver.gap(Self::id(index), number, number + 1).map_err(Fault::refused)?;
        if is_kept {
            self.lines[index].gaps &= !bit(number);
        }
        self.pump(config)
    }

    fn sender_notices(&mut self, config: &Config, index: usize) -> Result<(), Fault> {
        let line = &mut self.lines[index];
        line.sender_knows = true;
        line.begin = None;
        line.gaps = 0;
        let returned = match line.kind {
            Kind::Rtps => line.unacked,
            kind if kind.returns_fifo() => line.fifo_data(),
            _ => 0,
        };
        if !line.kind.is_bag() && !line.kind.returns_fifo() {
            self.oracle.gone |= line.fifo_data();
        }
        let before = self.queued();
        let message = |number| Numbered { number, bytes: config.bytes_of(number), message: number };
        self.sender.path_down(Self::id(index), numbers(returned).map(message));
        let missing = returned & !self.queued() & !before;
        if matches!(config.policy, QueuePolicy::BestEffort { .. }) {
            self.oracle.gone |= missing;
        } else if let Some(number) = numbers(missing).find(|number| *number >= self.sender.highest_reached())
        {
            return Err(Fault(format!("loss: {number} was given back and is forgotten")));
        }
        Ok(())
    }

    fn receiver_notices(&mut self, config: &Config, index: usize) -> Result<(), Fault> {
        let line = &mut self.lines[index];
        line.receiver_knows = true;
        line.bag = 0;
        line.drain = false;
        if !line.kind.is_bag() && !line.kind.returns_fifo() {
            self.oracle.gone |= line.fifo_data();
            line.fifo.clear();
        }
        let is_left = |line: &Line| line.is_up && !line.receiver_knows;
        if self.lines.iter().filter(|line| is_left(line)).all(|line| !line.kind.is_numbered()) {
            // The sender drops returned messages, since the left path has no numbers.
            self.oracle.gone |= self.lines[index].unacked;
        }
        self.receiver.path_down(Self::id(index));
        self.pump(config)
    }
}
