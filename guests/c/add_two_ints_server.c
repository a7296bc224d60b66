// Serves /add_two_ints.
#include "cdr.h"
#include "node.h"

static const char TYPE[] = "example_interfaces/srv/AddTwoInts";

static void answer(uint64_t request, void *payload, size_t length) {
  cdr message = cdr_reader(payload, length);
  const int64_t a = cdr_read_int64(&message);
  const int64_t b = cdr_read_int64(&message);
  static const char why[] = "the request is too short";
  if (!message.is_valid) {
    check(runnel_refuse(request, why, strlen(why)));
    return;
  }
  uint8_t bytes[16];
  cdr response = cdr_writer(bytes, sizeof bytes);
  cdr_write_int64(&response, (int64_t)((uint64_t)a + (uint64_t)b));
  check(runnel_respond(request, bytes, response.position));
}

int main(void) {
  static uint8_t payload[1024];
  const runnel_handle node = create_node("add_two_ints_server");
  static const char service[] = "add_two_ints";
  check(runnel_create_service(node, service, strlen(service), TYPE, strlen(TYPE), RUNNEL_ENCODING_CDR));
  for (;;) {
    const runnel_event event = wait_for_event(payload, sizeof payload);
    if (event.kind == RUNNEL_EVENT_KIND_SHUTDOWN) return 0;
    if (event.kind == RUNNEL_EVENT_KIND_REQUEST) answer(event.id, payload, event.length);
  }
}
