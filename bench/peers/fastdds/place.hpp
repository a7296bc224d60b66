// DDS entities of an end: a participant that uses only UDP on loopback, its topics, writers and readers.
#pragma once
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/common/WriteParams.h>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>

#include "options.hpp"
#include "talk.hpp"

namespace fast = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

inline const eprosima::fastrtps::Duration_t match_timeout(20, 0);

/// Type support of a sequence of bytes: encapsulation header, length, bytes.
class Bytes : public fast::TopicDataType {
 public:
  explicit Bytes(uint64_t largest) {
    setName("bench::Message");
    m_typeSize = static_cast<uint32_t>(largest + header_size);
    m_isGetKeyDefined = false;
  }

  bool serialize(void* data, rtps::SerializedPayload_t* payload) override {
    const auto& message = *static_cast<Message*>(data);
    const uint8_t header[] = {0, 1, 0, 0};
    const auto length = static_cast<uint32_t>(message.size());
    payload->encapsulation = CDR_LE;
    payload->length = static_cast<uint32_t>(header_size + length);
    std::memcpy(payload->data, header, sizeof header);
    std::memcpy(payload->data + 4, &length, sizeof length);
    std::memcpy(payload->data + header_size, message.data(), length);
    return true;
  }

  bool deserialize(rtps::SerializedPayload_t* payload, void* data) override {
    uint32_t length = 0;
    if (payload->length < header_size) return false;
    std::memcpy(&length, payload->data + 4, sizeof length);
    if (length > payload->length - header_size) return false;
    static_cast<Message*>(data)->assign(payload->data + header_size, payload->data + header_size + length);
    return true;
  }

  std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
    return [data] { return static_cast<uint32_t>(header_size + static_cast<Message*>(data)->size()); };
  }

  void* createData() override { return new Message; }
  void deleteData(void* data) override { delete static_cast<Message*>(data); }
  bool getKey(void*, rtps::InstanceHandle_t*, bool) override { return false; }

 private:
  static constexpr size_t header_size = 8;
};

/// QoS of the command line, without data sharing.
template <class Qos>
Qos qos_of(const Options& options) {
  Qos qos;
  const bool keeps_all = options.text("--qos") == "keep-all";
  qos.reliability().kind = options.text("--qos") == "best-effort" ? fast::BEST_EFFORT_RELIABILITY_QOS
                                                                  : fast::RELIABLE_RELIABILITY_QOS;
  qos.reliability().max_blocking_time = match_timeout;
  qos.durability().kind = fast::VOLATILE_DURABILITY_QOS;
  qos.history().kind = keeps_all ? fast::KEEP_ALL_HISTORY_QOS : fast::KEEP_LAST_HISTORY_QOS;
  if (!keeps_all) qos.history().depth = static_cast<int32_t>(options.depth);
  qos.data_sharing().off();
  qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
  return qos;
}

/// Polls until a condition holds.
template <class Condition>
void wait_until(const Condition& is_met, const char* error) {
  for (int check = 0; check < 4000; ++check) {
    if (is_met()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw std::runtime_error(error);
}

class Writer {
 public:
  explicit Writer(fast::DataWriter* writer) : writer_(writer) {}

  void write(const Message& message) {
    // The writer does not change the message.
    if (!writer_->write(const_cast<Message*>(&message))) std::cerr << "the writer refused a message" << std::endl;
  }

  /// The writer sets the sample identity in `params`.
  void write(const Message& message, rtps::WriteParams& params) {
    if (!writer_->write(const_cast<Message*>(&message), params)) std::cerr << "the writer refused a message" << std::endl;
  }

  void wait_for_reader() const {
    const auto is_matched = [this] {
      fast::PublicationMatchedStatus status;
      writer_->get_publication_matched_status(status);
      return status.current_count > 0;
    };
    wait_until(is_matched, "no reader matched");
  }

 private:
  fast::DataWriter* writer_;
};

using OnMessage = std::function<void(const Message&)>;
using OnSample = std::function<void(const Message&, const fast::SampleInfo&)>;

class Reader : public fast::DataReaderListener {
 public:
  explicit Reader(OnSample on_sample) : on_sample_(std::move(on_sample)) {}

  void on_data_available(fast::DataReader* reader) override {
    fast::SampleInfo info;
    while (reader->take_next_sample(&message_, &info) == eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK) {
      if (info.valid_data) on_sample_(message_, info);
    }
  }

  void wait_for_writer() const {
    const auto is_matched = [this] {
      fast::SubscriptionMatchedStatus status;
      reader->get_subscription_matched_status(status);
      return status.current_count > 0;
    };
    wait_until(is_matched, "no writer matched");
  }

  fast::DataReader* reader = nullptr;

 private:
  OnSample on_sample_;
  Message message_;
};

class Participant {
 public:
  explicit Participant(const Options& options) : options_(options), type_(new Bytes(options.size)) {
    fast::DomainParticipantQos qos;
    const auto network = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    network->interfaceWhiteList = {"127.0.0.1"};
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(network);
    participant_ = factory()->create_participant(0, qos);
    if (!participant_) throw std::runtime_error("cannot create a participant");
    type_.register_type(participant_);
    publisher_ = participant_->create_publisher(fast::PUBLISHER_QOS_DEFAULT);
    subscriber_ = participant_->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT);
  }

  ~Participant() { close(); }

  Writer writer(const std::string& name) {
    auto qos = qos_of<fast::DataWriterQos>(options_);
    qos.publish_mode().kind = fast::SYNCHRONOUS_PUBLISH_MODE;
    auto* writer = publisher_->create_datawriter(topic(name), qos);
    if (!writer) throw std::runtime_error("cannot create a writer of " + name);
    return Writer(writer);
  }

  std::unique_ptr<Reader> reader(const std::string& name, OnMessage on_message) {
    return reader_of_samples(name, [on_message = std::move(on_message)](const Message& message, const fast::SampleInfo&) {
      on_message(message);
    });
  }

  std::unique_ptr<Reader> reader_of_samples(const std::string& name, OnSample on_sample) {
    auto reader = std::make_unique<Reader>(std::move(on_sample));
    reader->reader = subscriber_->create_datareader(topic(name), qos_of<fast::DataReaderQos>(options_), reader.get());
    if (!reader->reader) throw std::runtime_error("cannot create a reader of " + name);
    return reader;
  }

  /// Deletes all entities; afterwards no callback runs.
  void close() {
    if (!participant_) return;
    participant_->delete_contained_entities();
    factory()->delete_participant(participant_);
    participant_ = nullptr;
  }

 private:
  static fast::DomainParticipantFactory* factory() { return fast::DomainParticipantFactory::get_instance(); }

  /// A topic whose name is unique to the run.
  fast::Topic* topic(const std::string& name) {
    const auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
    const std::string home = variable("ROS_HOME");
    std::string full = home.substr(home.rfind('/') + 1) + variable("ROS_NAMESPACE") + "_" + name;
    for (char& letter : full) {
      if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
    }
    auto* topic = participant_->create_topic(full, type_.get_type_name(), fast::TOPIC_QOS_DEFAULT);
    if (!topic) throw std::runtime_error("cannot create the topic " + full);
    return topic;
  }

  const Options& options_;
  fast::TypeSupport type_;
  fast::DomainParticipant* participant_ = nullptr;
  fast::Publisher* publisher_ = nullptr;
  fast::Subscriber* subscriber_ = nullptr;
};
