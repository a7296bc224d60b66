// Subscribes, prints `got N len L crc C` for each message, and ends after `--count` of them with `done`. For instances
// of keyed messages also `gone KEY disposed|unregistered`.
#include "peer.h"

static void on_sample(Kind kind, unsigned long number, const void *message) {
  const Text *text = message;
  const Octets *octets = message;
  const Keyed *keyed = message;
  const char *text_data = kind == TEXT ? text->data : kind == KEYED ? keyed->data : "";
  const uint8_t *data = kind == OCTETS ? octets->data._buffer : (const uint8_t *)text_data;
  const size_t size = kind == OCTETS ? octets->data._length : strlen(text_data);
  const Body body = body_of(kind, kind == KEYED ? keyed->id : 0, data, size);
  print_message("got", number, body);
  free(body.bytes);
}

static void on_instance_end(Kind kind, const void *message, dds_instance_state_t state) {
  const bool disposed = state == DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE;
  if (kind == KEYED) print_line("gone %d %s", ((const Keyed *)message)->id, disposed ? "disposed" : "unregistered");
}

int main(int argc, char **argv) {
  const Options options = parse_options(argc, argv);
  const dds_entity_t participant = checked(dds_create_participant(domain_id(), NULL, NULL), "participant");
  const dds_entity_t reader =
      checked(dds_create_reader(participant, topic_of(participant, &options), qos_of(&options), events()), "reader");
  const dds_entity_t waitset = checked(dds_create_waitset(participant), "waitset");
  const dds_entity_t condition = checked(dds_create_readcondition(reader, DDS_ANY_STATE), "condition");
  checked(dds_waitset_attach(waitset, condition, 0), "waitset");
  print_line("ready");
  unsigned long received = 0;
  while (!stop_requested && (options.count == 0 || received < options.count)) {
    checked(dds_waitset_wait(waitset, NULL, 0, DDS_MSECS(50)), "wait");
    void *sample = NULL;
    dds_sample_info_t info;
    while ((options.count == 0 || received < options.count) &&
           checked(dds_take(reader, &sample, &info, 1, 1), "take") > 0) {
      if (info.valid_data) {
        on_sample(options.kind, ++received, sample);
      } else {
        on_instance_end(options.kind, sample, info.instance_state);
      }
      checked(dds_return_loan(reader, &sample, 1), "return");
      sample = NULL;
    }
  }
  if (options.count != 0 && received == options.count) print_line("done");
  checked(dds_delete(participant), "delete");
}
