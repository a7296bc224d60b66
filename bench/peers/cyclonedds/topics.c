#include "topics.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talk.h"

// Messages that are taken from a reader at once.
#define AT_ONCE 16

// How long the other end may take to be there, in looks of 5 ms.
#define PATIENCE 4000
#define LOOK DDS_MSECS(5)

static dds_entity_t participant, gone;

void open_participant(void) {
  participant = checked(dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL), "create a participant");
  gone = checked(dds_create_guardcondition(participant), "create a condition");
}

void close_participant(void) { checked(dds_delete(participant), "end"); }

int32_t checked(int32_t result, const char *what) {
  if (result < 0) fail("cannot %s: %s", what, dds_strretcode(result));
  return result;
}

dds_entity_t topic(const char *name, const dds_topic_descriptor_t *type) {
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
  dds_qset_reliability(qos, options->best_effort ? DDS_RELIABILITY_BEST_EFFORT : DDS_RELIABILITY_RELIABLE, DDS_SECS(20));
  dds_qset_history(qos, options->keep_all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST, (int32_t)options->depth);
  return qos;
}

dds_entity_t writer_of(dds_entity_t topic, const Options *options) {
  dds_qos_t *qos = quality(options);
  const dds_entity_t writer = dds_create_writer(participant, topic, qos, NULL);
  dds_delete_qos(qos);
  return checked(writer, "create a writer");
}

dds_entity_t reader_of(dds_entity_t topic, const Options *options) {
  dds_qos_t *qos = quality(options);
  const dds_entity_t reader = dds_create_reader(participant, topic, qos, NULL);
  dds_delete_qos(qos);
  return checked(reader, "create a reader");
}

Inlet inlet_for(size_t readers) {
  Inlet inlet = {.readers = memory(readers * sizeof *inlet.readers)};
  inlet.woken = memory((readers + 1) * sizeof *inlet.woken);
  inlet.waitset = checked(dds_create_waitset(participant), "create a waitset");
  checked(dds_waitset_attach(inlet.waitset, gone, (dds_attach_t)readers), "attach a condition");
  return inlet;
}

void attach(Inlet *inlet, dds_entity_t reader) {
  const dds_entity_t messages = checked(dds_create_readcondition(reader, DDS_ANY_STATE), "create a condition");
  checked(dds_waitset_attach(inlet->waitset, messages, (dds_attach_t)inlet->count), "attach a condition");
  inlet->readers[inlet->count++] = reader;
}

Inlet inlet_of(const char *name, const dds_topic_descriptor_t *type, const Options *options) {
  Inlet inlet = inlet_for(1);
  attach(&inlet, reader_of(topic(name, type), options));
  return inlet;
}

void write_message(dds_entity_t writer, const void *message) { checked(dds_write(writer, message), "write"); }

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

bool wait_and_take(const Inlet *inlet, dds_duration_t most, Take *take, void *end) {
  const int32_t woken = checked(dds_waitset_wait(inlet->waitset, inlet->woken, inlet->count + 1, most), "wait");
  if (has_gone()) return false;
  for (int32_t i = 0; i < woken; ++i) {
    const size_t place = (size_t)inlet->woken[i];
    if (place < inlet->count && !take_some(inlet->readers[place], take, end)) return false;
  }
  return true;
}

void each(const Inlet *inlet, Take *take, void *end) {
  while (wait_and_take(inlet, DDS_INFINITY, take, end)) {
  }
}

void wait_for_readers(dds_entity_t writer, uint64_t count) {
  dds_publication_matched_status_t status = {0};
  for (int look = 0; look < PATIENCE; ++look) {
    checked(dds_get_publication_matched_status(writer, &status), "look for a reader");
    if (status.current_count >= count) return;
    dds_sleepfor(LOOK);
  }
  fail("nobody reads");
}

void wait_for_writers(const Inlet *inlet) {
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

static void *notice_end(void *nothing) {
  while (read_line()) {
  }
  // An end that ends by itself may have deleted it.
  (void)dds_set_guardcondition(gone, true);
  return nothing;
}

void end_with_bench(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, notice_end, NULL)) fail("cannot start a thread");
  pthread_detach(thread);
}
