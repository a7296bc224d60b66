//! Simulated time: the subscription to `/clock`, and the clock and timers that it sets.

use std::any::TypeId;
use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_core::time::Time;
use runnel_msgs::rosgraph_msgs::msg::Clock;

use crate::data::{Delivery, QosEvents, SubscriptionCore};
use crate::ready::{Dispatch, ReadyQueue};
use crate::time::ros_clock::{CLOCK, RosClock};
use crate::time::time_jumps::TimeJumps;
use crate::time::timers::Timers;
use crate::types::announced::Topic;

/// The simulated clock, and the timers that follow it.
pub(crate) struct Simulation {
    pub(crate) clock: Arc<RosClock>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) jumps: Arc<TimeJumps>,
    ready: Arc<ReadyQueue>,
}

impl Simulation {
    /// A clock that is not simulated yet, without timers.
    pub(crate) fn new(ready: Arc<ReadyQueue>) -> Self {
        let clock = Arc::new(RosClock::default());
        let timers = Arc::new(Timers::new(Arc::clone(&clock)));
        Self { timers, jumps: Arc::new(TimeJumps::new()), clock, ready }
    }

    /// Switches simulated time on or off.
    pub(crate) fn set(&self, simulated: bool) {
        if self.clock.set_simulated(simulated) {
            self.jumps.on_source_change(simulated);
            self.timers.simulate(simulated);
            self.wake_sleepers();
        }
    }

    fn wake_sleepers(&self) {
        if self.clock.has_sleepers() {
            self.ready.wake_all();
        }
    }

    fn set_time(&self, now: Time) {
        let before = self.clock.set(now);
        self.jumps.on_time(before, now);
        self.timers.set_simulated_time(now);
        self.wake_sleepers();
    }

    /// The topic `/clock`, and the subscription to it. Its callback runs inline, so also in a program that never
    /// spins.
    pub(crate) fn subscription(self: &Arc<Self>) -> (Topic, QoS, Arc<SubscriptionCore>) {
        let (topic, qos) = (Topic::of::<Clock>(CLOCK.to_owned()), QoS::keep_last(1).best_effort());
        let options = topic.subscription_options(qos, Some(TypeId::of::<Clock>()));
        let simulation = Arc::clone(self);
        let core = SubscriptionCore::new(options, Dispatch::Inline, QosEvents::default(), move |delivery| {
            match delivery {
                Delivery::Bytes { bytes, from, .. } => {
                    let mut message = Clock::default();
                    from.read_into(&mut message, bytes.bytes())?;
                    simulation.set_time(message.clock);
                }
                Delivery::Shared { message, .. } => {
                    message
                        .downcast_ref()
                        .into_iter()
                        .for_each(|message: &Clock| simulation.set_time(message.clock));
                }
            }
            Ok(())
        });
        (topic, qos, core)
    }
}
