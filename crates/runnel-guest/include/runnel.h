// Made from wit/runnel.wit by a test of this crate: RUNNEL_UPDATE_ABI=1 cargo test -p runnel-guest
//
// What a ROS node in WebAssembly imports from the host that runs it.
//
// The module is a core module, not a component: its memory, globals and call stack have to be in reach of a checkpoint.
// Each function is an import of the core module `runnel:guest/host@0.1.0`, under its name below, with these parameters:
//
// - an integer, float, boolean or enumeration is one value; values shorter than 32 bits are an `i32`
// - a `string` or `list<u8>` is a pointer and a length; strings are UTF-8 without a final zero
// - a record is a pointer to its fields, in order and aligned as in C
// - a function that can fail, or that returns bytes, returns an `i32`: 0 or a positive value on success, or the negative
//   number of an `error`: -1 - its position
// - a returned handle or other `u32` is that positive value; each other value that a successful function returns goes to a
//   pointer, which is one more parameter
// - returned bytes go to a pointer and a capacity, which are two more parameters. The `i32` is their length. If that is
//   more than the capacity, nothing is written, and the caller tries again
//
// A pointer outside the memory ends the node, as any trap. Handles are numbers from 1, given in the order of creation,
// and are not used again.
#ifndef RUNNEL_H
#define RUNNEL_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNNEL_IMPORT(name) \
  __attribute__((import_module("runnel:guest/host@0.1.0"), import_name(name)))

#ifdef __cplusplus
extern "C" {
#endif

/// A node, publisher, subscription, client, service, action client, action server or timer.
typedef uint32_t runnel_handle;

typedef enum runnel_error {
  /// The handle is of no such entity.
  RUNNEL_ERROR_NO_SUCH_HANDLE = -1,
  /// A name, type, value or option is not valid, or does not fit what exists.
  RUNNEL_ERROR_INVALID = -2,
  /// The manifest of the node does not allow it.
  RUNNEL_ERROR_NOT_ALLOWED = -3,
  /// The node has as many entities, or as many bytes wait, as its manifest allows.
  RUNNEL_ERROR_TOO_MANY = -4,
  /// A message, request or response is longer than its limit.
  RUNNEL_ERROR_TOO_LONG = -5,
  /// A subscriber with keep-all history accepts no message now.
  RUNNEL_ERROR_BLOCKED = -6,
  /// No node offers the service or action.
  RUNNEL_ERROR_UNAVAILABLE = -7,
  /// The time-out has passed.
  RUNNEL_ERROR_TIMEOUT = -8,
  /// The service or action answered with an error.
  RUNNEL_ERROR_FAILED = -9,
  /// The node is to end.
  RUNNEL_ERROR_SHUTTING_DOWN = -10,
  /// The network or the operating system refuses.
  RUNNEL_ERROR_IO = -11,
} runnel_error;

/// The serialization of messages, requests and responses of an entity. The host converts where a peer has the other one.
typedef enum runnel_encoding {
  /// ROS 1: little-endian, without padding.
  RUNNEL_ENCODING_ROS1 = 0,
  /// ROS 2: XCDR1 with its header of four bytes.
  RUNNEL_ENCODING_CDR = 1,
} runnel_encoding;

typedef enum runnel_severity {
  RUNNEL_SEVERITY_DEBUG = 0,
  RUNNEL_SEVERITY_INFO = 1,
  RUNNEL_SEVERITY_WARN = 2,
  RUNNEL_SEVERITY_ERROR = 3,
  RUNNEL_SEVERITY_FATAL = 4,
} runnel_severity;

typedef enum runnel_clock {
  /// ROS time: simulated if the node uses `/clock`.
  RUNNEL_CLOCK_ROS = 0,
  /// Time that only runs while the node runs; no jumps. It goes on after a checkpoint where it stood.
  RUNNEL_CLOCK_MONOTONIC = 1,
} runnel_clock;

typedef enum runnel_history {
  RUNNEL_HISTORY_KEEP_LAST = 0,
  RUNNEL_HISTORY_KEEP_ALL = 1,
} runnel_history;

typedef enum runnel_reliability {
  RUNNEL_RELIABILITY_BEST_EFFORT = 0,
  RUNNEL_RELIABILITY_RELIABLE = 1,
  RUNNEL_RELIABILITY_BEST_AVAILABLE = 2,
} runnel_reliability;

typedef enum runnel_durability {
  RUNNEL_DURABILITY_VOLATILE = 0,
  RUNNEL_DURABILITY_TRANSIENT_LOCAL = 1,
  RUNNEL_DURABILITY_BEST_AVAILABLE = 2,
} runnel_durability;

typedef enum runnel_liveliness {
  RUNNEL_LIVELINESS_AUTOMATIC = 0,
  RUNNEL_LIVELINESS_MANUAL_BY_TOPIC = 1,
  RUNNEL_LIVELINESS_BEST_AVAILABLE = 2,
} runnel_liveliness;

/// Quality of service. Durations are nanoseconds; 0 is none.
typedef struct runnel_qos {
  runnel_history history;
  uint32_t depth;
  runnel_reliability reliability;
  runnel_durability durability;
  runnel_liveliness liveliness;
  uint64_t deadline;
  uint64_t lifespan;
  uint64_t liveliness_lease;
} runnel_qos;

static_assert(sizeof(runnel_qos) == 48, "as the host has it");

typedef enum runnel_event_kind {
  /// The time-out of `wait` has passed.
  RUNNEL_EVENT_KIND_NONE = 0,
  /// A subscription has received the message in the payload.
  RUNNEL_EVENT_KIND_MESSAGE = 1,
  /// A timer has expired.
  RUNNEL_EVENT_KIND_TIMER = 2,
  /// A service has received the request in the payload. `id` is the request.
  RUNNEL_EVENT_KIND_REQUEST = 3,
  /// A call has ended. `id` is the call. The payload is the response if `status` is 0; otherwise `status` is the number of
  /// an `error`, such as -8, and the payload its text.
  RUNNEL_EVENT_KIND_RESPONSE = 4,
  /// An action server has received the goal in the payload. `id` is the goal, which waits for `accept-goal` or
  /// `reject-goal`.
  RUNNEL_EVENT_KIND_GOAL_REQUEST = 5,
  /// A client cancels the goal `id`. The host has accepted that: for the client the goal is canceling. The server ends it.
  RUNNEL_EVENT_KIND_CANCEL_REQUEST = 6,
  /// The payload is feedback on the goal `id` of a client.
  RUNNEL_EVENT_KIND_FEEDBACK = 7,
  /// The goal `id` of a client has ended. The payload is the result, and `status` one of `action_msgs/GoalStatus`: 4
  /// succeeded, 5 canceled, 6 aborted. If the status is negative, the goal was rejected (`failed`) or is lost
  /// (`unavailable`), and the payload is the reason.
  RUNNEL_EVENT_KIND_GOAL_RESULT = 8,
  /// Another program has set a parameter. The payload is an `rcl_interfaces/Parameter`.
  RUNNEL_EVENT_KIND_PARAMETER = 9,
  /// The node is to end: it returns from its main function.
  RUNNEL_EVENT_KIND_SHUTDOWN = 10,
} runnel_event_kind;

/// What has happened. Times are nanoseconds since 1970; what is not known is the type's lowest value, or 0 in `sequence`
/// and `publisher`.
typedef struct runnel_event {
  runnel_event_kind kind;
  /// The entity.
  runnel_handle handle;
  uint64_t id;
  /// When a message was published, by the clock of its publisher's host.
  int64_t source_time;
  int64_t received_time;
  /// The message's number at its publisher.
  uint64_t sequence;
  /// The first and last eight bytes of the publisher's GID.
  uint64_t publisher_high;
  uint64_t publisher_low;
  int32_t status;
  /// Length of the payload.
  uint32_t length;
} runnel_event;

static_assert(sizeof(runnel_event) == 64, "as the host has it");

/// Waits for the next event, at most `timeout` nanoseconds. An event whose payload is longer than the capacity stays: its
/// record is written, and the next `wait` returns it again. A node that does not wait receives nothing.
RUNNEL_IMPORT("wait")
int32_t runnel_wait(uint64_t timeout, runnel_event *event, void *bytes, size_t capacity);

/// 1 once the node is to end, otherwise 0. For loops that do not wait for events.
RUNNEL_IMPORT("is-shutting-down")
bool runnel_is_shutting_down(void);

/// The text of the last error of a function.
RUNNEL_IMPORT("last-error")
int32_t runnel_last_error(void *bytes, size_t capacity);

/// The arguments of the program, each followed by a zero, without those for ROS. The first is its name.
RUNNEL_IMPORT("arguments")
int32_t runnel_arguments(void *bytes, size_t capacity);

/// The graphs that the node has joined: 1 is ROS 1, 2 is ROS 2, 3 is both.
RUNNEL_IMPORT("graphs")
uint32_t runnel_graphs(void);

/// Adds the definition of a type, in the language of `.msg`, `.srv` and `.action` files, for types that are not in the
/// standard packages.
RUNNEL_IMPORT("define-type")
int32_t runnel_define_type(
    const char *name, size_t name_length,
    const char *definition, size_t definition_length);

RUNNEL_IMPORT("create-node")
int32_t runnel_create_node(const char *name, size_t name_length);

/// The absolute name of a topic or service of a node, after remapping.
RUNNEL_IMPORT("resolve")
int32_t runnel_resolve(
    runnel_handle node,
    const char *name, size_t name_length,
    void *bytes, size_t capacity);

RUNNEL_IMPORT("node-name")
int32_t runnel_node_name(runnel_handle node, void *bytes, size_t capacity);

/// `type` is as in `std_msgs/msg/String` or `std_msgs/String`.
RUNNEL_IMPORT("create-publisher")
int32_t runnel_create_publisher(
    runnel_handle node,
    const char *topic, size_t topic_length,
    const char *type, size_t type_length,
    runnel_encoding encoding,
    const runnel_qos *qos);

/// Publishes a message. It never waits: it fails with `blocked` while a subscriber with keep-all history accepts none.
RUNNEL_IMPORT("publish")
int32_t runnel_publish(runnel_handle publisher, const void *message, size_t message_length);

RUNNEL_IMPORT("subscription-count")
int32_t runnel_subscription_count(runnel_handle publisher);

RUNNEL_IMPORT("create-subscription")
int32_t runnel_create_subscription(
    runnel_handle node,
    const char *topic, size_t topic_length,
    const char *type, size_t type_length,
    runnel_encoding encoding,
    const runnel_qos *qos);

RUNNEL_IMPORT("publisher-count")
int32_t runnel_publisher_count(runnel_handle subscription);

RUNNEL_IMPORT("create-client")
int32_t runnel_create_client(
    runnel_handle node,
    const char *service, size_t service_length,
    const char *type, size_t type_length,
    runnel_encoding encoding);

/// 1 if the service is there, otherwise 0.
RUNNEL_IMPORT("service-is-ready")
int32_t runnel_service_is_ready(runnel_handle client);

/// Sends a request. The event `response` follows, at the latest after `timeout` nanoseconds (0: no limit).
RUNNEL_IMPORT("call")
int32_t runnel_call(
    runnel_handle client,
    const void *request, size_t request_length,
    uint64_t timeout,
    uint64_t *result);

RUNNEL_IMPORT("create-service")
int32_t runnel_create_service(
    runnel_handle node,
    const char *service, size_t service_length,
    const char *type, size_t type_length,
    runnel_encoding encoding);

RUNNEL_IMPORT("respond")
int32_t runnel_respond(uint64_t request, const void *response, size_t response_length);

/// Answers a request with an error.
RUNNEL_IMPORT("refuse")
int32_t runnel_refuse(uint64_t request, const char *why, size_t why_length);

RUNNEL_IMPORT("create-action-client")
int32_t runnel_create_action_client(
    runnel_handle node,
    const char *action, size_t action_length,
    const char *type, size_t type_length,
    runnel_encoding encoding);

/// 1 if the server is there, otherwise 0.
RUNNEL_IMPORT("action-is-ready")
int32_t runnel_action_is_ready(runnel_handle client);

/// Sends a goal. The events `feedback` and `goal-result` follow.
RUNNEL_IMPORT("send-goal")
int32_t runnel_send_goal(runnel_handle client, const void *goal, size_t goal_length, uint64_t *result);

RUNNEL_IMPORT("cancel-goal")
int32_t runnel_cancel_goal(uint64_t goal);

RUNNEL_IMPORT("create-action-server")
int32_t runnel_create_action_server(
    runnel_handle node,
    const char *action, size_t action_length,
    const char *type, size_t type_length,
    runnel_encoding encoding);

RUNNEL_IMPORT("accept-goal")
int32_t runnel_accept_goal(uint64_t goal);

RUNNEL_IMPORT("reject-goal")
int32_t runnel_reject_goal(uint64_t goal, const char *why, size_t why_length);

RUNNEL_IMPORT("publish-feedback")
int32_t runnel_publish_feedback(uint64_t goal, const void *feedback, size_t feedback_length);

/// Ends a goal with a status of `action_msgs/GoalStatus`: 4 succeeded, 5 canceled, 6 aborted. The text is for people.
RUNNEL_IMPORT("finish-goal")
int32_t runnel_finish_goal(
    uint64_t goal,
    int32_t status,
    const void *response, size_t response_length,
    const char *text, size_t text_length);

/// Declares a parameter. The default is an `rcl_interfaces/ParameterValue` in CDR, as is the value that the parameter has
/// then: the default, or what the command line or a file gives. A parameter that is declared already keeps its declaration
/// and value.
RUNNEL_IMPORT("declare-parameter")
int32_t runnel_declare_parameter(
    runnel_handle node,
    const char *name, size_t name_length,
    const void *default_, size_t default_length,
    bool read_only,
    void *bytes, size_t capacity);

RUNNEL_IMPORT("get-parameter")
int32_t runnel_get_parameter(
    runnel_handle node,
    const char *name, size_t name_length,
    void *bytes, size_t capacity);

RUNNEL_IMPORT("set-parameter")
int32_t runnel_set_parameter(
    runnel_handle node,
    const char *name, size_t name_length,
    const void *value, size_t value_length);

/// Creates a timer that expires each `period` nanoseconds; if `oneshot`, only once. A one-shot timer follows ROS time only:
/// with another clock it is `invalid`.
RUNNEL_IMPORT("create-timer")
int32_t runnel_create_timer(runnel_handle node, uint64_t period, runnel_clock clock, bool oneshot);

RUNNEL_IMPORT("cancel-timer")
int32_t runnel_cancel_timer(runnel_handle timer);

/// Starts the period again, also after `cancel-timer`.
RUNNEL_IMPORT("reset-timer")
int32_t runnel_reset_timer(runnel_handle timer);

/// Destroys an entity. Events of it that wait are dropped.
RUNNEL_IMPORT("close")
int32_t runnel_close(runnel_handle entity);

/// Nanoseconds: since 1970 for `ros`, since the start of the program for `monotonic`.
RUNNEL_IMPORT("now")
int64_t runnel_now(runnel_clock clock);

/// Writes `length` random bytes for cryptography, or as many as the capacity if that is less.
RUNNEL_IMPORT("random")
int32_t runnel_random(uint32_t length, void *bytes, size_t capacity);

/// Logs a text as the node's: to the console, the log file and `/rosout`.
RUNNEL_IMPORT("log")
int32_t runnel_log(runnel_handle node, runnel_severity severity, const char *text, size_t text_length);

#ifdef __cplusplus
}
#endif

#endif
