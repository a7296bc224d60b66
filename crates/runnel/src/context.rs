//! The context: what all nodes of a process share.

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
use crate::environment::{GRAPHS_VARIABLE, Graphs, Settings, chosen_graphs, default_master};
use crate::error::Error;
use crate::ipc::Pool;
use crate::linger::Linger;
use crate::log_output::console;
use crate::polling::PollingPolicy;
use crate::ready::{ExecutorQueues, ReadyQueue};
use crate::receive_budget::ReceiveBudget;
use crate::shared::{GLANCE, Shared};
use crate::simulation::Simulation;
use crate::sync::{Class, Mutex};
use crate::turning::Turning;
use crate::variables::variable;

/// Bytes of shared memory that long messages may take, and those that one other process may hold of them.
const SHARED_MEMORY: [usize; 2] = [256 << 20, 64 << 20];

/// How a context is made: begin with the default and say what is to differ.
#[derive(Clone, Debug)]
pub struct ContextOptions {
    arguments: Vec<String>,
    master: Option<String>,
    signals: bool,
    polling: PollingPolicy,
    rosout: bool,
    sim_time: bool,
    ipc: bool,
    shared_memory: [usize; 2],
    receive_budget: Option<usize>,
    receive_timeout: Option<Duration>,
    graphs: Graphs,
    domain: Option<u16>,
    master_comes_later: bool,
    linger: Option<Duration>,
}

impl Default for ContextOptions {
    /// The process's own arguments, signals caught, blocking; nodes log to `/rosout` and follow simulated time.
    fn default() -> Self {
        // No name of ROS has what is not UTF-8, so that an argument which concerns ROS is refused by name.
        let arguments = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        Self {
            arguments: arguments.collect(),
            master: None,
            signals: true,
            polling: PollingPolicy::Block,
            rosout: true,
            sim_time: true,
            ipc: true,
            shared_memory: SHARED_MEMORY,
            receive_budget: None,
            receive_timeout: None,
            graphs: Graphs::default(),
            domain: None,
            master_comes_later: false,
            linger: None,
        }
    }
}

impl ContextOptions {
    /// The default, in the graphs that the user chooses: by one of the arguments `--ros1`, `--ros2` and `--both`, or by the variable
    /// `RUNNEL_GRAPHS`, which holds one of `ros1`, `ros2` and `both`. The argument wins, and [`Context::arguments`] does not have
    /// it. Without either it is ROS 1.
    ///
    /// ```no_run
    /// # use runnel::{Context, ContextOptions};
    /// # fn main() -> Result<(), runnel::Error> {
    /// let context = Context::with_options(ContextOptions::from_args()?)?;     // hello --ros2
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the variable names no graphs.
    pub fn from_args() -> Result<Self, Error> {
        let mut options = Self::default();
        let arguments = std::mem::take(&mut options.arguments);
        let (graphs, rest) = chosen_graphs(arguments, variable(GRAPHS_VARIABLE).as_deref())?;
        Ok(Self { arguments: rest, graphs: graphs.unwrap_or_default(), ..options })
    }

    /// Command-line arguments, without the program's name: remappings and the like are taken from them.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.arguments = arguments.into_iter().map(Into::into).collect();
        self
    }

    /// The master, whatever arguments and the environment say.
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

    /// Whether nodes publish what they log on `/rosout`, and have services by which their levels are set.
    #[must_use]
    pub fn rosout(mut self, published: bool) -> Self {
        self.rosout = published;
        self
    }

    /// Whether links to processes of the same host and user leave the network for shared memory by themselves.
    #[must_use]
    pub fn ipc(mut self, used: bool) -> Self {
        self.ipc = used;
        self
    }

    /// Bytes of shared memory that long messages of this context's publishers may take in all, and those that one other
    /// process may hold of them at a time; 256 MiB and 64 MiB at first. What
    /// [`PublisherBase::reserve`](crate::PublisherBase::reserve) makes comes on top of both. Past that, messages are copied.
    #[must_use]
    pub fn shared_memory(mut self, bytes: usize, of_one_process: usize) -> Self {
        self.shared_memory = [bytes, of_one_process];
        self
    }

    /// Bytes of memory that messages of ROS 1 may take while they arrive, over all links of this context together; by default
    /// as `RUNNEL_RECEIVE_BUDGET` says, or 256 MiB. At least 1 MiB. A longer message is refused. When the budget is used up,
    /// the remote address that holds most of it loses the link that has held most for longest. Queues of whole messages do
    /// not count.
    #[must_use]
    pub fn receive_budget(mut self, bytes: usize) -> Self {
        self.receive_budget = Some(bytes);
        self
    }

    /// How long a message of ROS 1 may make no progress while it arrives, and a service's client take nothing of its
    /// answer, before the link is closed; by default as `RUNNEL_RECEIVE_TIMEOUT` says, or 30 s. At least 100 ms.
    #[must_use]
    pub fn receive_timeout(mut self, timeout: Duration) -> Self {
        self.receive_timeout = Some(timeout);
        self
    }

    /// The graphs that nodes are in: that of ROS 1 if nothing is said.
    #[must_use]
    pub fn graphs(mut self, graphs: Graphs) -> Self {
        self.graphs = graphs;
        self
    }

    /// The domain of ROS 2, 0 to 232, whatever `ROS_DOMAIN_ID` says: only nodes of one domain meet.
    #[must_use]
    pub fn domain_id(mut self, domain: u16) -> Self {
        self.domain = Some(domain);
        self
    }

    /// Whether a master need not be there yet. Nodes join the ROS 1 graph when it answers, as they do anyway; until it has
    /// answered them once, neither making publishers, subscriptions and the like nor the end of a node waits for it, and no
    /// warning says that it does not answer. What is asked of the master itself, such as parameters, waits as ever.
    #[must_use]
    pub fn master_comes_later(mut self, later: bool) -> Self {
        self.master_comes_later = later;
        self
    }

    /// How long at most the end of the program, or of publishers, waits for messages that have not arrived at reliable
    /// subscriptions of ROS 2, or wait in a link of ROS 1. What is left then is reported. A signal ends the wait. If nothing is
    /// said, the environment's `RUNNEL_LINGER` in seconds counts, else it is 1 s.
    #[must_use]
    pub fn linger(mut self, time: Duration) -> Self {
        self.linger = Some(time);
        self
    }

    /// Whether nodes follow `/clock` while the parameter `/use_sim_time` is true.
    #[must_use]
    pub fn sim_time(mut self, followed: bool) -> Self {
        self.sim_time = followed;
        self
    }
}

/// What all nodes of a process share: the driver that serves them, and the end of the program.
///
/// Cloning gives another handle to the same context.
#[derive(Clone)]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
}

impl Context {
    /// A context of the process's arguments and environment.
    ///
    /// # Errors
    /// When an argument or variable that concerns ROS is malformed, or descriptors run out.
    pub fn new() -> Result<Self, Error> {
        Self::with_options(ContextOptions::default())
    }

    /// A context made as `options` say.
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn with_options(options: ContextOptions) -> Result<Self, Error> {
        let mut arguments = Arguments::parse(options.arguments)?;
        arguments.master = options.master.or(arguments.master);
        for argument in arguments.not_followed() {
            console::warning!("not followed yet: {argument}");
        }
        let mut settings = Settings::read(&arguments, options.graphs)?;
        settings.ipc = settings.ipc.filter(|_| options.ipc);
        if let Some(ros1) = &mut settings.ros1 {
            ros1.master_comes_later = options.master_comes_later;
        }
        if let (Some(ros2), Some(domain)) = (&mut settings.ros2, options.domain) {
            ros2.domain = domain;
        }
        settings.receive = settings.receive.with(options.receive_budget, options.receive_timeout);
        let linger = Linger::new(options.linger)?;
        let reactor = Arc::new(Reactor::new()?);
        let waker = reactor.waker().clone();
        let stop = Arc::new(AtomicBool::new(false));
        let interrupts = if options.signals { Some(Interrupts::catch(&stop, &waker)?) } else { None };
        let ready = Arc::new(ReadyQueue::new(waker.clone()));
        let simulation = Arc::new(Simulation::new(Arc::clone(&ready)));
        let (timers, clock) = (Arc::clone(&simulation.timers), Arc::clone(&simulation.clock));
        let [limit, share] = options.shared_memory;
        let pool = Arc::new(Pool::new(limit, share));
        let (turned, ended, memory) = (Arc::clone(&reactor), Arc::clone(&stop), Arc::clone(&pool));
        let driver = Driver::new(turned, ended, simulation, memory, &settings);
        let shared = Shared {
            turning: Arc::new(Turning::new(driver, Arc::clone(&stop), waker)),
            ready,
            executors: ExecutorQueues::new(),
            reactor,
            pool,
            timers,
            clock,
            rosout: options.rosout,
            sim_time: options.sim_time,
            arguments,
            settings,
            polling: options.polling,
            stop,
            client: Mutex::new(Class::RpcClient, None),
            last_words: Mutex::new(Class::ShutdownHooks, Vec::new()),
            on_shutdown: Mutex::new(Class::ShutdownCallbacks, Vec::new()),
            linger,
            interrupts,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What is left of the command line once ROS has taken its arguments.
    pub fn arguments(&self) -> &[String] {
        &self.shared.arguments.rest
    }

    /// The graphs that its nodes are in.
    pub fn graphs(&self) -> Graphs {
        self.shared.settings.graphs()
    }

    /// The master's URI; where the context is not in the ROS 1 graph, the one that a master has if nobody says another.
    pub fn master_uri(&self) -> &Uri {
        match &self.shared.settings.ros1 {
            Some(ros1) => &ros1.master,
            None => default_master(),
        }
    }

    /// The domain of ROS 2 whose nodes it meets; `None` if it is in ROS 1 alone.
    pub fn domain_id(&self) -> Option<u16> {
        self.shared.settings.ros2.as_ref().map(|ros2| ros2.domain)
    }

    /// The memory that messages of ROS 1 take while they arrive, and how many were given up: see
    /// [`ContextOptions::receive_budget`].
    pub fn receive_budget(&self) -> ReceiveBudget {
        self.shared.turning.driver().receive_budget()
    }

    /// Now, in ROS time: by the wall clock or, while the parameter `/use_sim_time` is true, as `/clock` tells.
    pub fn now(&self) -> Time {
        self.shared.clock.now()
    }

    /// Whether time is simulated: told by `/clock`.
    pub fn ros_time_is_active(&self) -> bool {
        self.shared.clock.is_simulated()
    }

    /// Serves all nodes for `duration` of ROS time without running callbacks. Unlike a plain sleep it sees the end of
    /// the context. It ends early when simulated time jumps back.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn sleep(&self, duration: Duration) -> Result<(), Error> {
        if !self.ros_time_is_active() {
            return self.sleep_wall(duration);
        }
        // Before the time is known, no time of it can pass.
        self.pass_simulated_time(|now| now.is_zero())?;
        self.sleep_until(self.now() + duration.into())
    }

    /// As [`Context::sleep`], until a time.
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

    /// As [`Context::sleep`], whatever `/clock` tells.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn sleep_wall(&self, duration: Duration) -> Result<(), Error> {
        self.shared.turning.pass_time(clock::monotonic() + duration)?;
        self.shared.turning.finish_wait();
        Ok(())
    }

    /// Waits while the time is one of those.
    pub(crate) fn pass_simulated_time(&self, goes_on: impl Fn(Time) -> bool) -> Result<(), Error> {
        let _asleep = self.shared.clock.sleep();
        while self.ok() && self.ros_time_is_active() && goes_on(self.now()) {
            self.shared.turning.turn_waiting(clock::monotonic() + GLANCE)?;
        }
        self.shared.turning.finish_wait();
        Ok(())
    }

    /// False once the context shuts down.
    pub fn ok(&self) -> bool {
        self.shared.ok()
    }

    /// Ends spinning, on whichever threads.
    pub fn shutdown(&self) {
        self.shared.shutdown();
    }

    /// Has `callback` run when spinning ends or, without any, when the context is dropped. By then its nodes have left the
    /// graph: what is to be published last is published before.
    pub fn on_shutdown(&self, callback: impl FnOnce() + Send + 'static) {
        self.shared.on_shutdown(Box::new(callback));
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("master", self.master_uri()).finish_non_exhaustive()
    }
}
