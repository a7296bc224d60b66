//! The host that a node leaves.

use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::channel::SharedChannel;
use super::hand_over::{HandOver, hand_over};
use super::message::{Greeting, MigrationId, Offer, PAGES_AT_ONCE, ToSource, ToTarget, VERSION};
use super::outcome::{Migrated, MigrationError, MigrationOptions, Resolution};
use crate::checkpoint::{MemoryCopy, Moment, Page, State};
use crate::error::GuestError;
use crate::guest::{GuestControl, SuspendedMoment};

/// Pages that are sent while the node is suspended, at most, if they become so few.
const FEW_PAGES: usize = 16;

/// How often memory is copied until it has changed little meanwhile.
const MOST_ROUNDS: usize = 8;

/// Time between two looks at the links of the target.
const ROUND: Duration = Duration::from_millis(20);

/// How long the target may take for an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// How long the target may take for the pages that were sent before, while the node runs.
const COPYING: Duration = Duration::from_secs(120);

/// How long it may take to learn that the node does not move.
const ABORT: Duration = Duration::from_secs(2);

/// How long a node may take until it can be suspended.
const SUSPENSION: Duration = Duration::from_secs(10);

/// Time between two attempts to reach a target again.
const RETRY: Duration = Duration::from_millis(500);

/// A way to the target, and what the user decides.
pub struct Reach<'a> {
    /// Connects to the target once more.
    pub reconnect: &'a mut dyn FnMut() -> Result<SharedChannel, String>,
    /// The user's decision, when the migration is in doubt.
    pub resolutions: &'a Receiver<Resolution>,
    /// Called with the reason when the migration is in doubt.
    pub report_doubt: &'a mut dyn FnMut(&str),
}

/// Moves a node to the host at the other end of a channel, which serves nodes.
///
/// # Errors
/// Why it goes on here.
pub fn migrate(
    control: &GuestControl,
    channel: SharedChannel,
    options: MigrationOptions,
    reach: &mut Reach<'_>,
) -> Result<Migrated, MigrationError> {
    let mut source = Source { control, channel, migration: new_id()?, copied: 0, outline: None };
    let migrated = source.migrate(options, reach);
    if migrated.is_err() {
        control.stay();
    }
    migrated
}

fn new_id() -> Result<MigrationId, MigrationError> {
    let mut id = [0; 16];
    let filled = crate::imports::fill_randomly(&mut id);
    filled.map_err(|_| MigrationError::Node("the operating system has no random bytes".to_owned()))?;
    Ok(MigrationId(id))
}

struct Source<'a> {
    control: &'a GuestControl,
    channel: SharedChannel,
    migration: MigrationId,
    /// Bytes of pages.
    copied: usize,
    /// Its entities.
    outline: Option<Box<State>>,
}

impl Source<'_> {
    fn migrate(
        &mut self,
        options: MigrationOptions,
        reach: &mut Reach<'_>,
    ) -> Result<Migrated, MigrationError> {
        let moment = self.look_first(options)?.go_on().ok_or_else(ended)?;
        let links = moment.links;
        let outline = moment.state.outline();
        self.outline = Some(Box::new(outline.clone()));
        let offer = Offer {
            version: VERSION,
            migration: self.migration,
            module: self.control.module(),
            nodes: self.control.node_names(),
            state: Box::new(outline),
        };
        self.send(&Greeting::Offer(Box::new(offer)))?;
        match self.receive()? {
            ToSource::Accepted => {}
            other => return Err(unexpected(other)),
        }
        let memory = self.copy_while_running(moment.memory, links, options)?;
        let copied = std::mem::take(&mut self.copied);
        let (suspended, began, mut moment) = self.suspend_idle(memory, options)?;
        let state = match self.cut(&mut moment) {
            Ok(state) => state,
            Err(error) => {
                self.abort(reach);
                return Err(error);
            }
        };
        self.commit(reach)?;
        let channel = self.channel.clone();
        let positions = moment.state.positions();
        suspended.leave(Box::new(move |host| hand_over(host, HandOver { channel, positions })));
        Ok(Migrated { copied, copied_suspended: self.copied, state, suspended: began.elapsed() })
    }

    /// Copies memory until it changes little, and until the target has the links that the source has.
    fn copy_while_running(
        &mut self,
        mut memory: Box<MemoryCopy>,
        mut links: Vec<(u32, u32)>,
        options: MigrationOptions,
    ) -> Result<Box<MemoryCopy>, MigrationError> {
        let until = Instant::now() + options.links;
        for round in 1.. {
            let changed = self.send_changed(&mut memory)?;
            self.send(&ToTarget::Links)?;
            let of_target = match self.receive_within(COPYING)? {
                ToSource::Links(of_target) => of_target,
                other => return Err(unexpected(other)),
            };
            let missing = missing_links(&links, &of_target);
            if missing.is_none() && (changed <= FEW_PAGES || round >= MOST_ROUNDS) {
                break;
            }
            if let Some((handle, here, there)) = missing
                && Instant::now() > until
            {
                let what = self.outline.as_ref().map_or_else(String::new, |outline| outline.describe(handle));
                return Err(MigrationError::Links(format!(
                    "{what} is linked to {here} peers here and {there} there"
                )));
            }
            if missing.is_some() {
                thread::sleep(ROUND);
            }
            let moment = self.look(memory)?.go_on().ok_or_else(ended)?;
            (memory, links) = (moment.memory, moment.links);
        }
        Ok(memory)
    }

    /// Sends what the suspended node is. Returns the length of it but for the memory.
    fn cut(&mut self, moment: &mut Moment) -> Result<usize, MigrationError> {
        self.send_changed(&mut moment.memory)?;
        let pages = moment.memory.page_count();
        let state = self.send_cut(moment, pages)?;
        match self.receive()? {
            ToSource::Prepared => Ok(state),
            other => Err(unexpected(other)),
        }
    }

    /// The node goes on here. A target that does not learn it waits for a decision of the user.
    fn abort(&self, reach: &mut Reach<'_>) {
        let until = Instant::now() + ABORT;
        let mut is_known = false;
        if self.channel.send(&ToTarget::Abort).is_ok() {
            while !is_known && Instant::now() < until {
                match self.channel.receive(ABORT) {
                    Ok(Some(ToSource::Unknown | ToSource::Refused(_))) => is_known = true,
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                }
            }
        }
        if !is_known {
            self.is_aborted_there(reach);
        }
    }

    /// Suspends the node where it executes no goals of others.
    fn suspend_idle(
        &self,
        mut memory: Box<MemoryCopy>,
        options: MigrationOptions,
    ) -> Result<(SuspendedMoment, Instant, Moment), MigrationError> {
        let until = Instant::now() + options.idle;
        loop {
            let began = Instant::now();
            let mut suspended = self.look(memory)?;
            let Some(moment) = suspended.take_moment() else { return Err(ended()) };
            if moment.goals == 0 {
                return Ok((suspended, began, moment));
            }
            let _ = suspended.go_on();
            if Instant::now() > until {
                let why = format!("it executes {} goals, which do not move", moment.goals);
                return Err(MigrationError::Node(why));
            }
            memory = moment.memory;
            thread::sleep(ROUND);
        }
    }

    /// Suspends the node.
    fn look(&self, memory: Box<MemoryCopy>) -> Result<SuspendedMoment, MigrationError> {
        let suspended = self.try_look(memory)?;
        suspended.ok_or_else(|| MigrationError::Node("the host that it has left still serves it".to_owned()))
    }

    /// Suspends the node for the first time, once the host that it has left does not serve it any more.
    fn look_first(&self, options: MigrationOptions) -> Result<SuspendedMoment, MigrationError> {
        let until = Instant::now() + options.idle;
        while Instant::now() < until {
            if let Some(suspended) = self.try_look(Box::default())? {
                return Ok(suspended);
            }
            thread::sleep(ROUND);
        }
        self.look(Box::default())
    }

    fn try_look(&self, memory: Box<MemoryCopy>) -> Result<Option<SuspendedMoment>, MigrationError> {
        self.control.suspend_to_move(memory, SUSPENSION).map_err(|error| match error {
            GuestError::Checkpoint { why, .. } => MigrationError::Node(why),
            other => MigrationError::Node(other.to_string()),
        })
    }

    /// Sends the pages that have changed. Returns their number.
    fn send_changed(&mut self, memory: &mut MemoryCopy) -> Result<usize, MigrationError> {
        let (mut pages, mut bytes, mut count): (Vec<Page>, usize, usize) = (Vec::new(), 0, 0);
        for page in memory.take_changed() {
            bytes += page.block.len();
            self.copied += page.block.len();
            count += 1;
            pages.push(page);
            if bytes >= PAGES_AT_ONCE {
                self.send(&ToTarget::Pages(std::mem::take(&mut pages)))?;
                bytes = 0;
            }
        }
        if !pages.is_empty() {
            self.send(&ToTarget::Pages(pages))?;
        }
        Ok(count)
    }

    /// Sends the state but for the memory. Returns its length.
    fn send_cut(&self, moment: &Moment, pages: u32) -> Result<usize, MigrationError> {
        let length = postcard::to_allocvec(&moment.state).map_or(0, |bytes| bytes.len());
        let state = Box::new(moment.state.clone());
        self.send(&ToTarget::Cut { state, pages })?;
        Ok(length)
    }

    /// Lets the target run the node. Until it has answered, neither host may.
    fn commit(&mut self, reach: &mut Reach<'_>) -> Result<(), MigrationError> {
        let mut why = match self.send(&ToTarget::Commit).and_then(|()| self.receive()) {
            Ok(ToSource::Committed) => return Ok(()),
            Ok(ToSource::Refused(why)) => return Err(MigrationError::Refused(why)),
            Ok(other) => unexpected(other).to_string(),
            Err(error) => error.to_string(),
        };
        loop {
            if self.control.has_ended() {
                return Err(ended());
            }
            (reach.report_doubt)(&why);
            match reach.resolutions.recv_timeout(RETRY) {
                Ok(Resolution::Source) if self.is_aborted_there(reach) => {
                    return Err(MigrationError::Resolved);
                }
                // It has gone on there.
                Ok(Resolution::Source) => return Ok(()),
                Ok(Resolution::Target) => return Ok(()),
                Err(_) => {}
            }
            match self.ask_again(reach) {
                Ok(ToSource::Committed) => return Ok(()),
                Ok(ToSource::Refused(why)) => return Err(MigrationError::Refused(why)),
                Ok(ToSource::Unknown) => {
                    let why = "the node has not gone on there";
                    return Err(MigrationError::Broken(why.to_owned()));
                }
                Ok(other) => why = unexpected(other).to_string(),
                Err(error) => why = error.to_string(),
            }
        }
    }

    /// Reaches the target by another channel. It commits itself if it has not.
    fn ask_again(&mut self, reach: &mut Reach<'_>) -> Result<ToSource, MigrationError> {
        self.channel = (reach.reconnect)().map_err(MigrationError::Broken)?;
        let (version, migration) = (VERSION, self.migration);
        self.send(&Greeting::Return { version, migration, is_aborted: false })?;
        match self.receive()? {
            ToSource::Prepared => {
                self.send(&ToTarget::Commit)?;
                self.receive()
            }
            answer => Ok(answer),
        }
    }

    /// Lets the target forget the node. False if it says that the node has gone on there. A target that cannot be reached
    /// does not: the user has decided for both, or the node was not committed.
    fn is_aborted_there(&self, reach: &mut Reach<'_>) -> bool {
        let Ok(channel) = (reach.reconnect)() else { return true };
        let (version, migration) = (VERSION, self.migration);
        let sent = channel.send(&Greeting::Return { version, migration, is_aborted: true });
        let answer = sent.and_then(|()| channel.receive(ABORT));
        !matches!(answer, Ok(Some(ToSource::Committed)))
    }

    fn send(&self, message: &impl Serialize) -> Result<(), MigrationError> {
        self.channel.send(message).map_err(MigrationError::Broken)
    }

    fn receive(&self) -> Result<ToSource, MigrationError> {
        self.receive_within(ANSWER)
    }

    fn receive_within(&self, time: Duration) -> Result<ToSource, MigrationError> {
        match self.channel.receive(time) {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(MigrationError::Broken(format!("no answer within {time:?}"))),
            Err(why) => Err(MigrationError::Broken(why)),
        }
    }
}

/// An entity that the target has fewer links of: its handle, and the links of the source and of the target.
fn missing_links(here: &[(u32, u32)], there: &[(u32, u32)]) -> Option<(u32, u32, u32)> {
    let of_target = |handle: u32| there.iter().find(|(of, _)| *of == handle).map_or(0, |(_, count)| *count);
    let counts = here.iter().map(|(handle, count)| (*handle, *count, of_target(*handle)));
    counts.into_iter().find(|(_, here, there)| there < here)
}

fn unexpected(answer: ToSource) -> MigrationError {
    match answer {
        ToSource::Refused(why) => MigrationError::Refused(why),
        _ => MigrationError::Broken("it answered out of turn".to_owned()),
    }
}

fn ended() -> MigrationError {
    MigrationError::Node("it has ended".to_owned())
}
