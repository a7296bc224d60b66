// Ends of the bench's service calls on rcl, the C library below rclcpp and rclpy, with the default middleware.
// bench/README.md describes the protocol between an end and the bench.
//
//   ends serve|call-persistent --count N --warm-up N [--sent FILE] [--received FILE] [MORE, ignored]
#include <rcl/error_handling.h>
#include <rcl/graph.h>
#include <rcl/rcl.h>
#include <std_srvs/srv/set_bool.h>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "options.hpp"
#include "stamps.hpp"

// Time limit for the other end to appear.
constexpr int64_t peer_timeout = 20 * static_cast<int64_t>(second);

static void check(rcl_ret_t result, const char* what) {
  if (result != RCL_RET_OK) throw std::runtime_error(std::string(what) + ": " + rcl_get_error_string().str);
}

// Errors while an end closes change no result.
static void ignore(rcl_ret_t) {}

static void send_ready() { std::cout << "ready" << std::endl; }

static const rosidl_service_type_support_t* type() { return ROSIDL_GET_SRV_TYPE_SUPPORT(std_srvs, srv, SetBool); }

// A context with one node.
class Participant {
 public:
  explicit Participant(const char* name) {
    rcl_init_options_t options = rcl_get_zero_initialized_init_options();
    check(rcl_init_options_init(&options, allocator), "rcl_init_options_init");
    check(rcl_init(0, nullptr, &options, &context), "rcl_init");
    check(rcl_init_options_fini(&options), "rcl_init_options_fini");
    const rcl_node_options_t node_options = rcl_node_get_default_options();
    check(rcl_node_init(&node, name, "", &context, &node_options), "rcl_node_init");
  }

  ~Participant() {
    ignore(rcl_node_fini(&node));
    ignore(rcl_shutdown(&context));
    ignore(rcl_context_fini(&context));
  }

  rcl_allocator_t allocator = rcl_get_default_allocator();
  rcl_context_t context = rcl_get_zero_initialized_context();
  rcl_node_t node = rcl_get_zero_initialized_node();
};

// What an end waits for: a guard condition and a service or a client.
class WaitSet {
 public:
  WaitSet(Participant& participant, size_t clients, size_t services) {
    check(rcl_wait_set_init(&set_, 0, 1, 0, clients, services, 0, &participant.context, participant.allocator),
          "rcl_wait_set_init");
  }

  ~WaitSet() { ignore(rcl_wait_set_fini(&set_)); }

  // Whether any of them is ready before the timeout in nanoseconds. None is forever.
  bool wait(const rcl_guard_condition_t* guard, const rcl_client_t* client, const rcl_service_t* service,
            int64_t timeout = -1) {
    check(rcl_wait_set_clear(&set_), "rcl_wait_set_clear");
    if (guard) check(rcl_wait_set_add_guard_condition(&set_, guard, nullptr), "rcl_wait_set_add_guard_condition");
    if (client) check(rcl_wait_set_add_client(&set_, client, nullptr), "rcl_wait_set_add_client");
    if (service) check(rcl_wait_set_add_service(&set_, service, nullptr), "rcl_wait_set_add_service");
    const rcl_ret_t result = rcl_wait(&set_, timeout);
    if (result == RCL_RET_TIMEOUT) return false;
    check(result, "rcl_wait");
    return true;
  }

  bool is_interrupted() const { return set_.guard_conditions[0] != nullptr; }

 private:
  rcl_wait_set_t set_ = rcl_get_zero_initialized_wait_set();
};

static void serve(const Options&) {
  Participant participant("serve");
  rcl_service_t service = rcl_get_zero_initialized_service();
  const rcl_service_options_t options = rcl_service_get_default_options();
  check(rcl_service_init(&service, &participant.node, type(), "switch", &options), "rcl_service_init");
  rcl_guard_condition_t ended = rcl_get_zero_initialized_guard_condition();
  check(rcl_guard_condition_init(&ended, &participant.context, rcl_guard_condition_get_default_options()),
        "rcl_guard_condition_init");
  std_srvs__srv__SetBool_Request request;
  std_srvs__srv__SetBool_Response response;
  std_srvs__srv__SetBool_Request__init(&request);
  std_srvs__srv__SetBool_Response__init(&response);
  send_ready();
  std::thread watcher([&ended] {
    while (std::cin.get() != std::char_traits<char>::eof()) {
    }
    ignore(rcl_trigger_guard_condition(&ended));
  });
  {
    WaitSet set(participant, 0, 1);
    for (;;) {
      set.wait(&ended, nullptr, &service);
      if (set.is_interrupted()) break;
      rmw_request_id_t id;
      const rcl_ret_t taken = rcl_take_request(&service, &id, &request);
      if (taken == RCL_RET_SERVICE_TAKE_FAILED) continue;
      check(taken, "rcl_take_request");
      response.success = request.data;
      check(rcl_send_response(&service, &id, &response), "rcl_send_response");
    }
  }
  watcher.join();
  std_srvs__srv__SetBool_Request__fini(&request);
  std_srvs__srv__SetBool_Response__fini(&response);
  ignore(rcl_guard_condition_fini(&ended));
  ignore(rcl_service_fini(&service, &participant.node));
}

static void wait_for_service(Participant& participant, rcl_client_t& client) {
  WaitSet set(participant, 1, 0);
  const uint64_t end = nanoseconds() + peer_timeout;
  const rcl_guard_condition_t* graph = rcl_node_get_graph_guard_condition(&participant.node);
  for (bool available = false;;) {
    check(rcl_service_server_is_available(&participant.node, &client, &available), "rcl_service_server_is_available");
    if (available) return;
    const uint64_t now = nanoseconds();
    if (now >= end) throw std::runtime_error("no server of switch");
    set.wait(graph, &client, nullptr, static_cast<int64_t>(end - now));
  }
}

// Waits for the response to a request. Responses to others, such as of callers in other processes, are ignored.
static bool take_response(WaitSet& set, rcl_client_t& client, int64_t sequence) {
  std_srvs__srv__SetBool_Response response;
  std_srvs__srv__SetBool_Response__init(&response);
  for (bool answered = false; !answered;) {
    set.wait(nullptr, &client, nullptr);
    rmw_request_id_t id;
    const rcl_ret_t taken = rcl_take_response(&client, &id, &response);
    if (taken == RCL_RET_CLIENT_TAKE_FAILED) continue;
    check(taken, "rcl_take_response");
    answered = id.sequence_number == sequence;
  }
  const bool success = response.success;
  std_srvs__srv__SetBool_Response__fini(&response);
  return success;
}

static void call(const Options& options) {
  Stamps sent(options), received(options);
  Participant participant("call");
  rcl_client_t client = rcl_get_zero_initialized_client();
  const rcl_client_options_t client_options = rcl_client_get_default_options();
  check(rcl_client_init(&client, &participant.node, type(), "switch", &client_options), "rcl_client_init");
  wait_for_service(participant, client);
  send_ready();
  std::string line;
  if (!std::getline(std::cin, line)) throw std::runtime_error("the bench has ended");
  {
    WaitSet set(participant, 1, 0);
    std_srvs__srv__SetBool_Request request;
    std_srvs__srv__SetBool_Request__init(&request);
    for (uint64_t number = 0; number < options.total; ++number) {
      sent.record(number);
      request.data = number % 2 == 0;
      int64_t sequence = 0;
      check(rcl_send_request(&client, &request, &sequence), "rcl_send_request");
      const bool success = take_response(set, client, sequence);
      if (success == request.data) received.record(number);
    }
    std_srvs__srv__SetBool_Request__fini(&request);
  }
  ignore(rcl_client_fini(&client, &participant.node));
  sent.write(options.text("--sent"));
  received.write(options.text("--received"));
}

int main(int argc, char** argv) {
  try {
    const Options options(argc, argv);
    if (options.role == "serve") {
      serve(options);
    } else if (options.role == "call-persistent") {
      call(options);
    } else {
      throw std::runtime_error("unknown role '" + options.role + "'");
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
