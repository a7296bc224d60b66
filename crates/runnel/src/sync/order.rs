//! The order of all locks of this crate.

macro_rules! in_order {
    ($($(#[$what:meta])+ $class:ident,)+) => {
        /// What a mutex protects, the outermost first: a thread that holds one locks only those below it. The table "Lock
        /// order" in ARCHITECTURE.md has each with these words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Class {
            $($(#[$what])+ $class,)+
        }

        impl Class {
            /// All, in order.
            #[cfg(any(debug_assertions, test))]
            pub(super) const ALL: &[Self] = &[$(Self::$class),+];
        }
    };
}

in_order! {
    /// The goal that a simple action server executes. Whether it is open is asked of the table of goals.
    SimpleGoal,
    /// The goals of an action server. Held while it publishes: clients are told in the order in which things happen.
    GoalTable,
    /// The publishers of a node by topic. Held while the driver adds or removes one.
    NodePublishers,
    /// The engine for calls that belong to no node. Held while the driver makes it.
    RpcClient,
    /// The link of a persistent client of a service.
    PersistentLink,
    /// What is told to peers before the nodes leave.
    ShutdownHooks,
    /// The user's shutdown callbacks.
    ShutdownCallbacks,
    /// The place of the thread that gets the driver next.
    DriverGate,
    /// The driver, which the thread that polls holds while it waits for I/O.
    Driver,
    /// The nodes of an executor. Held while one of them enters or leaves it.
    ExecutorNodes,
    /// The queues of the executors of a context.
    ExecutorQueues,
    /// The links of a topic's subscriptions to publishers.
    TopicLinks,
    /// The subscriptions of a node to a topic. Held while they are joined to publications of this process.
    TopicReaders,
    /// The topics that a node publishes. Held while a line is published on `/rosout`.
    RosoutTopics,
    /// A topic as a node publishes it. Held while a message is sent, so that all subscribers get all in one order.
    Publication,
    /// The publishers that share a writer, and their events.
    WriterPublishers,
    /// The readers that a writer has matched.
    MatchedReaders,
    /// The messages of a subscription.
    SubscriptionQueue,
    /// The requests of a service.
    ServiceRequests,
    /// The answers to one client of a service.
    ServiceAnswers,
    /// The answer to a call that is under way.
    PendingCall,
    /// How many publishers a subscription has matched.
    PublisherCounts,
    /// The statuses of the QoS of a publisher or a subscription.
    QosStatuses,
    /// The goals that an action client follows.
    ActionClient,
    /// One goal of an action client.
    ClientGoal,
    /// The RTPS participant, and which writers its user has.
    Rtps,
    /// An RTPS writer. Held while its datagrams are put into its outbox.
    RtpsWriter,
    /// When RTPS writers have something to do.
    RtpsWriterTimers,
    /// The datagrams that the participant or a writer has given and that are not sent yet.
    RtpsOutbox,
    /// The addresses of this host.
    RtpsAddresses,
    /// The interfaces on which groups of RTPS are joined.
    RtpsGroups,
    /// The sending end of a connection by shared memory.
    IpcSender,
    /// The ring by which slots of a peer's memory go back.
    IpcReturns,
    /// The segments of shared memory of this process.
    IpcPool,
    /// The timers. Held while those that are due enter the ready queue.
    Timers,
    /// The events that wait for a callback.
    EventQueue,
    /// The callbacks that wait for another of their group.
    CallbackGroup,
    /// The executor that a node is in.
    NodeExecutor,
    /// The callbacks that are ready to run.
    ReadyQueue,
    /// The waiters that an entity wakes when it becomes ready.
    Listeners,
    /// Whether a guard condition is triggered.
    GuardCondition,
    /// Signals of threads that wait while another polls.
    ParkedSignals,
    /// Whether the thread that waits for something is to look at it.
    Signal,
    /// The levels of a node's loggers.
    LoggerLevels,
    /// The log files that are open.
    OpenLogFiles,
    /// One log file.
    LogFile,
    /// Standard error.
    Console,
}
