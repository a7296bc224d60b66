//! Lock order: the classes of all locks of this crate.

macro_rules! in_order {
    ($($(#[$what:meta])+ $class:ident,)+) => {
        /// The object that a mutex protects, outermost first: a thread that holds one locks only those below it. The table
        /// "Lock order" in ARCHITECTURE.md has the same text for each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Class {
            $($(#[$what])+ $class,)+
        }

        impl Class {
            /// All classes, in order.
            #[cfg(any(debug_assertions, test))]
            pub(super) const ALL: &[Self] = &[$(Self::$class),+];
        }
    };
}

in_order! {
    /// The goal that a simple action server executes. The goal table knows whether it is open.
    SimpleGoal,
    /// The goals of an action server. Held while it publishes, so that clients get events in order.
    GoalTable,
    /// The static transforms that a node has sent. Held while they are published, so that the last message has all.
    #[cfg_attr(not(feature = "tf"), allow(dead_code))]
    StaticTransforms,
    /// The publishers of a node by topic. Held while the driver adds or removes one.
    NodePublishers,
    /// The publisher of the events of a service or a client, as its handle owns it.
    EventPublisher,
    /// The engine for calls outside of nodes. Held while the driver creates it.
    RpcClient,
    /// The link of a persistent service client.
    PersistentLink,
    /// The nodes that stand by.
    StandbyNodes,
    /// Messages to peers before the nodes leave.
    ShutdownHooks,
    /// The user's shutdown callbacks.
    ShutdownCallbacks,
    /// The position of the thread that runs the driver next.
    DriverGate,
    /// The driver, which the thread that polls holds while it waits for I/O.
    Driver,
    /// The nodes of an executor. Held while one of them enters or leaves it.
    ExecutorNodes,
    /// The queues of the executors of a context.
    ExecutorQueues,
    /// The links of a topic's subscriptions to publishers.
    TopicLinks,
    /// The subscriptions of a node to a topic. Held while they are matched with publications of this process.
    TopicReaders,
    /// The topics that a node publishes. Held while a line is published on `/rosout`.
    RosoutTopics,
    /// A topic as a node publishes it. Held while a message is sent, so that all subscribers get messages in one order.
    Publication,
    /// The publishers of a writer group, and their events.
    WriterPublishers,
    /// The readers that a writer has matched.
    MatchedReaders,
    /// The messages of a subscription.
    SubscriptionQueue,
    /// The requests of a service.
    ServiceRequests,
    /// The numbers of unanswered requests of a service.
    UnansweredRequests,
    /// The responses to one client of a service, or the replies that it holds in ROS 2.
    ServiceAnswers,
    /// The publisher of the events of a service or a client.
    ServiceEvents,
    /// The messages of services from shared memory that the driver has yet to take.
    ServiceInputs,
    /// The response to a call in progress.
    PendingCall,
    /// The number of publishers that a subscription has matched.
    PublisherCounts,
    /// The QoS event counts of a publisher or a subscription.
    QosStatuses,
    /// The goals that an action client follows.
    ActionClient,
    /// One goal of an action client.
    ClientGoal,
    /// The RTPS participant, and its user writers.
    Rtps,
    /// An RTPS writer. Held while its datagrams are put into its outbox.
    RtpsWriter,
    /// The timers of RTPS writers.
    RtpsWriterTimers,
    /// The datagrams of the participant or a writer that are not sent yet.
    RtpsOutbox,
    /// The addresses of this host.
    RtpsAddresses,
    /// The interfaces on which multicast groups of RTPS are joined.
    RtpsGroups,
    /// The sending side of an IPC connection.
    IpcSender,
    /// The ring by which slots of a peer's memory are released.
    IpcReturns,
    /// The shared memory segments of this process.
    IpcPool,
    /// The timers. Held while those that are due enter the ready queue.
    Timers,
    /// The callbacks for jumps of ROS time.
    TimeJumps,
    /// The events that wait for a callback.
    EventQueue,
    /// The callbacks that wait for another of their group.
    CallbackGroup,
    /// The executor that a node is in.
    NodeExecutor,
    /// The callbacks that are ready to run.
    ReadyQueue,
    /// The transforms of a buffer, and the time of the last one.
    #[cfg_attr(not(feature = "tf"), allow(dead_code))]
    TransformBuffer,
    /// The waiters that an entity wakes when it becomes ready.
    Listeners,
    /// Whether a guard condition is triggered.
    GuardCondition,
    /// Signals of threads that wait while another polls.
    ParkedSignals,
    /// Whether a waiting thread has been notified.
    Signal,
    /// The parameters of a node. Callbacks for changes run without it.
    NodeParameters,
    /// The writes of a node's parameters at the ROS 1 master.
    MasterParameters,
    /// The state of a lifecycle node, and its publishers.
    #[cfg_attr(not(feature = "lifecycle"), allow(dead_code))]
    LifecycleState,
    /// The services of a lifecycle node.
    #[cfg_attr(not(feature = "lifecycle"), allow(dead_code))]
    LifecycleServices,
    /// The types of a node's topics and services.
    NodeTypes,
    /// The levels of a node's loggers.
    LoggerLevels,
    /// The open log files.
    OpenLogFiles,
    /// One log file.
    LogFile,
    /// Standard error.
    Console,
}
