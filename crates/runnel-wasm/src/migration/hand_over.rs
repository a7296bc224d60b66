//! What the source does after the target has committed itself: subscribers receive what the node has published here, then
//! the target speaks, and the source passes on what it still receives until the target needs nothing more.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use runnel_io::clock;

use super::channel::SharedChannel;
use super::message::{Relayed, ToSource, ToTarget};
use crate::host::{Entity, Event, EventKind, Host, name_of};
use crate::imports;
use crate::streams::{Arrived, Positions};
use crate::streams::{Passed, Passing};

/// How long subscribers may take to receive what was published: the target speaks then nevertheless.
const DRAINING: Duration = Duration::from_secs(2);

/// How long the source stays at least: peers may still send to it.
const STAY: Duration = Duration::from_secs(1);

/// Longest wait for something to do.
const STEP: Duration = Duration::from_millis(20);

/// A node that goes on at another host.
pub struct HandOver {
    pub channel: SharedChannel,
    /// What its subscriptions had received.
    pub positions: Vec<(u32, Positions)>,
}

/// Does what is left to do for a guest that has gone.
pub fn hand_over(host: &mut Host, hand_over: HandOver) {
    let HandOver { channel, positions } = hand_over;
    let waker = host.executor.waker();
    channel.set_on_received(move || waker.wake_by_ref());
    host.pace.set_absent(true);
    // The target has them.
    host.events.clear();
    for (handle, positions) in &positions {
        if let Some(Entity::Subscription(subscription)) = host.entities.get(*handle) {
            subscription.incoming.pass_on(positions);
        }
    }
    // They act by themselves, and the target creates them anew.
    close_all(host, |entity| matches!(entity, Entity::Timer(_) | Entity::ActionServer { .. }));
    let mut relay = Relay { channel, is_broken: false };
    drain(host, &mut relay);
    if let Err(error) = host.context.leave_place() {
        log::warn!("a node that has gone to another host cannot leave its place: {error}");
    }
    relay.send(&ToTarget::Speak);
    // Late subscribers get kept messages from the target.
    close_all(host, |entity| matches!(entity, Entity::Publisher(_)));
    relay.run(host);
    relay.send(&ToTarget::End);
}

/// Closes the entities of a kind.
fn close_all(host: &mut Host, is_meant: impl Fn(&Entity) -> bool) {
    let open = host.entities.all().filter_map(|(handle, slot)| Some((handle, slot?.0)));
    let meant: Vec<u32> = open.filter(|(_, entity)| is_meant(entity)).map(|(handle, _)| handle).collect();
    meant.into_iter().for_each(|handle| _ = imports::close(host, handle));
}

/// Waits until subscribers have received what was published.
fn drain(host: &mut Host, relay: &mut Relay) {
    let until = Instant::now() + DRAINING;
    for (_, slot) in host.entities.all() {
        if let Some((Entity::Publisher(publisher), _)) = slot {
            publisher.publisher.drain();
        }
    }
    let is_drained = |host: &Host| {
        let mut open = host.entities.all().filter_map(|(_, slot)| Some(slot?.0));
        open.all(|entity| match entity {
            Entity::Publisher(publisher) => publisher.publisher.is_drained(),
            _ => true,
        })
    };
    while !is_drained(host) && !host.pace.is_stopped() {
        if Instant::now() > until {
            log::warn!(
                "a node goes on at another host before subscribers have received all that it published here"
            );
            break;
        }
        relay.step(host, Duration::from_millis(1));
    }
}

/// Passes on what arrives for the guest.
struct Relay {
    channel: SharedChannel,
    is_broken: bool,
}

impl Relay {
    /// Until nothing is left to pass on.
    fn run(&mut self, host: &mut Host) {
        let until = Instant::now() + STAY;
        while !self.is_broken && !host.pace.is_stopped() && host.context.ok() {
            self.step(host, STEP);
            if Instant::now() > until && !has_work(host) {
                return;
            }
        }
    }

    fn step(&mut self, host: &mut Host, wait: Duration) {
        let _ = host.executor.spin_once(wait);
        self.handle_frames(host);
        let now = clock::monotonic();
        let open: Vec<u32> = host.entities.all().map(|(handle, _)| handle).collect();
        for subscription in open {
            self.pass_on_messages(host, subscription, now);
        }
        while let Some(event) = host.events.pop() {
            self.pass_on(host, event);
        }
    }

    fn pass_on_messages(&mut self, host: &Host, subscription: u32, now: runnel::core::time::Instant) {
        let Some(Entity::Subscription(entity)) = host.entities.get(subscription) else { return };
        entity.incoming.with_passing(|passing| passing.handle_timeout(now));
        for passed in entity.incoming.take_passed() {
            self.send(&ToTarget::Relay(match passed {
                Passed::Message(Arrived { publisher, number, digest, message: event }) => {
                    Relayed::Message { subscription, publisher, number, digest, event }
                }
                Passed::End(publisher) => Relayed::EndOfMessages { subscription, publisher },
            }));
        }
    }

    fn pass_on(&mut self, host: &Host, event: Event) {
        let relayed = match event.kind {
            EventKind::Request => {
                let pending = host.requests.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(request) = pending.get(&event.id) else { return };
                let name = name_of(&request.responder);
                Relayed::Request { service: event.handle, id: event.id, name, request: event.payload }
            }
            EventKind::Response | EventKind::Feedback | EventKind::GoalResult | EventKind::Parameter => {
                Relayed::Answer(event)
            }
            _ => return,
        };
        self.send(&ToTarget::Relay(relayed));
    }

    fn handle_frames(&mut self, host: &mut Host) {
        while !self.is_broken {
            match self.channel.receive::<ToSource>(Duration::ZERO) {
                Ok(Some(message)) => self.handle(host, message),
                Ok(None) => return,
                Err(_) => self.is_broken = true,
            }
        }
    }

    fn handle(&mut self, host: &mut Host, message: ToSource) {
        let with_passing = |subscription: u32, work: &mut dyn FnMut(&mut Passing<Event>)| {
            if let Some(Entity::Subscription(entity)) = host.entities.get(subscription) {
                entity.incoming.with_passing(work);
            }
        };
        match message {
            ToSource::Ask { subscription, publisher, before } => {
                let now = clock::monotonic();
                with_passing(subscription, &mut |passing| passing.ask(publisher.clone(), before, now));
            }
            ToSource::Enough { subscription, publisher } => {
                with_passing(subscription, &mut |passing| passing.enough(&publisher));
            }
            // The client may have gone.
            ToSource::Respond { id, response } => _ = imports::respond(host, id, &response),
            ToSource::Refuse { id, why } => _ = imports::refuse(host, id, &why),
            ToSource::Discard { id } => {
                let pending = host.requests.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                pending.into_iter().for_each(|request| request.responder.discard());
            }
            ToSource::CancelGoal { id } => _ = imports::cancel_goal(host, id),
            _ => {}
        }
    }

    fn send(&mut self, message: &ToTarget) {
        if !self.is_broken {
            self.is_broken = self.channel.send(message).is_err();
        }
    }
}

/// Whether peers wait for something, or the target needs messages of this host.
fn has_work(host: &Host) -> bool {
    let waits = host.calls.count() > 0
        || !host.requests.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
        || !host.goals.sent.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
    waits || {
        let mut open = host.entities.all().filter_map(|(_, slot)| Some(slot?.0));
        open.any(|entity| match entity {
            Entity::Subscription(subscription) => {
                subscription.incoming.with_passing(|passing| !passing.is_idle()).unwrap_or(false)
            }
            _ => false,
        })
    }
}
