// Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal ends it. With
// `--dispose`, the instances of keyed messages are disposed of before that.
#include "peer.h"

static void publish(dds_entity_t writer, const Words *words, uint32_t number) {
  const size_t wished = size_of(words, number);
  uint8_t *data = payload(words->kind, number, wished);
  const size_t size = words->kind == OCTETS ? wished : strlen((char *)data);
  Text text = {(char *)data};
  Keyed keyed = {key_of(number), (char *)data};
  Octets octets = {.data = {._maximum = (uint32_t)size, ._length = (uint32_t)size, ._buffer = data}};
  const void *messages[] = {&text, &octets, &keyed};
  const Body body = body_of(words->kind, key_of(number), data, size);
  checked(dds_write(writer, messages[words->kind]), "write");
  tell("sent", number, body);
  free(body.bytes);
  free(data);
}

static uint32_t readers_of(dds_entity_t writer) {
  dds_publication_matched_status_t status;
  checked(dds_get_publication_matched_status(writer, &status), "status");
  return status.current_count;
}

static void dispose(dds_entity_t writer) {
  for (int32_t key = 0; key < 3; ++key) checked(dds_dispose(writer, &(Keyed){key, (char *)""}), "dispose");
}

int main(int argc, char **argv) {
  const Words words = words_of(argc, argv);
  const dds_entity_t participant = checked(dds_create_participant(domain_id(), NULL, NULL), "participant");
  const dds_entity_t writer =
      checked(dds_create_writer(participant, topic_of(participant, &words), qos_of(&words), events()), "writer");
  say("ready");
  while (!asked_to_end && !may_begin(&words, readers_of(writer))) dds_sleepfor(DDS_MSECS(10));
  for (uint32_t number = 1; !asked_to_end && (words.count == 0 || number <= words.count); ++number) {
    publish(writer, &words, number);
    if (words.rate > 0) dds_sleepfor((dds_duration_t)(1e9 / words.rate));
  }
  if (words.dispose && words.kind == KEYED) dispose(writer);
  say("done");
  while (!asked_to_end) dds_sleepfor(DDS_MSECS(50));
  checked(dds_delete(participant), "end");
}
