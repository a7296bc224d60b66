#include "peer.h"

int32_t checked(int32_t result, const char *action) {
  if (result < 0) fail(action, dds_strretcode(result));
  return result;
}

dds_entity_t topic_of(dds_entity_t participant, const Options *options) {
  const dds_topic_descriptor_t *const types[] = {&std_msgs_msg_dds__String__desc, &std_msgs_msg_dds__UInt8MultiArray__desc,
                                                 &runnel_test_msg_dds__Keyed__desc};
  return checked(dds_create_topic(participant, types[options->kind], options->topic, NULL, NULL), "topic");
}

static dds_duration_t nanoseconds(double seconds) { return (dds_duration_t)(seconds * 1e9); }

dds_qos_t *qos_of(const Options *options) {
  dds_qos_t *qos = dds_create_qos();
  const dds_duration_t lease = options->lease < 0 ? DDS_INFINITY : nanoseconds(options->lease);
  dds_qset_reliability(qos, options->best_effort ? DDS_RELIABILITY_BEST_EFFORT : DDS_RELIABILITY_RELIABLE, DDS_SECS(20));
  dds_qset_durability(qos, options->transient_local ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  dds_qset_history(qos, options->depth ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL, (int32_t)options->depth);
  // The history for late readers has a policy of its own.
  dds_qset_durability_service(qos, 0, options->depth ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL,
                              (int32_t)options->depth, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED,
                              DDS_LENGTH_UNLIMITED);
  dds_qset_liveliness(qos, options->manual_by_topic ? DDS_LIVELINESS_MANUAL_BY_TOPIC : DDS_LIVELINESS_AUTOMATIC, lease);
  if (options->deadline >= 0) dds_qset_deadline(qos, nanoseconds(options->deadline));
  if (options->lifespan >= 0) dds_qset_lifespan(qos, nanoseconds(options->lifespan));
  return qos;
}

static void on_readers(dds_entity_t writer, const dds_publication_matched_status_t status, void *nothing) {
  (void)writer, (void)nothing;
  print_line("matched %u", status.current_count);
}

static void on_writers(dds_entity_t reader, const dds_subscription_matched_status_t status, void *nothing) {
  (void)reader, (void)nothing;
  print_line("matched %u", status.current_count);
}

static void on_refused_reader(dds_entity_t writer, const dds_offered_incompatible_qos_status_t status, void *nothing) {
  (void)writer, (void)nothing;
  print_line("incompatible %s %u", policy(status.last_policy_id), status.total_count);
}

static void on_refused_writer(dds_entity_t reader, const dds_requested_incompatible_qos_status_t status, void *nothing) {
  (void)reader, (void)nothing;
  print_line("incompatible %s %u", policy(status.last_policy_id), status.total_count);
}

static void on_own_deadline(dds_entity_t writer, const dds_offered_deadline_missed_status_t status, void *nothing) {
  (void)writer, (void)nothing;
  print_line("deadline missed %u", status.total_count);
}

static void on_deadline(dds_entity_t reader, const dds_requested_deadline_missed_status_t status, void *nothing) {
  (void)reader, (void)nothing;
  print_line("deadline missed %u", status.total_count);
}

static void on_own_liveliness(dds_entity_t writer, const dds_liveliness_lost_status_t status, void *nothing) {
  (void)writer, (void)nothing;
  print_line("liveliness lost %u", status.total_count);
}

static void on_liveliness(dds_entity_t reader, const dds_liveliness_changed_status_t status, void *nothing) {
  (void)reader, (void)nothing;
  print_line("liveliness %u %u", status.alive_count, status.not_alive_count);
}

static void on_lost(dds_entity_t reader, const dds_sample_lost_status_t status, void *nothing) {
  (void)reader, (void)nothing;
  print_line("lost %u", status.total_count);
}

dds_listener_t *events(void) {
  dds_listener_t *listener = dds_create_listener(NULL);
  dds_lset_publication_matched(listener, on_readers);
  dds_lset_subscription_matched(listener, on_writers);
  dds_lset_offered_incompatible_qos(listener, on_refused_reader);
  dds_lset_requested_incompatible_qos(listener, on_refused_writer);
  dds_lset_offered_deadline_missed(listener, on_own_deadline);
  dds_lset_requested_deadline_missed(listener, on_deadline);
  dds_lset_liveliness_lost(listener, on_own_liveliness);
  dds_lset_liveliness_changed(listener, on_liveliness);
  dds_lset_sample_lost(listener, on_lost);
  return listener;
}
