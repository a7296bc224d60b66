//! ROS time: the wall clock, or a simulated one that `/clock` tells while the parameter `/use_sim_time` is true.

use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use runnel_core::qos::QoS;
use runnel_core::time::Time;
use runnel_io::clock;
use runnel_msgs::rosgraph_msgs::Clock;

use crate::announced::Topic;
use crate::data::{Delivery, QosEvents, ReadyQueue, SubscriptionCore, When};
use crate::timers::Timers;

/// The parameter that says whether time is simulated.
pub(crate) const USE_SIM_TIME: &str = "/use_sim_time";

/// The parameter of a node that says so in ROS 2.
pub(crate) const USE_SIM_TIME_ROS2: &str = "use_sim_time";

/// The topic that tells simulated time.
pub(crate) const CLOCK: &str = "/clock";

/// The time of all nodes of a context.
#[derive(Debug, Default)]
pub(crate) struct RosClock {
    simulated: AtomicBool,
    /// What was told last, in nanoseconds; 0 before.
    told: AtomicI64,
    /// Threads that wait for it to go on.
    sleepers: AtomicUsize,
}

impl RosClock {
    /// Now. Simulated time is 0 until somebody tells it.
    pub(crate) fn now(&self) -> Time {
        if self.is_simulated() {
            Time::from_nanos(self.told.load(Ordering::Acquire))
        } else {
            clock::realtime()
        }
    }

    /// Whether time is simulated.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulated.load(Ordering::Acquire)
    }

    /// The caller waits for the time to go on, until what is given back is dropped.
    pub(crate) fn sleep(&self) -> impl Drop + '_ {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        Sleeper(self)
    }
}

struct Sleeper<'a>(&'a RosClock);

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.0.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The simulated clock and what it moves.
pub(crate) struct Simulation {
    pub(crate) clock: Arc<RosClock>,
    pub(crate) timers: Arc<Timers>,
    ready: Arc<ReadyQueue>,
}

impl Simulation {
    /// A clock that is not simulated yet, and no timers.
    pub(crate) fn new(ready: Arc<ReadyQueue>) -> Self {
        let clock = Arc::new(RosClock::default());
        Self { timers: Arc::new(Timers::new(Arc::clone(&clock))), clock, ready }
    }

    /// From now on time is simulated, or no longer.
    pub(crate) fn set(&self, simulated: bool) {
        if self.clock.simulated.swap(simulated, Ordering::AcqRel) != simulated {
            self.clock.told.store(0, Ordering::Release);
            self.timers.simulate(simulated);
            self.wake_sleepers();
        }
    }

    fn wake_sleepers(&self) {
        if self.clock.sleepers.load(Ordering::SeqCst) > 0 {
            self.ready.wake_all();
        }
    }

    fn tell(&self, now: Time) {
        self.clock.told.store(now.as_nanos(), Ordering::SeqCst);
        self.timers.tell(now, &self.ready);
        self.wake_sleepers();
    }

    /// The topic `/clock`, and the subscription to it. It hears at once, also in a program that never spins.
    pub(crate) fn subscription(self: &Arc<Self>) -> (Topic, QoS, Arc<SubscriptionCore>) {
        let (topic, qos) = (Topic::of::<Clock>(CLOCK.to_owned()), QoS::keep_last(1).best_effort());
        let options = topic.subscription_options(qos, Some(TypeId::of::<Clock>()));
        let simulation = Arc::clone(self);
        let core = SubscriptionCore::new(options, When::AtOnce, QosEvents::default(), move |delivery| {
            match delivery {
                Delivery::Bytes { bytes, from, .. } => {
                    let mut told = Clock::default();
                    from.read_into(&mut told, bytes)?;
                    simulation.tell(told.clock);
                }
                Delivery::Shared(shared) => {
                    shared.downcast_ref().into_iter().for_each(|told: &Clock| simulation.tell(told.clock));
                }
            }
            Ok(())
        });
        (topic, qos, core)
    }
}
