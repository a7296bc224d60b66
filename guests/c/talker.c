// Publishes "hello 0", "hello 1", ... on /chatter, ten times a second. With a number as its argument, ends after so many.
#include "cdr.h"
#include "node.h"

static void publish(runnel_handle publisher, unsigned number) {
  char text[32];
  uint8_t bytes[64];
  snprintf(text, sizeof text, "hello %u", number);
  cdr message = cdr_writer(bytes, sizeof bytes);
  cdr_write_string(&message, text);
  check(runnel_publish(publisher, bytes, message.position));
}

int main(int argc, char **argv) {
  const unsigned last = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : UINT32_MAX;
  const runnel_handle node = create_node("talker");
  const runnel_handle publisher = create_publisher(node, "chatter", "std_msgs/msg/String");
  create_timer(node, 100000000);
  for (unsigned number = 0; number < last;) {
    const runnel_event event = wait_for_event(NULL, 0);
    if (event.kind == RUNNEL_EVENT_KIND_SHUTDOWN) break;
    if (event.kind == RUNNEL_EVENT_KIND_TIMER) publish(publisher, number++);
  }
  return 0;
}
