// The ends of the bench's exchanges on Cyclone DDS. How the bench talks with an end is told in bench/README.md.
//
//   ends ROLE --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE] [--rate HZ] [--watermark N]
//     [--sizes B,B,..] [--topics N] [--subscribers N] [--touch none|write|read]
#include <ctype.h>
#include <inttypes.h>
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

// Most sizes that messages may have.
#define SIZES 64

// Most bytes of a text, its end included.
#define TEXT 64

#define SECOND UINT64_C(1000000000)

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
  uint64_t size, count, warm_up, depth, total, rate, watermark, topics, subscribers;
  uint64_t sizes[SIZES];
  size_t size_count;
  bool writes, reads;
} Options;

static uint64_t number(const char *text) {
  char *end;
  const uint64_t value = strtoull(text, &end, 10);
  if (end == text || *end) fail("not a number: %s", text);
  return value;
}

static void set_sizes(Options *options, const char *value) {
  char *end = (char *)value;
  do {
    if (options->size_count == SIZES) fail("more than %d sizes", SIZES);
    options->sizes[options->size_count++] = strtoull(end, &end, 10);
  } while (*end++ == ',');
  if (end[-1]) fail("not sizes: %s", value);
}

static void set_option(Options *options, const char *name, const char *value) {
  if (!strcmp(name, "--size")) options->size = number(value);
  if (!strcmp(name, "--count")) options->count = number(value);
  if (!strcmp(name, "--warm-up")) options->warm_up = number(value);
  if (!strcmp(name, "--depth")) options->depth = number(value);
  if (!strcmp(name, "--rate")) options->rate = number(value);
  if (!strcmp(name, "--watermark")) options->watermark = number(value);
  if (!strcmp(name, "--topics")) options->topics = number(value);
  if (!strcmp(name, "--subscribers")) options->subscribers = number(value);
  if (!strcmp(name, "--sizes")) set_sizes(options, value);
  if (!strcmp(name, "--touch")) {
    options->reads = !strcmp(value, "read");
    options->writes = options->reads || !strcmp(value, "write");
  }
  if (!strcmp(name, "--sent")) options->sent = value;
  if (!strcmp(name, "--received")) options->received = value;
}

static Options options_of(int argc, char **argv) {
  Options options = {.role = argc > 1 ? argv[1] : "", .sent = "", .received = ""};
  for (int i = 2; i + 1 < argc; i += 2) set_option(&options, argv[i], argv[i + 1]);
  if (options.size < sizeof(uint64_t)) options.size = sizeof(uint64_t);
  if (options.depth < 1) options.depth = 1;
  if (options.subscribers < 1) options.subscribers = 1;
  options.total = options.warm_up + options.count;
  return options;
}

// Bytes of a message: of each size there are as many, one after the other.
static uint32_t size_of(const Options *options, uint64_t number) {
  uint64_t size = options->size;
  if (options->size_count > 0) {
    const uint64_t each = options->total / options->size_count;
    const uint64_t index = each > 0 ? number / each : 0, last = options->size_count - 1;
    size = options->sizes[index < last ? index : last];
  }
  return (uint32_t)(size < sizeof number ? sizeof number : size);
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

// When messages are due: one that is late shifts no other. Without a rate each is due at once.

typedef struct {
  uint64_t rate, start;
} Pace;

static uint64_t due(Pace *pace, uint64_t number) {
  if (!pace->rate) return 0;
  if (!pace->start) pace->start = nanoseconds();
  return pace->start + number * SECOND / pace->rate;
}

static void wait_until_due(Pace *pace, uint64_t number) {
  const uint64_t at = due(pace, number);
  const struct timespec time = {.tv_sec = (time_t)(at / SECOND), .tv_nsec = (long)(at % SECOND)};
  // A signal ends it early.
  while (nanoseconds() < at) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
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

// Writes all bytes behind the number.
static void fill(bench_Message *message, uint64_t number) {
  memset(message->data._buffer + sizeof number, (uint8_t)number, message->data._length - sizeof number);
}

// Whether they are what the source wrote.
static bool is_whole(const bench_Message *message, uint64_t number) {
  uint64_t sum = 0;
  for (uint32_t i = sizeof number; i < message->data._length; ++i) sum += message->data._buffer[i];
  return sum == (message->data._length - sizeof number) * (number & 0xff);
}

// Topics of this run alone. A waitset wakes for messages, and once the bench has gone.

static dds_entity_t participant, gone;

static dds_entity_t topic(const char *name, const dds_topic_descriptor_t *type) {
  const char *home = getenv("ROS_HOME"), *namespace = getenv("ROS_NAMESPACE");
  const char *run = home && strrchr(home, '/') ? strrchr(home, '/') + 1 : "";
  char whole[256];
  const int length = snprintf(whole, sizeof whole, "%s%s_%s", run, namespace ? namespace : "", name);
  if (length < 0 || (size_t)length >= sizeof whole) fail("the name of the topic %s is too long", name);
  // Names of DDS topics hold letters, digits and underscores.
  for (char *letter = whole; *letter; ++letter) {
    if (!isalnum((unsigned char)*letter)) *letter = '_';
  }
  return checked(dds_create_topic(participant, type, whole, NULL, NULL), "create a topic");
}

static dds_qos_t *quality(const Options *options) {
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(20));
  dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, (int32_t)options->depth);
  return qos;
}

static dds_entity_t writer_of(dds_entity_t topic, const Options *options) {
  dds_qos_t *qos = quality(options);
  const dds_entity_t writer = dds_create_writer(participant, topic, qos, NULL);
  dds_delete_qos(qos);
  return checked(writer, "create a writer");
}

static dds_entity_t reader_of(dds_entity_t topic, const Options *options) {
  dds_qos_t *qos = quality(options);
  const dds_entity_t reader = dds_create_reader(participant, topic, qos, NULL);
  dds_delete_qos(qos);
  return checked(reader, "create a reader");
}

// Readers, each attached to the waitset with its place.
typedef struct {
  size_t count;
  dds_entity_t *readers, waitset;
  dds_attach_t *woken;
} Inlet;

static void attach(Inlet *inlet, dds_entity_t reader) {
  const dds_entity_t messages = checked(dds_create_readcondition(reader, DDS_ANY_STATE), "create a condition");
  checked(dds_waitset_attach(inlet->waitset, messages, (dds_attach_t)inlet->count), "attach a condition");
  inlet->readers[inlet->count++] = reader;
}

static Inlet inlet_for(size_t readers) {
  Inlet inlet = {.readers = memory(readers * sizeof *inlet.readers)};
  inlet.woken = memory((readers + 1) * sizeof *inlet.woken);
  inlet.waitset = checked(dds_create_waitset(participant), "create a waitset");
  checked(dds_waitset_attach(inlet.waitset, gone, (dds_attach_t)readers), "attach a condition");
  return inlet;
}

static Inlet inlet_of(const char *name, const dds_topic_descriptor_t *type, const Options *options) {
  Inlet inlet = inlet_for(1);
  attach(&inlet, reader_of(topic(name, type), options));
  return inlet;
}

// The topics there, which messages take by turns.

static size_t topic_count(const Options *options) { return options->topics ? options->topics : 1; }

static dds_entity_t question(size_t index, const Options *options) {
  char name[32] = "ping";
  if (options->topics) snprintf(name, sizeof name, "ping_%zu", index);
  return topic(name, &bench_Message_desc);
}

static Inlet questions_of(const Options *options) {
  Inlet inlet = inlet_for(topic_count(options));
  for (size_t i = 0; i < topic_count(options); ++i) attach(&inlet, reader_of(question(i, options), options));
  return inlet;
}

static void write_message(dds_entity_t writer, const void *message) { checked(dds_write(writer, message), "write"); }

// Called for each message; false ends the exchange.
typedef bool Take(void *end, const void *message);

static bool take_some(dds_entity_t reader, Take *take, void *end) {
  void *samples[AT_ONCE] = {NULL};
  dds_sample_info_t infos[AT_ONCE];
  const int32_t count = checked(dds_take(reader, samples, infos, AT_ONCE, AT_ONCE), "take");
  bool more = true;
  for (int32_t i = 0; i < count && more; ++i) {
    if (infos[i].valid_data) more = take(end, samples[i]);
  }
  if (count > 0) checked(dds_return_loan(reader, samples, count), "return messages");
  return more;
}

static bool has_gone(void) {
  bool triggered = false;
  checked(dds_read_guardcondition(gone, &triggered), "read a condition");
  return triggered;
}

// Waits for at most so many nanoseconds, and hands the messages over that have come; false once `take` has broken off
// or the bench has gone.
static bool wait_and_take(const Inlet *inlet, dds_duration_t most, Take *take, void *end) {
  const int32_t woken = checked(dds_waitset_wait(inlet->waitset, inlet->woken, inlet->count + 1, most), "wait");
  if (has_gone()) return false;
  for (int32_t i = 0; i < woken; ++i) {
    const size_t place = (size_t)inlet->woken[i];
    if (place < inlet->count && !take_some(inlet->readers[place], take, end)) return false;
  }
  return true;
}

// Hands each message over as it comes, until `take` breaks off or the bench has gone.
static void each(const Inlet *inlet, Take *take, void *end) {
  while (wait_and_take(inlet, DDS_INFINITY, take, end)) {
  }
}

static void wait_for_readers(dds_entity_t writer, uint64_t count) {
  dds_publication_matched_status_t status = {0};
  for (int look = 0; look < PATIENCE; ++look) {
    checked(dds_get_publication_matched_status(writer, &status), "look for a reader");
    if (status.current_count >= count) return;
    dds_sleepfor(LOOK);
  }
  fail("nobody reads");
}

static void wait_for_writers(const Inlet *inlet) {
  dds_subscription_matched_status_t status = {0};
  size_t joined = 0;
  for (int look = 0; look < PATIENCE; ++look) {
    for (; joined < inlet->count; ++joined) {
      checked(dds_get_subscription_matched_status(inlet->readers[joined], &status), "look for a writer");
      if (status.current_count == 0) break;
    }
    if (joined == inlet->count) return;
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

static void *notice_end(void *nothing) {
  while (read_line()) {
  }
  // An end that ends by itself may have deleted it.
  (void)dds_set_guardcondition(gone, true);
  return nothing;
}

static void end_with_bench(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, notice_end, NULL)) fail("cannot start a thread");
  pthread_detach(thread);
}

// The roles.

typedef struct {
  const Options *options;
  // What it publishes on, by turns.
  size_t writer_count;
  dds_entity_t *writers;
  bench_Message message;
  uint64_t answered;
  Stamps sent, received;
} End;

static End end_of(const Options *options) {
  return (End){.options = options,
               .writers = memory(topic_count(options) * sizeof(dds_entity_t)),
               .message = message_of(options),
               .sent = stamps_of(options),
               .received = stamps_of(options)};
}

static void publish_on(End *end, dds_entity_t topic) {
  end->writers[end->writer_count++] = writer_of(topic, end->options);
}

static void wait_for_all_readers(const End *end, uint64_t count) {
  for (size_t i = 0; i < end->writer_count; ++i) wait_for_readers(end->writers[i], count);
}

static void send(End *end, uint64_t number) {
  end->message.data._length = size_of(end->options, number);
  set_number(&end->message, number);
  stamp(&end->sent, number);
  if (end->options->writes) fill(&end->message, number);
  write_message(end->writers[number % end->writer_count], &end->message);
}

static bool answered(void *data, const void *message) {
  End *end = data;
  const uint64_t number = number_of(message);
  stamp(&end->received, number);
  if (number + 1 >= end->options->total) return false;
  send(end, number + 1);
  return true;
}

static bool counted(void *data, const void *message) {
  End *end = data;
  stamp(&end->received, number_of(message));
  return ++end->answered < end->options->total;
}

// Sends each message when it is due, as long as few enough are unanswered.
static void flow(End *end, const Inlet *answers) {
  const Options *options = end->options;
  Pace pace = {.rate = options->rate};
  uint64_t next = 0;
  dds_duration_t most = 0;
  do {
    const bool may_send = next < options->total && next - end->answered < options->watermark;
    const uint64_t now = nanoseconds(), at = may_send ? due(&pace, next) : UINT64_MAX;
    if (at <= now) send(end, next++);
    // After each message it looks for answers, and waits only while none is due.
    most = at <= now ? 0 : may_send ? (dds_duration_t)(at - now) : DDS_INFINITY;
  } while (wait_and_take(answers, most, counted, end));
}

static void ping(const Options *options) {
  End end = end_of(options);
  for (size_t i = 0; i < topic_count(options); ++i) publish_on(&end, question(i, options));
  const Inlet answers = inlet_of("pong", &bench_Message_desc, options);
  wait_for_all_readers(&end, 1);
  wait_for_writers(&answers);
  say_ready();
  wait_for_go();
  end_with_bench();
  if (options->watermark) {
    flow(&end, &answers);
  } else {
    send(&end, 0);
    each(&answers, answered, &end);
  }
  write_stamps(&end.sent, options->sent);
  write_stamps(&end.received, options->received);
}

static bool answer(void *data, const void *message) {
  End *end = data;
  stamp(&end->received, number_of(message));
  write_message(end->writers[0], message);
  return true;
}

static void pong(const Options *options) {
  End end = end_of(options);
  publish_on(&end, topic("pong", &bench_Message_desc));
  const Inlet questions = questions_of(options);
  end_with_bench();
  wait_for_all_readers(&end, 1);
  wait_for_writers(&questions);
  say_ready();
  each(&questions, answer, &end);
  write_stamps(&end.received, options->received);
}

// A reader may still ask for what it has lost.
static void wait_for_end(void) {
  while (read_line()) {
  }
}

static void source(const Options *options) {
  End end = end_of(options);
  Pace pace = {.rate = options->rate};
  publish_on(&end, topic("burst", &bench_Message_desc));
  wait_for_all_readers(&end, options->subscribers);
  say_ready();
  wait_for_go();
  for (uint64_t number = 0; number < options->total; ++number) {
    wait_until_due(&pace, number);
    send(&end, number);
  }
  wait_for_end();
  write_stamps(&end.sent, options->sent);
}

static bool take_number(End *end, uint64_t number) {
  stamp(&end->received, number);
  return number + 1 < end->options->total;
}

static bool take_burst(void *data, const void *message) {
  End *end = data;
  const uint64_t number = number_of(message);
  if (end->options->reads && !is_whole(message, number)) fail("a payload is not what was sent");
  return take_number(end, number);
}

// Takes all messages of a topic.
static void take_all(const char *name, const dds_topic_descriptor_t *type, Take *take, const Options *options) {
  End end = end_of(options);
  const Inlet inlet = inlet_of(name, type, options);
  end_with_bench();
  wait_for_writers(&inlet);
  say_ready();
  each(&inlet, take, &end);
  write_stamps(&end.received, options->received);
}

static void sink(const Options *options) { take_all("burst", &bench_Message_desc, take_burst, options); }

// Small messages: texts, and pairs of integers through a chain of three ends.

static const char greeting[] = "hello world ";

static void write_text(dds_entity_t writer, uint64_t number) {
  char text[TEXT];
  snprintf(text, sizeof text, "%s%" PRIu64, greeting, number);
  write_message(writer, &(bench_Text){.data = text});
}

static void write_para(dds_entity_t writer, uint64_t number) {
  write_message(writer, &(bench_TwoInts){.a = (int32_t)number, .b = 1});
}

// Sends all messages, each when it is due.
static void send_all(dds_entity_t topic, void (*write)(dds_entity_t, uint64_t), const Options *options) {
  Stamps sent = stamps_of(options);
  Pace pace = {.rate = options->rate};
  const dds_entity_t writer = writer_of(topic, options);
  wait_for_readers(writer, 1);
  say_ready();
  wait_for_go();
  for (uint64_t number = 0; number < options->total; ++number) {
    wait_until_due(&pace, number);
    stamp(&sent, number);
    write(writer, number);
  }
  wait_for_end();
  write_stamps(&sent, options->sent);
}

static bool take_text(void *end, const void *message) {
  const bench_Text *text = message;
  if (strncmp(text->data, greeting, sizeof greeting - 1)) fail("not a text that was sent: %s", text->data);
  return take_number(end, number(text->data + sizeof greeting - 1));
}

static bool take_sum(void *end, const void *message) {
  const bench_TwoInts *sum = message;
  if (sum->b != sum->a + 1) fail("%d and 1 are not %d", sum->a, sum->b);
  return take_number(end, (uint64_t)sum->a);
}

static bool add_para(void *data, const void *message) {
  const End *end = data;
  const bench_TwoInts *para = message;
  write_message(end->writers[0], &(bench_TwoInts){.a = para->a, .b = para->a + para->b});
  return true;
}

static void talker(const Options *options) { send_all(topic("chatter", &bench_Text_desc), write_text, options); }

static void listener(const Options *options) { take_all("chatter", &bench_Text_desc, take_text, options); }

static void para_in(const Options *options) { send_all(topic("para", &bench_TwoInts_desc), write_para, options); }

static void para_add(const Options *options) {
  End end = end_of(options);
  publish_on(&end, topic("sum", &bench_TwoInts_desc));
  const Inlet paras = inlet_of("para", &bench_TwoInts_desc, options);
  end_with_bench();
  wait_for_all_readers(&end, 1);
  wait_for_writers(&paras);
  say_ready();
  each(&paras, add_para, &end);
}

static void add(const Options *options) { take_all("sum", &bench_TwoInts_desc, take_sum, options); }

typedef struct {
  const char *name;
  void (*play)(const Options *options);
} Role;

static const Role *role_of(const Options *options) {
  static const Role roles[] = {{"ping", ping},     {"pong", pong},         {"source", source},
                               {"sink", sink},     {"talker", talker},     {"listener", listener},
                               {"para-in", para_in}, {"para-add", para_add}, {"add", add}};
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
