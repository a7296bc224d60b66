//! Context: the state that all nodes of a process share.

pub(crate) mod graph_queries;
#[cfg(feature = "master")]
pub(crate) mod master;
pub(crate) mod participant_queries;
#[cfg(feature = "master")]
pub(crate) mod persist;
pub(crate) mod rate;
mod ros1_graph;

use std::env;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use runnel_core::names::Arguments;
use runnel_core::time::Time;
use runnel_io::signals::Interrupts;
use runnel_io::{Reactor, clock};
use runnel_ros1::rpc::Uri;

use crate::driver::Driver;
use crate::error::Error;
use crate::ipc::Pool;
use crate::log_output::console;
use crate::ready::{ExecutorQueues, ReadyQueue};
use crate::runtime::event_loop::EventLoop;
use crate::runtime::polling::PollingPolicy;
use crate::runtime::shared::{NodeSetup, STOP_CHECK_INTERVAL, Shared};
use crate::runtime::spin_count::SpinCount;
use crate::runtime::standby_nodes::StandbyNodes;
use crate::settings::environment::{Graphs, Settings, default_master, log_destinations};
use crate::settings::linger::Linger;
use crate::settings::receive_budget::ReceiveBudget;
use crate::sync::{Class, Mutex};
use crate::time::simulation::Simulation;

/// Limits of shared memory in bytes: for long messages in all, and per receiving process.
const SHARED_MEMORY: [usize; 2] = [256 << 20, 64 << 20];

/// Options of a context. Begin with the default and change what differs.
#[derive(Clone, Debug)]
pub struct ContextOptions {
    pub(crate) arguments: Vec<String>,
    master: Option<String>,
    signals: bool,
    polling: PollingPolicy,
    rosout: bool,
    log_file: bool,
    sim_time: bool,
    ipc: bool,
    shared_memory: [usize; 2],
    receive_budget: Option<usize>,
    receive_timeout: Option<Duration>,
    pub(crate) graphs: Graphs,
    pub(crate) ros2_setup: Option<NodeSetup>,
    domain: Option<u16>,
    wait_for_master: bool,
    linger: Option<Duration>,
    standby: bool,
}

impl Default for ContextOptions {
    /// The process's own arguments, caught signals, blocking waits; nodes publish `/rosout` and follow simulated time.
    fn default() -> Self {
        // An invalid byte becomes a character that ROS names cannot have, so an error names the argument.
        let arguments = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        Self {
            arguments: arguments.collect(),
            master: None,
            signals: true,
            polling: PollingPolicy::Block,
            rosout: true,
            log_file: true,
            sim_time: true,
            ipc: true,
            shared_memory: SHARED_MEMORY,
            receive_budget: None,
            receive_timeout: None,
            graphs: Graphs::default(),
            ros2_setup: None,
            domain: None,
            wait_for_master: true,
            linger: None,
            standby: false,
        }
    }
}

impl ContextOptions {
    /// Command-line arguments without the program's name, with remappings and other ROS arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.arguments = arguments.into_iter().map(Into::into).collect();
        self
    }

    /// The master, with priority over arguments and the environment.
    #[cfg(feature = "master")]
    pub(crate) fn master(mut self, uri: &Uri) -> Self {
        self.master = Some(uri.to_string());
        self
    }

    /// Whether SIGINT and SIGTERM end spinning.
    #[must_use]
    pub fn signals(mut self, caught: bool) -> Self {
        self.signals = caught;
        self
    }

    /// How spinning threads wait.
    #[must_use]
    pub fn polling(mut self, policy: PollingPolicy) -> Self {
        self.polling = policy;
        self
    }

    /// Whether nodes publish their log on `/rosout`, and have the services that set logger levels.
    #[must_use]
    pub fn rosout(mut self, published: bool) -> Self {
        self.rosout = published;
        self
    }

    /// Whether nodes log to files: in ROS 2 to one file of the process in `~/.ros/log`, in ROS 1 to a file for each node
    /// if `ROS_LOG_DIR` is set. True by default. The argument `--disable-external-lib-logs` switches it off, too.
    #[must_use]
    pub fn log_file(mut self, written: bool) -> Self {
        self.log_file = written;
        self
    }

    /// Whether links between processes of one host and user switch to shared memory.
    #[must_use]
    pub fn ipc(mut self, used: bool) -> Self {
        self.ipc = used;
        self
    }

    /// Limits of shared memory for long messages of this context's publishers, in bytes: in all, and per receiving
    /// process; 256 MiB and 64 MiB by default. Memory from
    /// [`PublisherBase::preallocate`](crate::PublisherBase::preallocate) comes on top of both. Beyond the limits,
    /// messages are copied.
    #[must_use]
    pub fn shared_memory(mut self, bytes: usize, of_one_process: usize) -> Self {
        self.shared_memory = [bytes, of_one_process];
        self
    }

    /// Limit in bytes of incomplete ROS 1 messages over all links of this context; by default `RUNNEL_RECEIVE_BUDGET`,
    /// or 256 MiB. At least 1 MiB. A longer message is refused. When the budget is exceeded, the remote address that
    /// holds most of it loses the link with the highest cost. Queues of complete messages do not count.
    #[must_use]
    pub fn receive_budget(mut self, bytes: usize) -> Self {
        self.receive_budget = Some(bytes);
        self
    }

    /// How long an incomplete ROS 1 message may make no progress, and a service's client may read nothing of its
    /// response, before the link is closed; by default `RUNNEL_RECEIVE_TIMEOUT`, or 30 s. At least 100 ms.
    #[must_use]
    pub fn receive_timeout(mut self, timeout: Duration) -> Self {
        self.receive_timeout = Some(timeout);
        self
    }

    /// The ROS 2 domain, 0 to 232, instead of `ROS_DOMAIN_ID`. Only nodes of one domain discover each other.
    #[must_use]
    pub fn domain_id(mut self, domain: u16) -> Self {
        self.domain = Some(domain);
        self
    }

    /// Whether creating publishers, subscriptions and services, and dropping nodes, waits for a ROS 1 master that has
    /// not answered yet; true by default. With `false`, nodes still join the ROS 1 graph once the master answers, and
    /// there is no warning that it does not. Calls of the parameter API then wait for an answer, up to 10 s, and fail
    /// without a master; with `true`, those of a context that is only in ROS 1 wait until there is one.
    #[must_use]
    pub fn wait_for_master(mut self, wait: bool) -> Self {
        self.wait_for_master = wait;
        self
    }

    /// How long the end of the program or of publishers waits at most for messages that have not arrived at reliable
    /// ROS 2 subscriptions, or that wait in ROS 1 links. Messages that remain are reported. A signal ends the wait. By
    /// default the environment's `RUNNEL_LINGER` in seconds, or 1 s.
    #[must_use]
    pub fn linger(mut self, time: Duration) -> Self {
        self.linger = Some(time);
        self
    }

    /// Whether the nodes stand by to take the place of nodes of the same names, which still run: see
    /// [`Context::take_over`]. False by default.
    #[must_use]
    pub fn standby(mut self, stands_by: bool) -> Self {
        self.standby = stands_by;
        self
    }

    /// Whether nodes follow `/clock` while the parameter `/use_sim_time` is true.
    #[must_use]
    pub fn sim_time(mut self, followed: bool) -> Self {
        self.sim_time = followed;
        self
    }
}

/// The state that all nodes of a process share: the driver that serves them, and the shutdown of the program.
///
/// Cloning returns another handle to the same context.
#[derive(Clone)]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
}

impl Context {
    /// A context with the process's arguments and environment.
    ///
    /// # Errors
    /// If an argument or variable is malformed, or descriptors run out.
    pub fn new() -> Result<Self, Error> {
        Self::with_options(ContextOptions::default())
    }

    /// A context in these graphs, otherwise as [`Context::new`].
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn in_graphs(graphs: Graphs) -> Result<Self, Error> {
        Self::with_options(ContextOptions::default().graphs(graphs))
    }

    /// A context with options.
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn with_options(options: ContextOptions) -> Result<Self, Error> {
        let mut arguments = Arguments::parse(options.arguments)?;
        arguments.master = options.master.or(arguments.master);
        for argument in arguments.not_followed() {
            console::warning!("argument {argument} is not supported and is ignored");
        }
        let mut settings = Settings::read(&arguments, options.graphs)?;
        settings.ipc = settings.ipc.filter(|_| options.ipc);
        if let Some(ros1) = &mut settings.ros1 {
            ros1.wait_for_master = options.wait_for_master;
        }
        if let (Some(ros2), Some(domain)) = (&mut settings.ros2, options.domain) {
            ros2.domain = domain;
        }
        settings.receive = settings.receive.with(options.receive_budget, options.receive_timeout);
        let log_destinations = Arc::new(log_destinations(&arguments, options.graphs, options.log_file)?);
        let linger = Linger::new(options.linger)?;
        let reactor = Arc::new(Reactor::new()?);
        let waker = reactor.waker().clone();
        let stop = Arc::new(AtomicBool::new(false));
        let interrupts = if options.signals { Some(Interrupts::catch(&stop, &waker)?) } else { None };
        let ready = Arc::new(ReadyQueue::new(waker.clone()));
        let simulation = Arc::new(Simulation::new(Arc::clone(&ready)));
        let (timers, clock) = (Arc::clone(&simulation.timers), Arc::clone(&simulation.clock));
        let jumps = Arc::clone(&simulation.jumps);
        let [limit, share] = options.shared_memory;
        let pool = Arc::new(Pool::new(limit, share));
        let driver =
            Driver::new(Arc::clone(&reactor), Arc::clone(&stop), simulation, Arc::clone(&pool), &settings);
        let shared = Shared {
            event_loop: Arc::new(EventLoop::new(driver, Arc::clone(&stop), waker)),
            ready,
            executors: ExecutorQueues::new(),
            spin_count: SpinCount::default(),
            reactor,
            pool,
            timers,
            clock,
            jumps,
            rosout: options.rosout,
            log_destinations,
            sim_time: options.sim_time,
            ros2_setup: options.ros2_setup,
            arguments,
            settings,
            polling: options.polling,
            stop,
            client: Mutex::new(Class::RpcClient, None),
            shutdown_hooks: Mutex::new(Class::ShutdownHooks, Vec::new()),
            on_shutdown: Mutex::new(Class::ShutdownCallbacks, Vec::new()),
            linger,
            standby: StandbyNodes::new(options.standby),
            interrupts,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The command line without the ROS arguments.
    pub fn arguments(&self) -> &[String] {
        &self.shared.arguments.rest
    }

    /// The graphs in which the context's nodes are.
    pub fn graphs(&self) -> Graphs {
        self.shared.settings.graphs()
    }

    /// The master's URI; outside of the ROS 1 graph, the default URI of a master.
    pub fn master_uri(&self) -> &Uri {
        match &self.shared.settings.ros1 {
            Some(ros1) => &ros1.master,
            None => default_master(),
        }
    }

    /// The ROS 2 domain; `None` if the context is only in ROS 1.
    pub fn domain_id(&self) -> Option<u16> {
        self.shared.settings.ros2.as_ref().map(|ros2| ros2.domain)
    }

    /// The memory in use by incomplete ROS 1 messages, and how many were given up: see
    /// [`ContextOptions::receive_budget`].
    pub fn receive_budget(&self) -> ReceiveBudget {
        self.shared.event_loop.driver().receive_budget()
    }

    /// How long the end of the program or of publishers waits at most: see [`ContextOptions::linger`].
    pub fn linger(&self) -> Duration {
        self.shared.linger.time()
    }

    /// The current ROS time: the wall clock or, while the parameter `/use_sim_time` is true, the time on `/clock`.
    pub fn now(&self) -> Time {
        self.shared.clock.now()
    }

    /// Whether time is simulated, by `/clock`.
    pub fn ros_time_is_active(&self) -> bool {
        self.shared.clock.is_simulated()
    }

    /// Sleeps for `duration` of ROS time. Receives messages meanwhile, but runs no callbacks. Unlike a plain sleep, it
    /// ends with the context. It ends early if simulated time jumps back.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn sleep(&self, duration: Duration) -> Result<(), Error> {
        if !self.ros_time_is_active() {
            return self.sleep_wall(duration);
        }
        // No simulated time passes before the first message on `/clock`.
        self.pass_simulated_time(|now| now.is_zero())?;
        self.sleep_until(self.now() + duration.into())
    }

    /// Like [`Context::sleep`], until a time.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn sleep_until(&self, until: Time) -> Result<(), Error> {
        let start = self.now();
        if !self.ros_time_is_active() {
            let nanos = (until - start).as_nanos().max(0);
            return self.sleep_wall(Duration::from_nanos(nanos.unsigned_abs()));
        }
        self.pass_simulated_time(|now| start <= now && now < until)
    }

    /// Like [`Context::sleep`], by the wall clock.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn sleep_wall(&self, duration: Duration) -> Result<(), Error> {
        self.shared.event_loop.sleep_until(clock::monotonic() + duration)?;
        self.shared.event_loop.finish_wait();
        Ok(())
    }

    /// Waits while the simulated time satisfies a condition.
    pub(crate) fn pass_simulated_time(&self, may_continue: impl Fn(Time) -> bool) -> Result<(), Error> {
        let _asleep = self.shared.clock.sleep();
        while self.ok() && self.ros_time_is_active() && may_continue(self.now()) {
            self.shared.event_loop.poll_or_park(clock::monotonic() + STOP_CHECK_INTERVAL)?;
        }
        self.shared.event_loop.finish_wait();
        Ok(())
    }

    /// False once the context shuts down.
    pub fn ok(&self) -> bool {
        self.shared.ok()
    }

    /// Ends spinning on all threads.
    pub fn shutdown(&self) {
        self.shared.shutdown();
    }

    /// Registers a callback that runs when spinning ends or, without spinning, when the context is dropped. Its nodes
    /// have already left the graph then, so publish last messages before.
    pub fn on_shutdown(&self, callback: impl FnOnce() + Send + 'static) {
        self.shared.on_shutdown(Box::new(callback));
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("master", self.master_uri()).finish_non_exhaustive()
    }
}
