// Calls /add_two_ints with its two arguments and prints the sum.
#include "cdr.h"
#include "node.h"

static const char TYPE[] = "example_interfaces/srv/AddTwoInts";

// How often it looks for the service, and for how long it waits for the response, in nanoseconds.
static const uint64_t LOOK_EVERY = 50000000;
static const uint64_t TIMEOUT = 5000000000;

static void wait_for_service(runnel_handle client) {
  for (uint64_t waited = 0; waited < TIMEOUT; waited += LOOK_EVERY) {
    runnel_event event;
    if (check(runnel_service_is_ready(client))) return;
    check(runnel_wait(LOOK_EVERY, &event, NULL, 0));
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: add_two_ints_client A B\n");
    return 2;
  }
  static uint8_t payload[1024];
  const runnel_handle node = create_node("add_two_ints_client");
  static const char service[] = "add_two_ints";
  const runnel_handle client = (runnel_handle)check(
      runnel_create_client(node, service, strlen(service), TYPE, strlen(TYPE), RUNNEL_ENCODING_CDR));
  wait_for_service(client);
  uint8_t bytes[32];
  cdr request = cdr_writer(bytes, sizeof bytes);
  cdr_write_int64(&request, strtoll(argv[1], NULL, 10));
  cdr_write_int64(&request, strtoll(argv[2], NULL, 10));
  uint64_t call = 0;
  check(runnel_call(client, bytes, request.position, TIMEOUT, &call));
  for (;;) {
    const runnel_event event = wait_for_event(payload, sizeof payload);
    if (event.kind == RUNNEL_EVENT_KIND_SHUTDOWN) return 1;
    if (event.kind != RUNNEL_EVENT_KIND_RESPONSE || event.id != call) continue;
    if (event.status != 0) {
      fprintf(stderr, "%.*s\n", (int)event.length, (const char *)payload);
      return 1;
    }
    cdr response = cdr_reader(payload, event.length);
    printf("%lld\n", (long long)cdr_read_int64(&response));
    return response.is_valid ? 0 : 1;
  }
}
