// Counts on /count (std_msgs/Int64), ten times a second by the parameter `step`, which another program may change.
#include <cstdint>
#include <string>
#include <vector>

#include "cdr.h"
#include "node.h"

namespace {

// The number of integers in rcl_interfaces/ParameterType.
constexpr std::uint8_t kInteger = 2;

constexpr std::uint64_t kPeriod = 100'000'000;

// An rcl_interfaces/ParameterValue: type, bool, integer, double, string, and five arrays, all but the integer empty.
std::vector<std::uint8_t> ToParameterValue(std::int64_t integer) {
  std::vector<std::uint8_t> bytes(128);
  cdr message = cdr_writer(bytes.data(), bytes.size());
  cdr_write(&message, &kInteger, sizeof kInteger);
  const std::uint8_t no = 0;
  cdr_write(&message, &no, sizeof no);
  cdr_write_int64(&message, integer);
  const double zero = 0;
  cdr_write(&message, &zero, sizeof zero);
  cdr_write_string(&message, "");
  for (int array = 0; array < 5; ++array) {
    const std::uint32_t length = 0;
    cdr_write(&message, &length, sizeof length);
  }
  bytes.resize(message.position);
  return bytes;
}

// The integer of an rcl_interfaces/ParameterValue at the position of a message; `otherwise` if it is none.
std::int64_t ReadInteger(cdr message, std::int64_t otherwise) {
  const auto *type = static_cast<const std::uint8_t *>(cdr_next(&message, 1, 1));
  cdr_next(&message, 1, 1);
  const std::int64_t integer = cdr_read_int64(&message);
  return message.is_valid && *type == kInteger ? integer : otherwise;
}

class Counter {
 public:
  Counter() : node_(create_node("counter")), publisher_(create_publisher(node_, "count", "std_msgs/msg/Int64")) {
    step_ = DeclareInteger("step", 1);
    create_timer(node_, kPeriod);
  }

  void Spin() {
    std::vector<std::uint8_t> payload(1024);
    for (;;) {
      const runnel_event event = wait_for_event(payload.data(), payload.size());
      switch (event.kind) {
        case RUNNEL_EVENT_KIND_TIMER:
          Publish(count_ += step_);
          break;
        case RUNNEL_EVENT_KIND_PARAMETER:
          SetParameter(cdr_reader(payload.data(), event.length));
          break;
        case RUNNEL_EVENT_KIND_SHUTDOWN:
          return;
        default:
          break;
      }
    }
  }

 private:
  std::int64_t DeclareInteger(const std::string &name, std::int64_t value) {
    const std::vector<std::uint8_t> bytes = ToParameterValue(value);
    std::vector<std::uint8_t> declared(128);
    const std::int32_t length = check(runnel_declare_parameter(node_, name.data(), name.size(), bytes.data(),
                                                               bytes.size(), false, declared.data(), declared.size()));
    return ReadInteger(cdr_reader(declared.data(), static_cast<std::size_t>(length)), value);
  }

  // An rcl_interfaces/Parameter: its name, and its value.
  void SetParameter(cdr message) {
    const std::string name = cdr_read_string(&message);
    if (name == "step") step_ = ReadInteger(message, step_);
    log_info(node_, (name + " has changed").c_str());
  }

  void Publish(std::int64_t count) {
    std::uint8_t bytes[16];
    cdr message = cdr_writer(bytes, sizeof bytes);
    cdr_write_int64(&message, count);
    check(runnel_publish(publisher_, bytes, message.position));
  }

  runnel_handle node_;
  runnel_handle publisher_;
  std::int64_t step_ = 1;
  std::int64_t count_ = 0;
};

}  // namespace

int main() { Counter().Spin(); }
