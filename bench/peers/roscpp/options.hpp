// Command line of an end.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

class Options {
 public:
  Options(int argc, char** argv) : role(argc > 1 ? argv[1] : "") {
    for (int i = 2; i + 1 < argc; i += 2) values_[argv[i]] = argv[i + 1];
    size = number("--size");
    warm_up = number("--warm-up");
    total = warm_up + number("--count");
    depth = static_cast<uint32_t>(number("--depth"));
    rate = number("--rate");
    watermark = std::max<uint64_t>(1, number("--watermark"));
    topics = number("--topics");
    subscribers = std::max<uint64_t>(1, number("--subscribers"));
    std::istringstream list(text("--sizes"));
    for (std::string one; std::getline(list, one, ',');) sizes_.push_back(std::stoull(one));
  }

  // Bytes of a message: the sizes follow each other in equal shares.
  uint64_t size_of(uint64_t number) const {
    if (sizes_.empty()) return size;
    const uint64_t each = std::max<uint64_t>(1, total / sizes_.size());
    return sizes_[std::min<uint64_t>(number / each, sizes_.size() - 1)];
  }

  bool writes() const { return reads() || text("--touch") == "write"; }
  bool reads() const { return text("--touch") == "read"; }

  std::string text(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }

  std::string role;
  uint64_t size, warm_up, total, rate, watermark, topics, subscribers;
  uint32_t depth;

 private:
  uint64_t number(const std::string& key) const {
    const std::string value = text(key);
    return value.empty() ? 0 : std::stoull(value);
  }

  std::map<std::string, std::string> values_;
  std::vector<uint64_t> sizes_;
};
