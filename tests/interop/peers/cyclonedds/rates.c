// Sends or receives small messages and images at rates, as peers/roscpp/rates.cpp: `rates send TOPICS TICKS GATE` or
// `rates receive TOPICS TICKS`. All is reliable and kept. A receiver that is interrupted prints what it lacks.
#include "peer.h"

enum { IMAGE_TICKS = 33, IMAGE_SIZE = 2 << 20, SMALL_SIZE = 64, MOST_TOPICS = 64, BATCH = 64 };

static uint32_t images(uint32_t ticks) { return (ticks + IMAGE_TICKS - 1) / IMAGE_TICKS; }

// The last of the `topics + 1` topics has the images.
static dds_entity_t topic(dds_entity_t participant, uint32_t index, uint32_t topics) {
  char name[32] = "rt/rate_image";
  if (index < topics) snprintf(name, sizeof name, "rt/rate%u", index);
  return checked(dds_create_topic(participant, &std_msgs_msg_dds__UInt8MultiArray__desc, name, NULL, NULL), "topic");
}

static dds_qos_t *keep_all(void) {
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(60));
  dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, DDS_LENGTH_UNLIMITED);
  return qos;
}

static void send(dds_entity_t writer, uint32_t number, uint8_t *data, uint32_t size) {
  memcpy(data, &number, sizeof number);
  const Octets message = {.data = {._maximum = size, ._length = size, ._buffer = data}};
  checked(dds_write(writer, &message), "write");
}

static void run_sender(dds_entity_t participant, uint32_t topics, uint32_t ticks, const char *gate) {
  static uint8_t data[IMAGE_SIZE];
  dds_entity_t writers[MOST_TOPICS + 1];
  for (uint32_t index = 0; index <= topics; ++index)
    writers[index] = checked(dds_create_writer(participant, topic(participant, index, topics), keep_all(), NULL), "writer");
  for (; !stop_requested && access(gate, F_OK) != 0; dds_sleepfor(DDS_MSECS(50)))
    for (uint32_t index = 0; index <= topics; ++index) send(writers[index], 0, data, SMALL_SIZE);
  const dds_time_t begin = dds_time();
  for (uint32_t tick = 0; !stop_requested && tick < ticks; ++tick) {
    for (uint32_t index = 0; index < topics; ++index) send(writers[index], tick + 1, data, SMALL_SIZE);
    if (tick % IMAGE_TICKS == 0) send(writers[topics], tick / IMAGE_TICKS + 1, data, IMAGE_SIZE);
    const dds_duration_t left = begin + DDS_MSECS(tick + 1) - dds_time();
    if (left > 0) dds_sleepfor(left);
  }
  print_line("sent all");
  while (!stop_requested) dds_sleepfor(DDS_MSECS(50));
}

typedef struct {
  dds_entity_t reader;
  uint32_t next, count;
  bool joined;
} Incoming;

// Takes what a topic has delivered. Returns whether it has delivered everything now.
static bool take(Incoming *incoming, uint32_t index) {
  void *samples[BATCH] = {NULL};
  dds_sample_info_t infos[BATCH];
  const uint32_t before = incoming->next;
  const int32_t taken = checked(dds_take(incoming->reader, samples, infos, BATCH, BATCH), "take");
  for (int32_t at = 0; at < taken; ++at) {
    if (!infos[at].valid_data) continue;
    uint32_t number;
    memcpy(&number, ((const Octets *)samples[at])->data._buffer, sizeof number);
    incoming->joined = true;
    if (number == 0) continue;
    if (number != incoming->next) {
      print_line("gap in topic %u: %u instead of %u", index, number, incoming->next);
      exit(1);
    }
    ++incoming->next;
  }
  if (taken > 0) checked(dds_return_loan(incoming->reader, samples, taken), "return");
  return before <= incoming->count && incoming->next > incoming->count;
}

static bool all_joined(const Incoming *incoming, uint32_t topics) {
  for (uint32_t index = 0; index <= topics; ++index)
    if (!incoming[index].joined) return false;
  return true;
}

static void run_receiver(dds_entity_t participant, uint32_t topics, uint32_t ticks) {
  Incoming incoming[MOST_TOPICS + 1];
  const dds_entity_t waitset = checked(dds_create_waitset(participant), "waitset");
  for (uint32_t index = 0; index <= topics; ++index) {
    const dds_entity_t reader =
        checked(dds_create_reader(participant, topic(participant, index, topics), keep_all(), NULL), "reader");
    incoming[index] = (Incoming){reader, 1, index == topics ? images(ticks) : ticks, false};
    const dds_entity_t condition = checked(dds_create_readcondition(reader, DDS_ANY_STATE), "condition");
    checked(dds_waitset_attach(waitset, condition, 0), "waitset");
  }
  bool joined = false;
  for (uint32_t complete = 0; !stop_requested && complete <= topics;) {
    checked(dds_waitset_wait(waitset, NULL, 0, DDS_MSECS(50)), "wait");
    for (uint32_t index = 0; index <= topics; ++index) complete += take(&incoming[index], index);
    if (!joined && all_joined(incoming, topics)) {
      joined = true;
      print_line("joined");
    }
  }
  if (!stop_requested) return print_line("received all");
  for (uint32_t index = 0; index <= topics; ++index)
    if (incoming[index].next <= incoming[index].count)
      print_line("topic %u: %u of %u", index, incoming[index].next - 1, incoming[index].count);
}

int main(int argc, char **argv) {
  if (argc < 4 || strtoul(argv[2], NULL, 10) > MOST_TOPICS) fail(argv[0], "usage: send|receive TOPICS TICKS [GATE]");
  signal(SIGINT, request_stop);
  signal(SIGTERM, request_stop);
  const uint32_t topics = (uint32_t)strtoul(argv[2], NULL, 10), ticks = (uint32_t)strtoul(argv[3], NULL, 10);
  const dds_entity_t participant = checked(dds_create_participant(domain_id(), NULL, NULL), "participant");
  if (strcmp(argv[1], "send") == 0 && argc > 4) {
    run_sender(participant, topics, ticks, argv[4]);
  } else {
    run_receiver(participant, topics, ticks);
  }
  checked(dds_delete(participant), "delete");
}
