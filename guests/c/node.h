// What the guests in C and C++ share: errors end the program with their text.
#ifndef NODE_H
#define NODE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runnel.h"

// The positive value of a successful call. Otherwise prints the host's text and ends the program.
static inline int32_t check(int32_t result) {
  if (result >= 0) return result;
  char text[512];
  const int32_t length = runnel_last_error(text, sizeof text);
  const int shown = length < 0 ? 0 : length > (int32_t)sizeof text ? (int)sizeof text : length;
  fprintf(stderr, "%.*s\n", shown, text);
  exit(1);
}

static inline runnel_handle create_node(const char *name) {
  return (runnel_handle)check(runnel_create_node(name, strlen(name)));
}

// Keeps the last `depth` messages; reliable and volatile.
static inline runnel_qos keep_last(uint32_t depth) {
  runnel_qos qos;
  memset(&qos, 0, sizeof qos);
  qos.history = RUNNEL_HISTORY_KEEP_LAST;
  qos.depth = depth;
  qos.reliability = RUNNEL_RELIABILITY_RELIABLE;
  return qos;
}

static inline runnel_handle create_publisher(runnel_handle node, const char *topic, const char *type) {
  const runnel_qos qos = keep_last(10);
  return (runnel_handle)check(
      runnel_create_publisher(node, topic, strlen(topic), type, strlen(type), RUNNEL_ENCODING_CDR, &qos));
}

static inline runnel_handle create_subscription(runnel_handle node, const char *topic, const char *type) {
  const runnel_qos qos = keep_last(10);
  return (runnel_handle)check(
      runnel_create_subscription(node, topic, strlen(topic), type, strlen(type), RUNNEL_ENCODING_CDR, &qos));
}

// A timer that expires each `period` nanoseconds.
static inline runnel_handle create_timer(runnel_handle node, uint64_t period) {
  return (runnel_handle)check(runnel_create_timer(node, period, RUNNEL_CLOCK_ROS, false));
}

// Waits without a time limit. Events with longer payloads than `capacity` end the program; without a place for payloads they
// are dropped.
static inline runnel_event wait_for_event(void *payload, size_t capacity) {
  static uint8_t dropped[65536];
  runnel_event event;
  if (payload == NULL) payload = dropped, capacity = sizeof dropped;
  const int32_t length = check(runnel_wait(UINT64_MAX, &event, payload, capacity));
  if ((size_t)length > capacity) {
    fprintf(stderr, "an event of %d bytes is too long\n", (int)length);
    exit(1);
  }
  return event;
}

static inline void log_info(runnel_handle node, const char *text) {
  check(runnel_log(node, RUNNEL_SEVERITY_INFO, text, strlen(text)));
}

#endif
