//! Raw imports from the host. Made from `wit/runnel.wit` by a test of this crate: `RUNNEL_UPDATE_ABI=1 cargo test -p runnel-guest`
//!
//! What a ROS node in WebAssembly imports from the host that runs it.
//!
//! The module is a core module, not a component: its memory, globals and call stack have to be in reach of a checkpoint.
//! Each function is an import of the core module `runnel:guest/host@0.1.0`, under its name below, with these parameters:
//!
//! - an integer, float, boolean or enumeration is one value; values shorter than 32 bits are an `i32`
//! - a `string` or `list<u8>` is a pointer and a length; strings are UTF-8 without a final zero
//! - a record is a pointer to its fields, in order and aligned as in C
//! - a function that can fail, or that returns bytes, returns an `i32`: 0 or a positive value on success, or the negative
//!   number of an `error`: -1 - its position
//! - a returned handle or other `u32` is that positive value; each other value that a successful function returns goes to a
//!   pointer, which is one more parameter
//! - returned bytes go to a pointer and a capacity, which are two more parameters. The `i32` is their length. If that is
//!   more than the capacity, nothing is written, and the caller tries again
//!
//! A pointer outside the memory ends the node, as any trap. Handles are numbers from 1, given in the order of creation,
//! and are not used again.

/// A node, publisher, subscription, client, service, action client, action server or timer.
pub type Handle = u32;

/// One of its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Error(pub i32);

impl Error {
    /// The handle is of no such entity.
    pub const NO_SUCH_HANDLE: Self = Self(-1);
    /// A name, type, value or option is not valid, or does not fit what exists.
    pub const INVALID: Self = Self(-2);
    /// The manifest of the node does not allow it.
    pub const NOT_ALLOWED: Self = Self(-3);
    /// The node has as many entities, or as many bytes wait, as its manifest allows.
    pub const TOO_MANY: Self = Self(-4);
    /// A message, request or response is longer than its limit.
    pub const TOO_LONG: Self = Self(-5);
    /// A subscriber with keep-all history accepts no message now.
    pub const BLOCKED: Self = Self(-6);
    /// No node offers the service or action.
    pub const UNAVAILABLE: Self = Self(-7);
    /// The time-out has passed.
    pub const TIMEOUT: Self = Self(-8);
    /// The service or action answered with an error.
    pub const FAILED: Self = Self(-9);
    /// The node is to end.
    pub const SHUTTING_DOWN: Self = Self(-10);
    /// The network or the operating system refuses.
    pub const IO: Self = Self(-11);
}

/// The serialization of messages, requests and responses of an entity. The host converts where a peer has the other one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Encoding(pub u32);

impl Encoding {
    /// ROS 1: little-endian, without padding.
    pub const ROS1: Self = Self(0);
    /// ROS 2: XCDR1 with its header of four bytes.
    pub const CDR: Self = Self(1);
}

/// One of its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Severity(pub u32);

impl Severity {
    /// `debug`.
    pub const DEBUG: Self = Self(0);
    /// `info`.
    pub const INFO: Self = Self(1);
    /// `warn`.
    pub const WARN: Self = Self(2);
    /// `error`.
    pub const ERROR: Self = Self(3);
    /// `fatal`.
    pub const FATAL: Self = Self(4);
}

/// One of its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Clock(pub u32);

impl Clock {
    /// ROS time: simulated if the node uses `/clock`.
    pub const ROS: Self = Self(0);
    /// Time that only runs while the node runs; no jumps. It goes on after a checkpoint where it stood.
    pub const MONOTONIC: Self = Self(1);
}

/// One of its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct History(pub u32);

impl History {
    /// `keep-last`.
    pub const KEEP_LAST: Self = Self(0);
    /// `keep-all`.
    pub const KEEP_ALL: Self = Self(1);
}

/// One of its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Reliability(pub u32);

impl Reliability {
    /// `best-effort`.
    pub const BEST_EFFORT: Self = Self(0);
    /// `reliable`.
    pub const RELIABLE: Self = Self(1);
    /// `best-available`.
    pub const BEST_AVAILABLE: Self = Self(2);
}

/// One of its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Durability(pub u32);

impl Durability {
    /// `volatile`.
    pub const VOLATILE: Self = Self(0);
    /// `transient-local`.
    pub const TRANSIENT_LOCAL: Self = Self(1);
    /// `best-available`.
    pub const BEST_AVAILABLE: Self = Self(2);
}

/// One of its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Liveliness(pub u32);

impl Liveliness {
    /// `automatic`.
    pub const AUTOMATIC: Self = Self(0);
    /// `manual-by-topic`.
    pub const MANUAL_BY_TOPIC: Self = Self(1);
    /// `best-available`.
    pub const BEST_AVAILABLE: Self = Self(2);
}

/// Quality of service. Durations are nanoseconds; 0 is none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Qos {
    /// `history`.
    pub history: History,
    /// `depth`.
    pub depth: u32,
    /// `reliability`.
    pub reliability: Reliability,
    /// `durability`.
    pub durability: Durability,
    /// `liveliness`.
    pub liveliness: Liveliness,
    /// `deadline`.
    pub deadline: u64,
    /// `lifespan`.
    pub lifespan: u64,
    /// `liveliness-lease`.
    pub liveliness_lease: u64,
}

const _: () = assert!(size_of::<Qos>() == 48);

/// One of its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct EventKind(pub u32);

impl EventKind {
    /// The time-out of `wait` has passed.
    pub const NONE: Self = Self(0);
    /// A subscription has received the message in the payload.
    pub const MESSAGE: Self = Self(1);
    /// A timer has expired.
    pub const TIMER: Self = Self(2);
    /// A service has received the request in the payload. `id` is the request.
    pub const REQUEST: Self = Self(3);
    /// A call has ended. `id` is the call. The payload is the response if `status` is 0; otherwise `status` is the number of
    /// an `error`, such as -8, and the payload its text.
    pub const RESPONSE: Self = Self(4);
    /// An action server has received the goal in the payload. `id` is the goal, which waits for `accept-goal` or
    /// `reject-goal`.
    pub const GOAL_REQUEST: Self = Self(5);
    /// A client cancels the goal `id`. The host has accepted that: for the client the goal is canceling. The server ends it.
    pub const CANCEL_REQUEST: Self = Self(6);
    /// The payload is feedback on the goal `id` of a client.
    pub const FEEDBACK: Self = Self(7);
    /// The goal `id` of a client has ended. The payload is the result, and `status` one of `action_msgs/GoalStatus`: 4
    /// succeeded, 5 canceled, 6 aborted. If the status is negative, the goal was rejected (`failed`) or is lost
    /// (`unavailable`), and the payload is the reason.
    pub const GOAL_RESULT: Self = Self(8);
    /// Another program has set a parameter. The payload is an `rcl_interfaces/Parameter`.
    pub const PARAMETER: Self = Self(9);
    /// The node is to end: it returns from its main function.
    pub const SHUTDOWN: Self = Self(10);
}

/// What has happened. Times are nanoseconds since 1970; what is not known is the type's lowest value, or 0 in `sequence`
/// and `publisher`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Event {
    /// `kind`.
    pub kind: EventKind,
    /// The entity.
    pub handle: Handle,
    /// `id`.
    pub id: u64,
    /// When a message was published, by the clock of its publisher's host.
    pub source_time: i64,
    /// `received-time`.
    pub received_time: i64,
    /// The message's number at its publisher.
    pub sequence: u64,
    /// The first and last eight bytes of the publisher's GID.
    pub publisher_high: u64,
    /// `publisher-low`.
    pub publisher_low: u64,
    /// `status`.
    pub status: i32,
    /// Length of the payload.
    pub length: u32,
}

const _: () = assert!(size_of::<Event>() == 64);

#[link(wasm_import_module = "runnel:guest/host@0.1.0")]
unsafe extern "C" {
    /// Waits for the next event, at most `timeout` nanoseconds. An event whose payload is longer than the capacity stays: its
    /// record is written, and the next `wait` returns it again. A node that does not wait receives nothing.
    #[link_name = "wait"]
    pub fn wait(timeout: u64, event: *mut Event, bytes: *mut u8, capacity: usize) -> i32;

    /// 1 once the node is to end, otherwise 0. For loops that do not wait for events.
    #[link_name = "is-shutting-down"]
    pub fn is_shutting_down() -> bool;

    /// The text of the last error of a function.
    #[link_name = "last-error"]
    pub fn last_error(bytes: *mut u8, capacity: usize) -> i32;

    /// The arguments of the program, each followed by a zero, without those for ROS. The first is its name.
    #[link_name = "arguments"]
    pub fn arguments(bytes: *mut u8, capacity: usize) -> i32;

    /// The graphs that the node has joined: 1 is ROS 1, 2 is ROS 2, 3 is both.
    #[link_name = "graphs"]
    pub fn graphs() -> u32;

    /// Adds the definition of a type, in the language of `.msg`, `.srv` and `.action` files, for types that are not in the
    /// standard packages.
    #[link_name = "define-type"]
    pub fn define_type(
        name: *const u8,
        name_length: usize,
        definition: *const u8,
        definition_length: usize,
    ) -> i32;

    /// `create-node`.
    #[link_name = "create-node"]
    pub fn create_node(name: *const u8, name_length: usize) -> i32;

    /// The absolute name of a topic or service of a node, after remapping.
    #[link_name = "resolve"]
    pub fn resolve(node: Handle, name: *const u8, name_length: usize, bytes: *mut u8, capacity: usize) -> i32;

    /// `node-name`.
    #[link_name = "node-name"]
    pub fn node_name(node: Handle, bytes: *mut u8, capacity: usize) -> i32;

    /// `type` is as in `std_msgs/msg/String` or `std_msgs/String`.
    #[link_name = "create-publisher"]
    pub fn create_publisher(
        node: Handle,
        topic: *const u8,
        topic_length: usize,
        type_: *const u8,
        type_length: usize,
        encoding: Encoding,
        qos: *const Qos,
    ) -> i32;

    /// Publishes a message. It never waits: it fails with `blocked` while a subscriber with keep-all history accepts none.
    #[link_name = "publish"]
    pub fn publish(publisher: Handle, message: *const u8, message_length: usize) -> i32;

    /// `subscription-count`.
    #[link_name = "subscription-count"]
    pub fn subscription_count(publisher: Handle) -> i32;

    /// `create-subscription`.
    #[link_name = "create-subscription"]
    pub fn create_subscription(
        node: Handle,
        topic: *const u8,
        topic_length: usize,
        type_: *const u8,
        type_length: usize,
        encoding: Encoding,
        qos: *const Qos,
    ) -> i32;

    /// `publisher-count`.
    #[link_name = "publisher-count"]
    pub fn publisher_count(subscription: Handle) -> i32;

    /// `create-client`.
    #[link_name = "create-client"]
    pub fn create_client(
        node: Handle,
        service: *const u8,
        service_length: usize,
        type_: *const u8,
        type_length: usize,
        encoding: Encoding,
    ) -> i32;

    /// 1 if the service is there, otherwise 0.
    #[link_name = "service-is-ready"]
    pub fn service_is_ready(client: Handle) -> i32;

    /// Sends a request. The event `response` follows, at the latest after `timeout` nanoseconds (0: no limit).
    #[link_name = "call"]
    pub fn call(
        client: Handle,
        request: *const u8,
        request_length: usize,
        timeout: u64,
        result: *mut u64,
    ) -> i32;

    /// `create-service`.
    #[link_name = "create-service"]
    pub fn create_service(
        node: Handle,
        service: *const u8,
        service_length: usize,
        type_: *const u8,
        type_length: usize,
        encoding: Encoding,
    ) -> i32;

    /// `respond`.
    #[link_name = "respond"]
    pub fn respond(request: u64, response: *const u8, response_length: usize) -> i32;

    /// Answers a request with an error.
    #[link_name = "refuse"]
    pub fn refuse(request: u64, why: *const u8, why_length: usize) -> i32;

    /// `create-action-client`.
    #[link_name = "create-action-client"]
    pub fn create_action_client(
        node: Handle,
        action: *const u8,
        action_length: usize,
        type_: *const u8,
        type_length: usize,
        encoding: Encoding,
    ) -> i32;

    /// 1 if the server is there, otherwise 0.
    #[link_name = "action-is-ready"]
    pub fn action_is_ready(client: Handle) -> i32;

    /// Sends a goal. The events `feedback` and `goal-result` follow.
    #[link_name = "send-goal"]
    pub fn send_goal(client: Handle, goal: *const u8, goal_length: usize, result: *mut u64) -> i32;

    /// `cancel-goal`.
    #[link_name = "cancel-goal"]
    pub fn cancel_goal(goal: u64) -> i32;

    /// `create-action-server`.
    #[link_name = "create-action-server"]
    pub fn create_action_server(
        node: Handle,
        action: *const u8,
        action_length: usize,
        type_: *const u8,
        type_length: usize,
        encoding: Encoding,
    ) -> i32;

    /// `accept-goal`.
    #[link_name = "accept-goal"]
    pub fn accept_goal(goal: u64) -> i32;

    /// `reject-goal`.
    #[link_name = "reject-goal"]
    pub fn reject_goal(goal: u64, why: *const u8, why_length: usize) -> i32;

    /// `publish-feedback`.
    #[link_name = "publish-feedback"]
    pub fn publish_feedback(goal: u64, feedback: *const u8, feedback_length: usize) -> i32;

    /// Ends a goal with a status of `action_msgs/GoalStatus`: 4 succeeded, 5 canceled, 6 aborted. The text is for people.
    #[link_name = "finish-goal"]
    pub fn finish_goal(
        goal: u64,
        status: i32,
        response: *const u8,
        response_length: usize,
        text: *const u8,
        text_length: usize,
    ) -> i32;

    /// Declares a parameter. The default is an `rcl_interfaces/ParameterValue` in CDR, as is the value that the parameter has
    /// then: the default, or what the command line or a file gives. A parameter that is declared already keeps its declaration
    /// and value.
    #[link_name = "declare-parameter"]
    pub fn declare_parameter(
        node: Handle,
        name: *const u8,
        name_length: usize,
        default: *const u8,
        default_length: usize,
        read_only: bool,
        bytes: *mut u8,
        capacity: usize,
    ) -> i32;

    /// `get-parameter`.
    #[link_name = "get-parameter"]
    pub fn get_parameter(
        node: Handle,
        name: *const u8,
        name_length: usize,
        bytes: *mut u8,
        capacity: usize,
    ) -> i32;

    /// `set-parameter`.
    #[link_name = "set-parameter"]
    pub fn set_parameter(
        node: Handle,
        name: *const u8,
        name_length: usize,
        value: *const u8,
        value_length: usize,
    ) -> i32;

    /// Creates a timer that expires each `period` nanoseconds; if `oneshot`, only once. A one-shot timer follows ROS time only:
    /// with another clock it is `invalid`.
    #[link_name = "create-timer"]
    pub fn create_timer(node: Handle, period: u64, clock: Clock, oneshot: bool) -> i32;

    /// `cancel-timer`.
    #[link_name = "cancel-timer"]
    pub fn cancel_timer(timer: Handle) -> i32;

    /// Starts the period again, also after `cancel-timer`.
    #[link_name = "reset-timer"]
    pub fn reset_timer(timer: Handle) -> i32;

    /// Destroys an entity. Events of it that wait are dropped.
    #[link_name = "close"]
    pub fn close(entity: Handle) -> i32;

    /// Nanoseconds: since 1970 for `ros`, since the start of the program for `monotonic`.
    #[link_name = "now"]
    pub fn now(clock: Clock) -> i64;

    /// Writes `length` random bytes for cryptography, or as many as the capacity if that is less.
    #[link_name = "random"]
    pub fn random(length: u32, bytes: *mut u8, capacity: usize) -> i32;

    /// Logs a text as the node's: to the console, the log file and `/rosout`.
    #[link_name = "log"]
    pub fn log(node: Handle, severity: Severity, text: *const u8, text_length: usize) -> i32;
}
