// A node as of Humble, whose rmw_cyclonedds is imitated on Cyclone DDS: it announces nodes by ids of 24 bytes, reads such
// announcements only, and its endpoints have no type hash. `humble NAME PUBLISHED SUBSCRIBED` publishes `NAME N` on a topic of
// texts every 50 ms, subscribes to another one, and prints `got TEXT` for each text and `node NAME READERS WRITERS` for each
// announced node, with the numbers of its endpoints.
#include "peer.h"

typedef rmw_dds_common_msg_dds__Gid_ Gid;
typedef rmw_dds_common_msg_dds__NodeEntitiesInfo_ Node;
typedef rmw_dds_common_msg_dds__ParticipantEntitiesInfo_ Announcement;

static dds_entity_t topic(dds_entity_t participant, const dds_topic_descriptor_t *type, const char *prefix, const char *name) {
  char full[256];
  snprintf(full, sizeof full, "%s%s", prefix, name);
  return checked(dds_create_topic(participant, type, full, NULL, NULL), "topic");
}

static dds_qos_t *reliable(bool is_transient_local, int32_t depth) {
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
  dds_qset_durability(qos, is_transient_local ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, depth);
  return qos;
}

// The 16 bytes of the entity's id, and zeros.
static Gid gid_of(dds_entity_t entity) {
  Gid gid = {{0}};
  dds_guid_t guid;
  checked(dds_get_guid(entity, &guid), "guid");
  memcpy(gid.data, guid.v, sizeof guid.v);
  return gid;
}

static void announce(dds_entity_t announcements, dds_entity_t participant, char *name, dds_entity_t reader, dds_entity_t writer) {
  Gid readers[] = {gid_of(reader)}, writers[] = {gid_of(writer)};
  Node node = {.node_namespace = (char *)"/", .node_name = name};
  node.reader_gid_seq._length = node.reader_gid_seq._maximum = 1;
  node.reader_gid_seq._buffer = readers;
  node.writer_gid_seq._length = node.writer_gid_seq._maximum = 1;
  node.writer_gid_seq._buffer = writers;
  Announcement announcement = {.gid = gid_of(participant)};
  announcement.node_entities_info_seq._length = announcement.node_entities_info_seq._maximum = 1;
  announcement.node_entities_info_seq._buffer = &node;
  checked(dds_write(announcements, &announcement), "announcement");
}

static void print_text(const void *message) { print_line("got %s", ((const Text *)message)->data); }

// Ids whose last bytes are not 0 are not of 24 bytes.
static void print_nodes(const void *message) {
  const Announcement *announcement = message;
  for (unsigned byte = sizeof(dds_guid_t); byte < sizeof(Gid); ++byte)
    if (announcement->gid.data[byte] != 0) return print_line("announcement with a wrong id");
  for (uint32_t index = 0; index < announcement->node_entities_info_seq._length; ++index) {
    const Node *node = &announcement->node_entities_info_seq._buffer[index];
    const char *namespace = strcmp(node->node_namespace, "/") == 0 ? "" : node->node_namespace;
    print_line("node %s/%s %u %u", namespace, node->node_name, node->reader_gid_seq._length, node->writer_gid_seq._length);
  }
}

static void take(dds_entity_t reader, void (*print)(const void *)) {
  void *sample = NULL;
  dds_sample_info_t info;
  while (checked(dds_take(reader, &sample, &info, 1, 1), "take") > 0) {
    if (info.valid_data) print(sample);
    checked(dds_return_loan(reader, &sample, 1), "return");
    sample = NULL;
  }
}

int main(int argc, char **argv) {
  if (argc != 4) fail(argv[0], "usage: NAME PUBLISHED SUBSCRIBED");
  signal(SIGINT, request_stop);
  signal(SIGTERM, request_stop);
  static const char enclave[] = "enclave=/;";
  dds_qos_t *const own = dds_create_qos();
  dds_qset_userdata(own, enclave, sizeof enclave - 1);
  const dds_entity_t participant = checked(dds_create_participant(domain_id(), own, NULL), "participant");
  const dds_topic_descriptor_t *const nodes = &rmw_dds_common_msg_dds__ParticipantEntitiesInfo__desc;
  const dds_topic_descriptor_t *const texts = &std_msgs_msg_dds__String__desc;
  const dds_entity_t discovery = topic(participant, nodes, "", "ros_discovery_info");
  const dds_entity_t announcements = checked(dds_create_writer(participant, discovery, reliable(true, 1), NULL), "writer");
  // One instance holds the announcements of all participants.
  const dds_entity_t announced = checked(dds_create_reader(participant, discovery, reliable(true, 100), NULL), "reader");
  const dds_entity_t published = topic(participant, texts, "rt", argv[2]), subscribed = topic(participant, texts, "rt", argv[3]);
  const dds_entity_t writer = checked(dds_create_writer(participant, published, reliable(false, 10), NULL), "writer");
  const dds_entity_t reader = checked(dds_create_reader(participant, subscribed, reliable(false, 10), NULL), "reader");
  announce(announcements, participant, argv[1], reader, writer);
  print_line("ready");
  for (unsigned number = 1; !stop_requested; ++number, dds_sleepfor(DDS_MSECS(50))) {
    char text[64];
    snprintf(text, sizeof text, "%s %u", argv[1], number);
    checked(dds_write(writer, &(Text){text}), "write");
    take(announced, print_nodes);
    take(reader, print_text);
  }
  checked(dds_delete(participant), "delete");
}
