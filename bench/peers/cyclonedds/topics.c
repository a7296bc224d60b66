#include "topics.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talk.h"

// Messages per call of dds_take.
#define BATCH 16

// Time limit for the other end to match: checks, one every 5 ms.
#define MAX_CHECKS 4000
#define CHECK_INTERVAL DDS_MSECS(5)

static dds_entity_t participant, stop_condition;

void open_participant(void) {
  participant = checked(dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL), "create a participant");
  stop_condition = checked(dds_create_guardcondition(participant), "create a condition");
}

void close_participant(void) { checked(dds_delete(participant), "delete the participant"); }

int32_t checked(int32_t result, const char *action) {
  if (result < 0) fail("cannot %s: %s", action, dds_strretcode(result));
  return result;
}

dds_entity_t topic(const char *name, const dds_topic_descriptor_t *type) {
  const char *home = getenv("ROS_HOME"), *namespace = getenv("ROS_NAMESPACE");
  const char *run = home && strrchr(home, '/') ? strrchr(home, '/') + 1 : "";
  char full[256];
  const int length = snprintf(full, sizeof full, "%s%s_%s", run, namespace ? namespace : "", name);
  if (length < 0 || (size_t)length >= sizeof full) fail("the name of the topic %s is too long", name);
  // DDS topic names have only letters, digits and underscores.
  for (char *letter = full; *letter; ++letter) {
    if (!isalnum((unsigned char)*letter)) *letter = '_';
  }
  return checked(dds_create_topic(participant, type, full, NULL, NULL), "create a topic");
}

static dds_qos_t *qos_of(const Options *options) {
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, options->best_effort ? DDS_RELIABILITY_BEST_EFFORT : DDS_RELIABILITY_RELIABLE, DDS_SECS(20));
  dds_qset_history(qos, options->keep_all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST, (int32_t)options->depth);
  return qos;
}

dds_entity_t writer_of(dds_entity_t topic, const Options *options) {
  dds_qos_t *qos = qos_of(options);
  const dds_entity_t writer = dds_create_writer(participant, topic, qos, NULL);
  dds_delete_qos(qos);
  return checked(writer, "create a writer");
}

dds_entity_t reader_of(dds_entity_t topic, const Options *options) {
  dds_qos_t *qos = qos_of(options);
  const dds_entity_t reader = dds_create_reader(participant, topic, qos, NULL);
  dds_delete_qos(qos);
  return checked(reader, "create a reader");
}

ReaderSet new_reader_set(size_t capacity) {
  ReaderSet readers = {.readers = memory(capacity * sizeof *readers.readers)};
  readers.woken = memory((capacity + 1) * sizeof *readers.woken);
  readers.waitset = checked(dds_create_waitset(participant), "create a waitset");
  checked(dds_waitset_attach(readers.waitset, stop_condition, (dds_attach_t)capacity), "attach a condition");
  return readers;
}

void attach(ReaderSet *readers, dds_entity_t reader) {
  const dds_entity_t messages = checked(dds_create_readcondition(reader, DDS_ANY_STATE), "create a condition");
  checked(dds_waitset_attach(readers->waitset, messages, (dds_attach_t)readers->count), "attach a condition");
  readers->readers[readers->count++] = reader;
}

ReaderSet reader_set_of(const char *name, const dds_topic_descriptor_t *type, const Options *options) {
  ReaderSet readers = new_reader_set(1);
  attach(&readers, reader_of(topic(name, type), options));
  return readers;
}

void write_message(dds_entity_t writer, const void *message) { checked(dds_write(writer, message), "write"); }

static bool take_batch(dds_entity_t reader, OnMessage *on_message, void *end) {
  void *samples[BATCH] = {NULL};
  dds_sample_info_t infos[BATCH];
  const int32_t count = checked(dds_take(reader, samples, infos, BATCH, BATCH), "take");
  bool more = true;
  for (int32_t i = 0; i < count && more; ++i) {
    if (infos[i].valid_data) more = on_message(end, samples[i]);
  }
  if (count > 0) checked(dds_return_loan(reader, samples, count), "return messages");
  return more;
}

static bool is_stop_requested(void) {
  bool triggered = false;
  checked(dds_read_guardcondition(stop_condition, &triggered), "read a condition");
  return triggered;
}

bool wait_and_dispatch(const ReaderSet *readers, dds_duration_t timeout, OnMessage *on_message, void *end) {
  const int32_t woken = checked(dds_waitset_wait(readers->waitset, readers->woken, readers->count + 1, timeout), "wait");
  if (is_stop_requested()) return false;
  for (int32_t i = 0; i < woken; ++i) {
    const size_t index = (size_t)readers->woken[i];
    if (index < readers->count && !take_batch(readers->readers[index], on_message, end)) return false;
  }
  return true;
}

void dispatch_all(const ReaderSet *readers, OnMessage *on_message, void *end) {
  while (wait_and_dispatch(readers, DDS_INFINITY, on_message, end)) {
  }
}

void wait_for_readers(dds_entity_t writer, uint64_t count) {
  dds_publication_matched_status_t status = {0};
  for (int check = 0; check < MAX_CHECKS; ++check) {
    checked(dds_get_publication_matched_status(writer, &status), "get the matched readers");
    if (status.current_count >= count) return;
    dds_sleepfor(CHECK_INTERVAL);
  }
  fail("no reader matched");
}

void wait_for_writers(const ReaderSet *readers) {
  dds_subscription_matched_status_t status = {0};
  size_t matched = 0;
  for (int check = 0; check < MAX_CHECKS; ++check) {
    for (; matched < readers->count; ++matched) {
      checked(dds_get_subscription_matched_status(readers->readers[matched], &status), "get the matched writers");
      if (status.current_count == 0) break;
    }
    if (matched == readers->count) return;
    dds_sleepfor(CHECK_INTERVAL);
  }
  fail("no writer matched");
}

static void *watch_stdin(void *nothing) {
  while (read_line()) {
  }
  // An end that is exiting may have deleted the condition.
  (void)dds_set_guardcondition(stop_condition, true);
  return nothing;
}

void stop_on_eof(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch_stdin, NULL)) fail("cannot start a thread");
  pthread_detach(thread);
}
