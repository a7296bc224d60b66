//! Relocation: a publication or a subscription continues in another process or on another host, from a snapshot.

use runnel_delivery::{Credit, QueuePolicy, Receiver, Sender};

use crate::explore::describe;
use crate::moves::Move;
use crate::oracle::Fault;
use crate::random::Random;
use crate::simulation::{MAX_STEPS, MESSAGES, check_end, seeds, take_steps};
use crate::world::{Config, Kind, World};

const KINDS: [Kind; 4] = [Kind::Mem, Kind::Tcp, Kind::Rtps, Kind::Relay];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Moved {
    Publication,
    Subscription,
    Both,
}

impl World {
    /// Ends the paths of the old process; the new one takes the messages that they return.
    fn move_publication(&mut self, config: &Config) -> Result<(), Fault> {
        for index in 0..self.lines.len() {
            if self.lines[index].is_up && !self.lines[index].sender_knows {
                self.lines[index].is_broken = true;
                self.apply(config, Move::SenderNotices(index))?;
            }
        }
        let snapshot = self.sender.clone().snapshot();
        self.sender = Sender::resume(snapshot, config.policy, config.max_bytes, config.credit);
        Ok(())
    }

    /// Ends the old process; the new one continues with the messages that it held.
    fn move_subscription(&mut self, config: &Config) -> Result<(), Fault> {
        for index in 0..self.lines.len() {
            if self.lines[index].is_up && !self.lines[index].receiver_knows {
                self.lines[index].is_broken = true;
                self.apply(config, Move::ReceiverNotices(index))?;
            }
        }
        let snapshot = self.receiver.clone().snapshot();
        self.receiver = Receiver::resume(snapshot, config.credit);
        self.pump(config)
    }
}

fn config(first: Kind, second: Kind, policy: QueuePolicy, random: &mut Random) -> Config {
    let kinds = [(first, true, false), (second, true, false), (second, false, false), (first, false, false)];
    let mut config = Config::new(&kinds, MESSAGES, random.below(8) as u8, 0);
    config.births = 0;
    config.policy = policy;
    config.capacity = 1 + random.below(8) as usize;
    config.credit = Credit { messages: 1 + random.below(12) as u32, bytes: usize::MAX };
    config
}

fn run(config: &Config, moved: Moved, random: &mut Random) -> Result<(), (Fault, Vec<Move>)> {
    let mut world = World::new(config);
    let mut taken = Vec::new();
    let until = random.below(300) as usize;
    let result = take_steps(&mut world, config, random, 0..until, &mut taken);
    let result = result.and_then(|()| match moved {
        Moved::Publication => world.move_publication(config),
        Moved::Subscription => world.move_subscription(config),
        Moved::Both => world.move_subscription(config).and_then(|()| world.move_publication(config)),
    });
    world.births = 2;
    let result = result.and_then(|()| take_steps(&mut world, config, random, until..MAX_STEPS, &mut taken));
    result.and_then(|()| check_end(&world, config)).map_err(|fault| (fault, taken))
}

fn relocates(moved: Moved) {
    let policies = [QueuePolicy::KeepAll { limit: 5 }, QueuePolicy::KeepLast { depth: 2 }];
    for seed in 0..seeds() {
        for (index, first) in KINDS.into_iter().enumerate() {
            for second in KINDS {
                let policy = policies[(seed % 2) as usize];
                let mut random = Random::new(seed << 16 | (index as u64) << 8 | second as u64);
                let config = config(first, second, policy, &mut random);
                if let Err((Fault(why), moves)) = run(&config, moved, &mut random) {
                    panic!("seed {seed}, {moved:?}: {why}\n{config:?}\n{}", describe(&config, &moves));
                }
            }
        }
    }
}

#[test]
fn publication_relocates_without_loss_or_duplicate() {
    relocates(Moved::Publication);
}

#[test]
fn subscription_relocates_without_loss_or_duplicate() {
    relocates(Moved::Subscription);
}

#[test]
fn both_ends_relocate_simultaneously() {
    relocates(Moved::Both);
}

#[test]
fn implausible_snapshots_are_corrected() {
    let sender = Sender::<()>::new(runnel_delivery::SenderOptions {
        id: crate::world::ID,
        first: 5,
        policy: QueuePolicy::KeepLast { depth: 3 },
        max_bytes: 100,
        credit: Credit::DEFAULT,
    });
    let mut snapshot = sender.snapshot();
    snapshot.reached = 900;
    snapshot.from = 800;
    snapshot.messages = vec![runnel_delivery::Numbered { number: 77, bytes: 1, message: () }];
    let sender = Sender::resume(snapshot, QueuePolicy::KeepLast { depth: 3 }, 100, Credit::DEFAULT);
    assert_eq!((sender.highest_reached(), sender.queue_len()), (5, 0));
    assert_eq!(sender.state(), runnel_delivery::SenderState::Waiting { from: 5 });
}
