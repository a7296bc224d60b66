// Prints the texts of /chatter.
#include "cdr.h"
#include "node.h"

int main(void) {
  static uint8_t payload[65536];
  const runnel_handle node = create_node("listener");
  create_subscription(node, "chatter", "std_msgs/msg/String");
  for (;;) {
    const runnel_event event = wait_for_event(payload, sizeof payload);
    if (event.kind == RUNNEL_EVENT_KIND_SHUTDOWN) return 0;
    if (event.kind != RUNNEL_EVENT_KIND_MESSAGE) continue;
    cdr message = cdr_reader(payload, event.length);
    const char *text = cdr_read_string(&message);
    if (message.is_valid) printf("%s\n", text);
    fflush(stdout);
  }
}
