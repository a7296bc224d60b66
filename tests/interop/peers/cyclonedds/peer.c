#include "peer.h"

int32_t checked(int32_t result, const char *what) {
  if (result < 0) fail(what, dds_strretcode(result));
  return result;
}

dds_entity_t topic_of(dds_entity_t participant, const Words *words) {
  const dds_topic_descriptor_t *const types[] = {&std_msgs_msg_dds__String__desc, &std_msgs_msg_dds__UInt8MultiArray__desc,
                                                 &runnel_test_msg_dds__Keyed__desc};
  return checked(dds_create_topic(participant, types[words->kind], words->topic, NULL, NULL), "topic");
}

static dds_duration_t nanoseconds(double seconds) { return (dds_duration_t)(seconds * 1e9); }

dds_qos_t *qos_of(const Words *words) {
  dds_qos_t *qos = dds_create_qos();
  const dds_duration_t lease = words->lease < 0 ? DDS_INFINITY : nanoseconds(words->lease);
  dds_qset_reliability(qos, words->best_effort ? DDS_RELIABILITY_BEST_EFFORT : DDS_RELIABILITY_RELIABLE, DDS_SECS(20));
  dds_qset_durability(qos, words->transient_local ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  dds_qset_history(qos, words->depth ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL, (int32_t)words->depth);
  // What a late reader is given is a matter of another policy.
  dds_qset_durability_service(qos, 0, words->depth ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL, (int32_t)words->depth,
                              DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
  dds_qset_liveliness(qos, words->manual_by_topic ? DDS_LIVELINESS_MANUAL_BY_TOPIC : DDS_LIVELINESS_AUTOMATIC, lease);
  if (words->deadline >= 0) dds_qset_deadline(qos, nanoseconds(words->deadline));
  if (words->lifespan >= 0) dds_qset_lifespan(qos, nanoseconds(words->lifespan));
  return qos;
}

static void on_readers(dds_entity_t writer, const dds_publication_matched_status_t status, void *nothing) {
  (void)writer, (void)nothing;
  say("matched %u", status.current_count);
}

static void on_writers(dds_entity_t reader, const dds_subscription_matched_status_t status, void *nothing) {
  (void)reader, (void)nothing;
  say("matched %u", status.current_count);
}

static void on_refused_reader(dds_entity_t writer, const dds_offered_incompatible_qos_status_t status, void *nothing) {
  (void)writer, (void)nothing;
  say("incompatible %s %u", policy(status.last_policy_id), status.total_count);
}

static void on_refused_writer(dds_entity_t reader, const dds_requested_incompatible_qos_status_t status, void *nothing) {
  (void)reader, (void)nothing;
  say("incompatible %s %u", policy(status.last_policy_id), status.total_count);
}

static void on_own_deadline(dds_entity_t writer, const dds_offered_deadline_missed_status_t status, void *nothing) {
  (void)writer, (void)nothing;
  say("deadline missed %u", status.total_count);
}

static void on_deadline(dds_entity_t reader, const dds_requested_deadline_missed_status_t status, void *nothing) {
  (void)reader, (void)nothing;
  say("deadline missed %u", status.total_count);
}

static void on_own_liveliness(dds_entity_t writer, const dds_liveliness_lost_status_t status, void *nothing) {
  (void)writer, (void)nothing;
  say("liveliness lost %u", status.total_count);
}

static void on_liveliness(dds_entity_t reader, const dds_liveliness_changed_status_t status, void *nothing) {
  (void)reader, (void)nothing;
  say("liveliness %u %u", status.alive_count, status.not_alive_count);
}

static void on_lost(dds_entity_t reader, const dds_sample_lost_status_t status, void *nothing) {
  (void)reader, (void)nothing;
  say("lost %u", status.total_count);
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
