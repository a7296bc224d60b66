// Creates an endpoint of every profile on one topic: `matrix TOPIC writers|readers TAG`. See peers/rclpy/matrix.py.
#include "matrix.h"

#include "peer.h"

static dds_duration_t nanoseconds(double seconds) { return seconds < 0 ? DDS_INFINITY : (dds_duration_t)(seconds * 1e9); }

static dds_qos_t *qos_of_number(unsigned number) {
  const Profile profile = profile_of(number);
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, profile.reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_SECS(20));
  dds_qset_durability(qos, profile.transient_local ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  dds_qset_history(qos, profile.keeps_all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST, 1000);
  dds_qset_liveliness(qos, profile.manual_by_topic ? DDS_LIVELINESS_MANUAL_BY_TOPIC : DDS_LIVELINESS_AUTOMATIC,
                      nanoseconds(profile.lease));
  dds_qset_deadline(qos, nanoseconds(profile.deadline));
  return qos;
}

static void on_readers(dds_entity_t writer, const dds_publication_matched_status_t status, void *number) {
  (void)writer;
  print_line("%u matched %u", (unsigned)(uintptr_t)number, status.current_count);
}

static void on_writers(dds_entity_t reader, const dds_subscription_matched_status_t status, void *number) {
  (void)reader;
  print_line("%u matched %u", (unsigned)(uintptr_t)number, status.current_count);
}

static void on_refused_readers(dds_entity_t writer, const dds_offered_incompatible_qos_status_t status, void *number) {
  (void)writer;
  print_line("%u refused %u", (unsigned)(uintptr_t)number, status.total_count);
}

static void on_refused_writers(dds_entity_t reader, const dds_requested_incompatible_qos_status_t status, void *number) {
  (void)reader;
  print_line("%u refused %u", (unsigned)(uintptr_t)number, status.total_count);
}

static dds_listener_t *new_listener(unsigned number) {
  dds_listener_t *listener = dds_create_listener((void *)(uintptr_t)number);
  dds_lset_publication_matched(listener, on_readers);
  dds_lset_subscription_matched(listener, on_writers);
  dds_lset_offered_incompatible_qos(listener, on_refused_readers);
  dds_lset_requested_incompatible_qos(listener, on_refused_writers);
  return listener;
}

static void write_all(dds_entity_t participant, dds_entity_t topic, const char *tag) {
  dds_entity_t writers[PROFILES];
  for (unsigned number = 0; number < PROFILES; ++number)
    writers[number] = checked(dds_create_writer(participant, topic, qos_of_number(number), new_listener(number)),
                              "writer");
  print_line("ready");
  while (!stop_requested) {
    for (unsigned number = 0; number < PROFILES; ++number) {
      char text[64];
      snprintf(text, sizeof text, "%s %u", tag, number);
      checked(dds_write(writers[number], &(Text){text}), "write");
    }
    for (int wait = 0; wait < 20 && !stop_requested; ++wait) dds_sleepfor(DDS_MSECS(50));
  }
}

static void read_all(dds_entity_t participant, dds_entity_t topic) {
  static ReceptionLog log;
  dds_entity_t readers[PROFILES];
  for (unsigned number = PROFILES; number-- > 0;)
    readers[number] = checked(dds_create_reader(participant, topic, qos_of_number(number), new_listener(number)),
                              "reader");
  print_line("ready");
  for (; !stop_requested; dds_sleepfor(DDS_MSECS(20)))
    for (unsigned number = 0; number < PROFILES; ++number) {
      void *sample = NULL;
      dds_sample_info_t info;
      while (checked(dds_take(readers[number], &sample, &info, 1, 1), "take") > 0) {
        if (info.valid_data) log_first(&log, number, ((Text *)sample)->data);
        checked(dds_return_loan(readers[number], &sample, 1), "return");
        sample = NULL;
      }
    }
}

int main(int argc, char **argv) {
  const Matrix matrix = matrix_of(argc, argv);
  Options options = {.kind = TEXT};
  memcpy(options.topic, matrix.topic, sizeof options.topic);
  const dds_entity_t participant = checked(dds_create_participant(domain_id(), NULL, NULL), "participant");
  const dds_entity_t topic = topic_of(participant, &options);
  matrix.writes ? write_all(participant, topic, matrix.tag) : read_all(participant, topic);
  checked(dds_delete(participant), "delete");
}
