// The ends of the bench's exchanges on Cyclone DDS. How the bench talks with an end is told in bench/README.md.
//
//   ends ROLE --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE]
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dds/dds.h>

#include "message.h"

// Messages that are taken from a reader at once.
#define AT_ONCE 16

// How long the other end may take to be there, in looks of 5 ms.
#define PATIENCE 4000
#define LOOK DDS_MSECS(5)

static void fail(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\n', stderr);
  exit(1);
}

// An entity or a count as it is; an error of DDS ends the program.
static int32_t checked(int32_t result, const char *what) {
  if (result < 0) fail("cannot %s: %s", what, dds_strretcode(result));
  return result;
}

static void *memory(size_t size) {
  void *memory = calloc(size ? size : 1, 1);
  if (!memory) fail("no memory for %zu bytes", size);
  return memory;
}

// What the bench tells an end.

typedef struct {
  const char *role, *sent, *received;
  uint64_t size, count, warm_up, depth, total;
} Options;

static uint64_t number(const char *text) {
  char *end;
  const uint64_t value = strtoull(text, &end, 10);
  if (end == text || *end) fail("not a number: %s", text);
  return value;
}

static void set_option(Options *options, const char *name, const char *value) {
  if (!strcmp(name, "--size")) options->size = number(value);
  if (!strcmp(name, "--count")) options->count = number(value);
  if (!strcmp(name, "--warm-up")) options->warm_up = number(value);
  if (!strcmp(name, "--depth")) options->depth = number(value);
  if (!strcmp(name, "--sent")) options->sent = value;
  if (!strcmp(name, "--received")) options->received = value;
}

static Options options_of(int argc, char **argv) {
  Options options = {.role = argc > 1 ? argv[1] : "", .sent = "", .received = ""};
  for (int i = 2; i + 1 < argc; i += 2) set_option(&options, argv[i], argv[i + 1]);
  if (options.size < sizeof(uint64_t)) options.size = sizeof(uint64_t);
  if (options.depth < 1) options.depth = 1;
  options.total = options.warm_up + options.count;
  return options;
}

// When messages were sent or received; those of the warm-up are left out.

typedef struct {
  uint64_t warm_up;
  size_t length, room;
  uint64_t *words;
} Stamps;

static Stamps stamps_of(const Options *options) {
  // One that came twice is kept as well.
  const size_t room = 4 * options->count;
  return (Stamps){.warm_up = options->warm_up, .room = room, .words = memory(room * sizeof(uint64_t))};
}

static uint64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void stamp(Stamps *stamps, uint64_t message) {
  if (message < stamps->warm_up || stamps->length == stamps->room) return;
  stamps->words[stamps->length++] = message;
  stamps->words[stamps->length++] = nanoseconds();
}

static void write_stamps(const Stamps *stamps, const char *path) {
  FILE *file = fopen(path, "wb");
  const size_t written = file ? fwrite(stamps->words, sizeof(uint64_t), stamps->length, file) : 0;
  if (!file || fclose(file) || written != stamps->length) fail("cannot write %s", path);
}

// Messages.

static bench_Message message_of(const Options *options) {
  const uint32_t size = (uint32_t)options->size;
  return (bench_Message){.data = {._maximum = size, ._length = size, ._buffer = memory(size)}};
}

static uint64_t number_of(const bench_Message *message) {
  uint64_t number = 0;
  if (message->data._length >= sizeof number) memcpy(&number, message->data._buffer, sizeof number);
  return number;
}

static void set_number(bench_Message *message, uint64_t number) {
  memcpy(message->data._buffer, &number, sizeof number);
}

// Topics of this run alone. A reader and its waitset wake for messages, and once the bench has gone.

static dds_entity_t participant, gone;

static dds_entity_t topic(const char *name) {
  const char *home = getenv("ROS_HOME"), *namespace = getenv("ROS_NAMESPACE");
  const char *run = home && strrchr(home, '/') ? strrchr(home, '/') + 1 : "";
  char whole[256];
  const int length = snprintf(whole, sizeof whole, "%s%s_%s", run, namespace ? namespace : "", name);
  if (length < 0 || (size_t)length >= sizeof whole) fail("the name of the topic %s is too long", name);
  // Names of DDS topics hold letters, digits and underscores.
  for (char *letter = whole; *letter; ++letter) {
    if (!isalnum((unsigned char)*letter)) *letter = '_';
  }
  return checked(dds_create_topic(participant, &bench_Message_desc, whole, NULL, NULL), "create a topic");
}

static dds_qos_t *quality(const Options *options) {
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(20));
  dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, (int32_t)options->depth);
  return qos;
}

static dds_entity_t writer_of(const char *name, const Options *options) {
  dds_qos_t *qos = quality(options);
  const dds_entity_t writer = dds_create_writer(participant, topic(name), qos, NULL);
  dds_delete_qos(qos);
  return checked(writer, "create a writer");
}

typedef struct {
  dds_entity_t reader, waitset;
} Inlet;

static Inlet inlet_of(const char *name, const Options *options) {
  dds_qos_t *qos = quality(options);
  Inlet inlet;
  inlet.reader = checked(dds_create_reader(participant, topic(name), qos, NULL), "create a reader");
  dds_delete_qos(qos);
  const dds_entity_t messages =
      checked(dds_create_readcondition(inlet.reader, DDS_ANY_STATE), "create a condition");
  inlet.waitset = checked(dds_create_waitset(participant), "create a waitset");
  checked(dds_waitset_attach(inlet.waitset, messages, 0), "attach a condition");
  checked(dds_waitset_attach(inlet.waitset, gone, 0), "attach a condition");
  return inlet;
}

static void write_message(dds_entity_t writer, const bench_Message *message) {
  checked(dds_write(writer, message), "write");
}

// Called for each message; false ends the exchange.
typedef bool Take(void *end, const bench_Message *message);

static bool take_some(const Inlet *inlet, Take *take, void *end) {
  void *samples[AT_ONCE] = {NULL};
  dds_sample_info_t infos[AT_ONCE];
  const int32_t count = checked(dds_take(inlet->reader, samples, infos, AT_ONCE, AT_ONCE), "take");
  bool more = true;
  for (int32_t i = 0; i < count && more; ++i) {
    if (infos[i].valid_data) more = take(end, samples[i]);
  }
  if (count > 0) checked(dds_return_loan(inlet->reader, samples, count), "return messages");
  return more;
}

static bool has_gone(void) {
  bool triggered = false;
  checked(dds_read_guardcondition(gone, &triggered), "read a condition");
  return triggered;
}

// Hands each message over as it comes, until `take` breaks off or the bench has gone.
static void each(const Inlet *inlet, Take *take, void *end) {
  while (take_some(inlet, take, end)) {
    dds_attach_t triggered[2];
    checked(dds_waitset_wait(inlet->waitset, triggered, 2, DDS_INFINITY), "wait");
    if (has_gone()) return;
  }
}

static void wait_for_reader(dds_entity_t writer) {
  dds_publication_matched_status_t status = {0};
  for (int look = 0; look < PATIENCE; ++look) {
    checked(dds_get_publication_matched_status(writer, &status), "look for a reader");
    if (status.current_count > 0) return;
    dds_sleepfor(LOOK);
  }
  fail("nobody reads");
}

static void wait_for_writer(dds_entity_t reader) {
  dds_subscription_matched_status_t status = {0};
  for (int look = 0; look < PATIENCE; ++look) {
    checked(dds_get_subscription_matched_status(reader, &status), "look for a writer");
    if (status.current_count > 0) return;
    dds_sleepfor(LOOK);
  }
  fail("nobody writes");
}

// What an end and the bench say to each other.

static void say_ready(void) {
  puts("ready");
  fflush(stdout);
}

// Reads from the bench until there is a line, or nothing any more: then false.
static bool read_line(void) {
  char byte;
  while (read(STDIN_FILENO, &byte, 1) == 1) {
    if (byte == '\n') return true;
  }
  return false;
}

static void wait_for_go(void) {
  if (!read_line()) fail("the bench has gone");
}

static void *wait_for_end(void *nothing) {
  while (read_line()) {
  }
  // An end that ends by itself may have deleted it.
  (void)dds_set_guardcondition(gone, true);
  return nothing;
}

static void end_with_bench(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_for_end, NULL)) fail("cannot start a thread");
  pthread_detach(thread);
}

// The roles.

typedef struct {
  const Options *options;
  dds_entity_t writer;
  bench_Message message;
  Stamps sent, received;
} End;

static End end_of(const Options *options) {
  return (End){.options = options,
               .message = message_of(options),
               .sent = stamps_of(options),
               .received = stamps_of(options)};
}

static void send(End *end, uint64_t number) {
  set_number(&end->message, number);
  stamp(&end->sent, number);
  write_message(end->writer, &end->message);
}

static bool answered(void *data, const bench_Message *message) {
  End *end = data;
  const uint64_t number = number_of(message);
  stamp(&end->received, number);
  if (number + 1 >= end->options->total) return false;
  send(end, number + 1);
  return true;
}

static void ping(const Options *options) {
  End end = end_of(options);
  end.writer = writer_of("ping", options);
  const Inlet answers = inlet_of("pong", options);
  wait_for_reader(end.writer);
  wait_for_writer(answers.reader);
  say_ready();
  wait_for_go();
  end_with_bench();
  send(&end, 0);
  each(&answers, answered, &end);
  write_stamps(&end.sent, options->sent);
  write_stamps(&end.received, options->received);
}

static bool answer(void *data, const bench_Message *message) {
  End *end = data;
  stamp(&end->received, number_of(message));
  write_message(end->writer, message);
  return true;
}

static void pong(const Options *options) {
  End end = end_of(options);
  end.writer = writer_of("pong", options);
  const Inlet questions = inlet_of("ping", options);
  end_with_bench();
  wait_for_reader(end.writer);
  wait_for_writer(questions.reader);
  say_ready();
  each(&questions, answer, &end);
  write_stamps(&end.received, options->received);
}

static void source(const Options *options) {
  End end = end_of(options);
  end.writer = writer_of("burst", options);
  wait_for_reader(end.writer);
  say_ready();
  wait_for_go();
  for (uint64_t number = 0; number < options->total; ++number) send(&end, number);
  // A reader may still ask for what it has lost.
  while (read_line()) {
  }
  write_stamps(&end.sent, options->sent);
}

static bool receive(void *data, const bench_Message *message) {
  End *end = data;
  const uint64_t number = number_of(message);
  stamp(&end->received, number);
  return number + 1 < end->options->total;
}

static void sink(const Options *options) {
  End end = end_of(options);
  const Inlet burst = inlet_of("burst", options);
  end_with_bench();
  wait_for_writer(burst.reader);
  say_ready();
  each(&burst, receive, &end);
  write_stamps(&end.received, options->received);
}

typedef struct {
  const char *name;
  void (*play)(const Options *options);
} Role;

static const Role *role_of(const Options *options) {
  static const Role roles[] = {{"ping", ping}, {"pong", pong}, {"source", source}, {"sink", sink}};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; ++i) {
    if (!strcmp(options->role, roles[i].name)) return &roles[i];
  }
  fail("there is no role '%s'", options->role);
  return NULL;
}

int main(int argc, char **argv) {
  const Options options = options_of(argc, argv);
  const Role *role = role_of(&options);
  participant = checked(dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL), "create a participant");
  gone = checked(dds_create_guardcondition(participant), "create a condition");
  role->play(&options);
  checked(dds_delete(participant), "end");
  return 0;
}
