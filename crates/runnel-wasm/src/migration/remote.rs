//! The former host of a node, as the node's host knows it: it passes on what it still receives, and answers what it had
//! received.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use runnel::core::time::Instant;
use runnel_io::clock;

use super::channel::SharedChannel;
use super::message::{Relayed, ToSource, ToTarget};
use crate::checkpoint::State;
use crate::host::{Entity, Event, EventKind, FormerHost, Host};
use crate::imports;
use crate::refusal::Refused;
use crate::streams::{Arrived, Step};

/// See the module's documentation.
pub struct Remote {
    channel: SharedChannel,
    /// Requests that it answers: the number here, and there.
    requests: BTreeMap<u64, u64>,
    /// Calls and goals of the guest that it has sent, and the entities that get the answers.
    calls: BTreeMap<u64, u32>,
    goals: BTreeMap<u64, u32>,
    /// Subscriptions whose streams may have yet to meet.
    joining: BTreeSet<u32>,
    due: Option<Instant>,
}

impl Remote {
    pub fn new(channel: SharedChannel, state: &State) -> Self {
        let joining = state.positions().into_iter().map(|(handle, _)| handle);
        Self {
            channel,
            requests: state.requests.iter().map(|(id, _)| (*id, *id)).collect(),
            calls: state.calls.iter().copied().collect(),
            goals: state.goals.iter().copied().collect(),
            joining: joining.collect(),
            due: None,
        }
    }
}

impl FormerHost for Remote {
    fn poll(&mut self, host: &mut Host) -> bool {
        loop {
            match self.channel.receive::<ToTarget>(Duration::ZERO) {
                Ok(Some(ToTarget::Relay(relayed))) => self.take(host, relayed),
                Ok(Some(ToTarget::End)) | Err(_) => {
                    self.end(host);
                    return false;
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
            }
        }
        self.join(host, clock::monotonic());
        true
    }

    fn respond(&mut self, id: u64, response: Result<&[u8], &str>) -> bool {
        let Some(id) = self.requests.remove(&id) else { return false };
        // A host that is gone has no clients.
        let _ = self.channel.send(&match response {
            Ok(response) => ToSource::Respond { id, response: response.to_vec() },
            Err(why) => ToSource::Refuse { id, why: why.to_owned() },
        });
        true
    }

    fn cancel_goal(&self, id: u64) -> bool {
        self.goals.contains_key(&id) && self.channel.send(&ToSource::CancelGoal { id }).is_ok()
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }
}

impl Remote {
    /// Takes what the former host has passed on.
    pub fn take(&mut self, host: &mut Host, relayed: Relayed) {
        let now = clock::monotonic();
        match relayed {
            Relayed::Message { subscription, publisher, number, digest, event } => {
                if let Some(Entity::Subscription(entity)) = host.entities.get(subscription) {
                    let message = event.into_message_of(subscription);
                    entity.incoming.receive_relayed(Arrived { publisher, number, digest, message }, now);
                }
            }
            Relayed::EndOfMessages { subscription, publisher } => {
                if let Some(Entity::Subscription(entity)) = host.entities.get(subscription) {
                    entity.incoming.end_of_relayed(&publisher);
                }
            }
            Relayed::Request { service, id, name, request } => {
                let Ok(entity) = host.entities.service(service) else {
                    _ = self.channel.send(&ToSource::Refuse { id, why: "the service has ended".to_owned() });
                    return;
                };
                if !entity.requests.receive_relayed(name) {
                    _ = self.channel.send(&ToSource::Discard { id });
                    return;
                }
                let own = host.events.next_id();
                self.requests.insert(own, id);
                host.events.push_always(Event::new(EventKind::Request, service, own).payload(request));
            }
            Relayed::Answer(event) => self.answer(host, event),
        }
    }

    fn answer(&mut self, host: &mut Host, event: Event) {
        let is_expected = match event.kind {
            EventKind::Response => self.calls.remove(&event.id).is_some(),
            EventKind::GoalResult => self.goals.remove(&event.id).is_some(),
            EventKind::Feedback => self.goals.contains_key(&event.id),
            EventKind::Parameter => imports::set_parameter(host, event.handle, &event.payload).is_ok(),
            _ => false,
        };
        if is_expected {
            host.events.push_always(event);
        }
    }

    /// Asks the former host for what is missing.
    fn join(&mut self, host: &Host, now: Instant) {
        self.due = None;
        let (channel, due) = (&self.channel, &mut self.due);
        self.joining.retain(|subscription| {
            let subscription = *subscription;
            let Some(Entity::Subscription(entity)) = host.entities.get(subscription) else { return false };
            let next = entity.incoming.handle_timeout(now);
            for step in entity.incoming.take_steps() {
                // That it is gone is noticed with the next frame.
                let _ = match step {
                    Step::Ask { publisher, before } => {
                        channel.send(&ToSource::Ask { subscription, publisher, before })
                    }
                    Step::Enough(publisher) => channel.send(&ToSource::Enough { subscription, publisher }),
                    Step::Deliver(_) => Ok(()),
                };
            }
            *due = [*due, next].into_iter().flatten().min();
            true
        });
    }

    /// The former host passes on no more.
    fn end(&mut self, host: &mut Host) {
        for (_, slot) in host.entities.all() {
            match slot {
                Some((Entity::Subscription(subscription), _)) if !subscription.incoming.end_joining() => {
                    log::warn!(
                        "the former host of a node has ended before it was known which messages both hosts had \
                         received: some may be lost or doubled"
                    );
                }
                Some((Entity::Service(service), _)) => service.requests.end_joining(),
                _ => {}
            }
        }
        let calls =
            std::mem::take(&mut self.calls).into_iter().map(|(id, client)| (EventKind::Response, client, id));
        let goals = std::mem::take(&mut self.goals)
            .into_iter()
            .map(|(id, client)| (EventKind::GoalResult, client, id));
        for (kind, handle, id) in calls.chain(goals) {
            let text = b"the host that the node has left ended before the answer came".to_vec();
            let status = Refused::Unavailable.status();
            host.events.push_always(Event::new(kind, handle, id).status(status).payload(text));
        }
    }
}
