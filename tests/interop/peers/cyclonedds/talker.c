// Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal. With
// `--dispose`, disposes the instances of keyed messages before `done`.
#include "peer.h"

static void publish(dds_entity_t writer, const Options *options, uint32_t number) {
  const size_t requested_size = size_of(options, number);
  uint8_t *data = payload(options->kind, number, requested_size);
  const size_t size = options->kind == OCTETS ? requested_size : strlen((char *)data);
  Text text = {(char *)data};
  Keyed keyed = {key_of(number), (char *)data};
  Octets octets = {.data = {._maximum = (uint32_t)size, ._length = (uint32_t)size, ._buffer = data}};
  const void *messages[] = {&text, &octets, &keyed};
  const Body body = body_of(options->kind, key_of(number), data, size);
  checked(dds_write(writer, messages[options->kind]), "write");
  print_message("sent", number, body);
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
  const Options options = parse_options(argc, argv);
  const dds_entity_t participant = checked(dds_create_participant(domain_id(), NULL, NULL), "participant");
  const dds_entity_t writer =
      checked(dds_create_writer(participant, topic_of(participant, &options), qos_of(&options), events()), "writer");
  print_line("ready");
  while (!stop_requested && !may_publish(&options, readers_of(writer))) dds_sleepfor(DDS_MSECS(10));
  for (uint32_t number = 1; !stop_requested && (options.count == 0 || number <= options.count); ++number) {
    publish(writer, &options, number);
    if (options.rate > 0) dds_sleepfor((dds_duration_t)(1e9 / options.rate));
  }
  if (options.dispose && options.kind == KEYED) dispose(writer);
  print_line("done");
  while (!stop_requested) dds_sleepfor(DDS_MSECS(50));
  checked(dds_delete(participant), "delete");
}
