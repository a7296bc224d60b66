// Creates an endpoint of every profile on one topic: `matrix TOPIC writers|readers TAG`. See peers/rclpy/matrix.py.
#include "matrix.h"

#include "peer.hpp"

using namespace peer;

class Events : public fast::DataWriterListener, public fast::DataReaderListener {
 public:
  explicit Events(unsigned number) : number_(number) {}
  void on_publication_matched(fast::DataWriter*, const fast::PublicationMatchedStatus& status) override {
    print_line("%u matched %d", number_, status.current_count);
  }
  void on_subscription_matched(fast::DataReader*, const fast::SubscriptionMatchedStatus& status) override {
    print_line("%u matched %d", number_, status.current_count);
  }
  void on_offered_incompatible_qos(fast::DataWriter*, const fast::OfferedIncompatibleQosStatus& status) override {
    print_line("%u refused %u", number_, status.total_count);
  }
  void on_requested_incompatible_qos(fast::DataReader*, const fast::RequestedIncompatibleQosStatus& status) override {
    print_line("%u refused %u", number_, status.total_count);
  }

 private:
  unsigned number_;
};

/// The options of a talker or listener with this profile.
static Options options_of_profile(const Matrix& matrix, unsigned number) {
  const Profile profile = profile_of(number);
  Options options{};
  memcpy(options.topic, matrix.topic, sizeof options.topic);
  options.kind = TEXT;
  options.depth = profile.keeps_all ? 0 : 1000;
  options.deadline = profile.deadline;
  options.lifespan = -1;
  options.lease = profile.lease;
  options.best_effort = !profile.reliable;
  options.transient_local = profile.transient_local;
  options.manual_by_topic = profile.manual_by_topic;
  return options;
}

static void write_all(const Matrix& matrix, TopicContext& context) {
  auto* publisher = context.participant->create_publisher(fast::PUBLISHER_QOS_DEFAULT);
  std::vector<fast::DataWriter*> writers;
  for (unsigned number = 0; number < PROFILES; ++number) {
    fast::DataWriterQos qos;
    set(qos, options_of_profile(matrix, number));
    qos.publish_mode().kind = fast::SYNCHRONOUS_PUBLISH_MODE;
    writers.push_back(publisher->create_datawriter(context.topic, qos, new Events(number)));
    if (!writers.back()) fail("writer", "refused");
  }
  print_line("ready");
  while (!stop_requested) {
    for (unsigned number = 0; number < PROFILES; ++number) {
      const std::string text = std::string(matrix.tag) + " " + std::to_string(number);
      const Body body = body_of(TEXT, 0, reinterpret_cast<const uint8_t*>(text.data()), text.size());
      Message message(body.bytes, body.bytes + body.size);
      free(body.bytes);
      if (!writers[number]->write(&message)) fail("write", "refused");
    }
    for (int wait = 0; wait < 20 && !stop_requested; ++wait) sleep_ms(50);
  }
}

static void read_all(const Matrix& matrix, TopicContext& context) {
  static ReceptionLog log;
  auto* subscriber = context.participant->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT);
  std::vector<fast::DataReader*> readers(PROFILES);
  for (unsigned number = PROFILES; number-- > 0;) {
    fast::DataReaderQos qos;
    set(qos, options_of_profile(matrix, number));
    readers[number] = subscriber->create_datareader(context.topic, qos, new Events(number));
    if (!readers[number]) fail("reader", "refused");
  }
  print_line("ready");
  for (; !stop_requested; sleep_ms(20))
    for (unsigned number = 0; number < PROFILES; ++number) {
      Message message;
      fast::SampleInfo info;
      while (readers[number]->take_next_sample(&message, &info) == ReturnCode_t::RETCODE_OK)
        if (info.valid_data && message.size() > 4) log_first(&log, number, reinterpret_cast<const char*>(&message[4]));
    }
}

int main(int argc, char** argv) {
  const Matrix matrix = matrix_of(argc, argv);
  TopicContext context(options_of_profile(matrix, 0));
  matrix.writes ? write_all(matrix, context) : read_all(matrix, context);
}
