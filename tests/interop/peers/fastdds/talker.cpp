// Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal. With
// `--dispose`, disposes the instances of keyed messages before `done`.
//
// Prints `ready` once it publishes, and as events `matched NOW`, `incompatible POLICY TOTAL`, `deadline missed TOTAL` and
// `liveliness lost TOTAL`.
#include "peer.hpp"

using namespace peer;

class Events : public fast::DataWriterListener {
 public:
  void on_publication_matched(fast::DataWriter*, const fast::PublicationMatchedStatus& status) override {
    readers = status.current_count;
    print_line("matched %d", status.current_count);
  }
  void on_offered_incompatible_qos(fast::DataWriter*, const fast::OfferedIncompatibleQosStatus& status) override {
    print_line("incompatible %s %u", policy(status.last_policy_id), status.total_count);
  }
  void on_offered_deadline_missed(fast::DataWriter*, const fast::OfferedDeadlineMissedStatus& status) override {
    print_line("deadline missed %u", status.total_count);
  }
  void on_liveliness_lost(fast::DataWriter*, const fast::LivelinessLostStatus& status) override {
    print_line("liveliness lost %u", status.total_count);
  }

  std::atomic<int32_t> readers{0};
};

static Message new_message(const Options& options, uint32_t number) {
  const size_t requested_size = size_of(&options, number);
  uint8_t* data = payload(options.kind, number, requested_size);
  const size_t size = options.kind == OCTETS ? requested_size : strlen(reinterpret_cast<char*>(data));
  const Body body = body_of(options.kind, key_of(number), data, size);
  const Message message(body.bytes, body.bytes + body.size);
  print_message("sent", number, body);
  free(body.bytes);
  free(data);
  return message;
}

static void dispose(fast::DataWriter* writer) {
  for (uint32_t key = 0; key < 3; ++key) {
    Message message(12);
    message[0] = static_cast<uint8_t>(key);
    writer->dispose(&message, fast::HANDLE_NIL);
  }
}

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  TopicContext context(options);
  Events events;
  auto* publisher = context.participant->create_publisher(fast::PUBLISHER_QOS_DEFAULT);
  fast::DataWriterQos qos;
  set(qos, options);
  qos.publish_mode().kind = fast::SYNCHRONOUS_PUBLISH_MODE;
  auto* writer = publisher->create_datawriter(context.topic, qos, &events);
  if (!writer) fail("writer", "refused");
  print_line("ready");
  while (!stop_requested && !may_publish(&options, static_cast<unsigned long>(events.readers))) sleep_ms(10);
  for (uint32_t number = 1; !stop_requested && (options.count == 0 || number <= options.count); ++number) {
    Message message = new_message(options, number);
    if (!writer->write(&message)) fail("write", "refused");
    if (options.rate > 0) sleep_ms(static_cast<unsigned>(1000 / options.rate));
  }
  if (options.dispose && options.kind == KEYED) dispose(writer);
  print_line("done");
  while (!stop_requested) sleep_ms(50);
}
