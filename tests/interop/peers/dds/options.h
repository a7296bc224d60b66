// Shared parts of the DDS talkers and listeners in C and C++: command line, ROS names, bytes of messages.
#pragma once

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum { TEXT, OCTETS, KEYED } Kind;

// Durations are in seconds; negative if not set.
typedef struct {
  char topic[256];
  const char *after, *sizes;
  Kind kind;
  unsigned long count, size, wait, depth;
  double rate, deadline, lifespan, lease;
  bool best_effort, transient_local, manual_by_topic, dispose;
} Options;

static volatile sig_atomic_t stop_requested;

// Prints a line in one write: events arrive on threads of the middleware.
static inline void print_line(const char *format, ...) {
  char line[256];
  va_list values;
  va_start(values, format);
  int length = vsnprintf(line, sizeof line - 1, format, values);
  va_end(values);
  if (length > (int)sizeof line - 2) length = sizeof line - 2;
  line[length++] = '\n';
  if (write(1, line, (size_t)length) < 0) stop_requested = 1;
}

static inline void fail(const char *subject, const char *reason) {
  fprintf(stderr, "%s: %s\n", subject, reason);
  exit(2);
}

static inline Kind kind_of(const char *type) {
  if (strcmp(type, "std_msgs/msg/String") == 0) return TEXT;
  if (strcmp(type, "std_msgs/msg/UInt8MultiArray") == 0) return OCTETS;
  if (strcmp(type, "runnel_test/msg/Keyed") != 0) fail(type, "unknown type");
  return KEYED;
}

static inline const char *dds_name_of(Kind kind) {
  static const char *const names[] = {"std_msgs::msg::dds_::String_", "std_msgs::msg::dds_::UInt8MultiArray_",
                                      "runnel_test::msg::dds_::Keyed_"};
  return names[kind];
}

static void request_stop(int signal) {
  (void)signal;
  stop_requested = 1;
}

// Whether a policy has its second value; exits if it has neither.
static inline bool chosen(const char *value, const char *first, const char *second) {
  if (strcmp(value, first) != 0 && strcmp(value, second) != 0) fail(value, "unknown policy");
  return strcmp(value, second) == 0;
}

// Parses `TOPIC --key value ... --flag ...`. From here on, signals set `stop_requested`.
static inline Options parse_options(int argc, char **argv) {
  Options options = {.topic = "", .after = NULL, .sizes = NULL, .kind = TEXT, .count = 0, .size = 0, .wait = 1,
                     .depth = 1000, .rate = 0, .deadline = -1, .lifespan = -1, .lease = -1, .best_effort = false,
                     .transient_local = false, .manual_by_topic = false, .dispose = false};
  static const struct option known[] = {
      {"type", 1, NULL, 't'},        {"count", 1, NULL, 'c'},      {"size", 1, NULL, 's'},
      {"wait", 1, NULL, 'w'},        {"depth", 1, NULL, 'd'},      {"rate", 1, NULL, 'r'},
      {"deadline", 1, NULL, 'D'},    {"lifespan", 1, NULL, 'S'},   {"lease", 1, NULL, 'L'},
      {"reliability", 1, NULL, 'R'}, {"durability", 1, NULL, 'U'}, {"liveliness", 1, NULL, 'V'},
      {"after", 1, NULL, 'a'},       {"dispose", 0, NULL, 'x'},    {"sizes", 1, NULL, 'z'},
      {NULL, 0, NULL, 0}};
  for (int key; (key = getopt_long(argc, argv, "", known, NULL)) != -1;) switch (key) {
      case 't': options.kind = kind_of(optarg); break;
      case 'c': options.count = strtoul(optarg, NULL, 10); break;
      case 's': options.size = strtoul(optarg, NULL, 10); break;
      case 'w': options.wait = strtoul(optarg, NULL, 10); break;
      case 'd': options.depth = strtoul(optarg, NULL, 10); break;
      case 'r': options.rate = atof(optarg); break;
      case 'D': options.deadline = atof(optarg); break;
      case 'S': options.lifespan = atof(optarg); break;
      case 'L': options.lease = atof(optarg); break;
      case 'R': options.best_effort = chosen(optarg, "reliable", "best_effort"); break;
      case 'U': options.transient_local = chosen(optarg, "volatile", "transient_local"); break;
      case 'V': options.manual_by_topic = chosen(optarg, "automatic", "manual_by_topic"); break;
      case 'a': options.after = optarg; break;
      case 'z': options.sizes = optarg; break;
      case 'x': options.dispose = true; break;
      default: exit(2);
    }
  if (optind != argc - 1) fail(argv[0], "usage: TOPIC [--OPTION VALUE]...");
  snprintf(options.topic, sizeof options.topic, "rt%s", argv[optind]);
  signal(SIGINT, request_stop);
  signal(SIGTERM, request_stop);
  return options;
}

// The size of message `number`; `--sizes A,B,...` are used round-robin.
static inline size_t size_of(const Options *options, unsigned long number) {
  if (!options->sizes) return options->size;
  unsigned long sizes = 1;
  for (const char *at = options->sizes; *at; ++at) sizes += *at == ',';
  const char *at = options->sizes;
  for (unsigned long skip = (number - 1) % sizes; skip; --skip) at = strchr(at, ',') + 1;
  return strtoul(at, NULL, 10);
}

// Whether a talker with this number of matched readers may publish.
static inline bool may_publish(const Options *options, unsigned long readers) {
  return readers >= options->wait && (!options->after || access(options->after, F_OK) == 0);
}

static inline uint32_t domain_id(void) {
  const char *domain = getenv("ROS_DOMAIN_ID");
  return domain ? (uint32_t)strtoul(domain, NULL, 10) : 0;
}

// The payload of message `number`: a zero-terminated text, or bytes. The caller frees it.
static inline uint8_t *payload(Kind kind, uint32_t number, size_t size) {
  char hello[32];
  const size_t least = (size_t)snprintf(hello, sizeof hello, "hello %u", number);
  if (kind != OCTETS && size < least) size = least;
  uint8_t *bytes = (uint8_t *)malloc(size + 1);
  if (!bytes) fail("a message", "no memory");
  bytes[size] = 0;
  if (kind == OCTETS) {
    for (size_t i = 0; i < size; ++i) bytes[i] = (uint8_t)((number + i) % 251);
  } else {
    memset(bytes, '.', size);
    memcpy(bytes, hello, least);
  }
  return bytes;
}

// The key of message `number`.
static inline int32_t key_of(uint32_t number) { return (int32_t)(number % 3); }

// The serialized message, without the encapsulation header. The caller frees it.
typedef struct {
  uint8_t *bytes;
  size_t size;
} Body;

static inline Body body_of(Kind kind, int32_t key, const uint8_t *data, size_t size) {
  // A layout without dimensions precedes bytes. The host is little-endian.
  const size_t header_size = kind == TEXT ? 4 : kind == KEYED ? 8 : 12;
  const uint32_t stored = (uint32_t)(kind == OCTETS ? size : size + 1);
  Body body = {(uint8_t *)calloc(1, header_size + stored), header_size + stored};
  if (!body.bytes) fail("a message", "no memory");
  if (kind == KEYED) memcpy(body.bytes, &key, sizeof key);
  memcpy(body.bytes + header_size - 4, &stored, sizeof stored);
  memcpy(body.bytes + header_size, data, size);
  return body;
}

static inline uint32_t crc32_of(const uint8_t *bytes, size_t size) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

// Prints `EVENT N len L crc C`: number, length and CRC-32 of a message.
static inline void print_message(const char *event, unsigned long number, Body body) {
  print_line("%s %lu len %zu crc %08x", event, number, body.size, crc32_of(body.bytes, body.size));
}

// The name of a policy by its id in the DDS specification.
static inline const char *policy(uint32_t number) {
  static const char *const names[] = {"invalid",           "user_data",   "durability",  "presentation", "deadline",
                                      "latency_budget",    "ownership",   "strength",    "liveliness",   "time_filter",
                                      "partition",         "reliability", "destination", "history"};
  return number < sizeof names / sizeof *names ? names[number] : "other";
}
