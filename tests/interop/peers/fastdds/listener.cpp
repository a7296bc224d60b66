// Subscribes, prints `got N len L crc C` for each message, and ends after `--count` of them with `done`. For instances
// of keyed messages also `gone disposed|unregistered`.
//
// Prints `ready` once it has subscribed, and as events `matched NOW`, `incompatible POLICY TOTAL`, `deadline missed TOTAL`,
// `liveliness ALIVE DEAD` and `lost TOTAL`.
#include "peer.hpp"

using namespace peer;

class Events : public fast::DataReaderListener {
 public:
  void on_subscription_matched(fast::DataReader*, const fast::SubscriptionMatchedStatus& status) override {
    print_line("matched %d", status.current_count);
  }
  void on_requested_incompatible_qos(fast::DataReader*, const fast::RequestedIncompatibleQosStatus& status) override {
    print_line("incompatible %s %u", policy(status.last_policy_id), status.total_count);
  }
  void on_requested_deadline_missed(fast::DataReader*, const fast::RequestedDeadlineMissedStatus& status) override {
    print_line("deadline missed %u", status.total_count);
  }
  void on_liveliness_changed(fast::DataReader*, const fast::LivelinessChangedStatus& status) override {
    print_line("liveliness %d %d", status.alive_count, status.not_alive_count);
  }
  void on_sample_lost(fast::DataReader*, const fast::SampleLostStatus& status) override {
    print_line("lost %d", status.total_count);
  }
};

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  TopicContext context(options);
  Events events;
  auto* subscriber = context.participant->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT);
  fast::DataReaderQos qos;
  set(qos, options);
  auto* reader = subscriber->create_datareader(context.topic, qos, &events);
  if (!reader) fail("reader", "refused");
  print_line("ready");
  unsigned long received = 0;
  while (!stop_requested && (options.count == 0 || received < options.count)) {
    Message message;
    fast::SampleInfo info;
    if (!reader->wait_for_unread_message(duration(0.05)) || !reader->take_next_sample(&message, &info)) continue;
    if (info.valid_data) {
      print_message("got", ++received, Body{message.data(), message.size()});
    } else {
      const bool disposed = info.instance_state == fast::NOT_ALIVE_DISPOSED_INSTANCE_STATE;
      print_line("gone %s", disposed ? "disposed" : "unregistered");
    }
  }
  if (options.count != 0 && received == options.count) print_line("done");
}
