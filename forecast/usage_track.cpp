#include "forecast/usage_track.h"

#include <algorithm>

namespace muster::forecast {
void Track::add(int64_t at, int64_t width, int64_t amount) {
  if (now_ != 0 && at > since_) {
    area_ += static_cast<double>(now_) * static_cast<double>(at - since_) / kSecond;
    for (int64_t from = since_; from < at;) {
      const size_t span = static_cast<size_t>(from / width);
      const int64_t to = std::min(at, static_cast<int64_t>(span + 1) * width);
      if (areas_.size() <= span) areas_.resize(span + 1);
      areas_[span] += static_cast<double>(now_) * static_cast<double>(to - from) / kSecond;
      from = to;
    }
  }
  since_ = std::max(since_, at);
  now_ += amount;
  most_ = std::max(most_, now_);
}

void Track::halve() {
  for (size_t i = 0; 2 * i < areas_.size(); ++i)
    areas_[i] = areas_[2 * i] + (2 * i + 1 < areas_.size() ? areas_[2 * i + 1] : 0);
  areas_.resize((areas_.size() + 1) / 2);
}

std::vector<double> Track::averages(int64_t width, int64_t end) const {
  const size_t spans = static_cast<size_t>((end + width - 1) / width);
  std::vector<double> averages(spans);
  for (size_t i = 0; i < spans && i < areas_.size(); ++i) {
    const int64_t from = static_cast<int64_t>(i) * width;
    averages[i] = areas_[i] * kSecond / static_cast<double>(std::min(width, end - from));
  }
  return averages;
}

size_t UsageTracks::slot(const QuotaSlot& slot) {
  const auto [known, is_new] = index_.try_emplace(slot, slots_.size());
  if (is_new) {
    slots_.push_back(slot);
    tracks_.emplace_back();
  }
  return known->second;
}

// A track whose last change lies far back spreads it over wide spans later; each is widened before it is.
void UsageTracks::reach(int64_t at) {
  end_ = std::max(end_, at);
  while (at / width_ >= static_cast<int64_t>(kMostSpans)) {
    for (Track& track : tracks_) track.halve();
    pending_.halve();
    width_ *= 2;
  }
}

void UsageTracks::add(size_t slot, int64_t at, int64_t amount) {
  reach(at);
  tracks_[slot].add(at, width_, amount);
}

void UsageTracks::add_pending(int64_t at, int64_t amount) {
  reach(at);
  pending_.add(at, width_, amount);
}

void UsageTracks::close(int64_t at) {
  reach(at);
  for (Track& track : tracks_) track.close(at, width_);
  pending_.close(at, width_);
}

}  // namespace muster::forecast
