// Requests above limits, and outside of a LimitRange: the container, the numbers, and the LimitRange that sets them.
#include <algorithm>
#include <set>

#include "api/pods/pod_requests.h"
#include "explain/explain_context.h"
#include "state/index/indexes.h"
#include "state/pod_requests.h"

namespace muster::explain {
namespace {

const Quantity* find(const ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found == list.end() ? nullptr : &found->second;
}

class Limits {
 public:
  Limits(const ExplainContext& context, const Workload& workload, ExplainReply& reply)
      : workload_(workload),
        ranges_(context.state.by(state::kLimitRangesByNamespace, {"", workload.meta.ns})),
        reply_(reply),
        context_(context) {}

  void tell() {
    for (const PodSet& pod_set : workload_.pod_sets) {
      const PodSpec& spec = *pod_set.pod_template.spec;
      const PodResources made = state::pod_resources_in(spec, workload_.meta.ns, context_.state);
      tell(spec.init_containers, made.init_containers);
      tell(spec.containers, made.containers);
      if (made.pod) tell("The pod", spec.resources->limits, *made.pod, "Pod");
      const ResourceList total = pod_requests(made);
      compare("The pod", {.requests = total, .limits = total}, "Pod");
    }
    Words words = words_of_job(context_, workload_);
    if (said_ && named_.empty()) add_remedies(Cause::kLimits, words, reply_);
    for (const std::string& range : named_) {
      words.insert_or_assign("range", range);
      add_remedies(Cause::kLimitRange, words, reply_);
    }
  }

 private:
  void tell(const std::vector<ContainerSpec>& given, const std::vector<ContainerSpec>& made) {
    for (size_t i = 0; i < made.size(); ++i) {
      const std::string who = "Container " + made[i].name;
      tell(who, given[i].resources.limits, made[i].resources, "Container");
      compare(who, made[i].resources, "Container");
    }
  }

  // `given`: the limits that the template has itself.
  void tell(const std::string& who, const ResourceList& given, const ResourceRequirements& made,
            std::string_view type) {
    for (const auto& [resource, request] : made.requests) {
      const Quantity* limit = find(made.limits, resource);
      if (limit == nullptr || !(request > *limit)) continue;
      const LimitRange* range = find(given, resource) != nullptr ? nullptr : setter(type, resource, *limit);
      say(who + " requests " + resource + " " + request.text() + "; " +
              (range == nullptr ? "its limit is " : "LimitRange " + range->meta.name + " sets its limit to ") +
              limit->text() + ".",
          range);
    }
  }

  const LimitRange* setter(std::string_view type, const std::string& resource, const Quantity& limit) const {
    for (const LimitRange* range : ranges_) {
      for (const LimitRangeItem& item : range->items) {
        const Quantity* value = find(item.default_limits, resource);
        if (item.type == type && value != nullptr && *value == limit) return range;
      }
    }
    return nullptr;
  }

  void compare(const std::string& who, const ResourceRequirements& made, std::string_view type) {
    for (const LimitRange* range : ranges_) {
      for (const LimitRangeItem& item : range->items) {
        if (item.type != type) continue;
        for (const auto& [resource, most] : item.max) bound(who, made, resource, most, true, *range);
        for (const auto& [resource, least] : item.min) bound(who, made, resource, least, false, *range);
      }
    }
  }

  void bound(const std::string& who, const ResourceRequirements& made, const std::string& resource,
             const Quantity& border, bool is_most, const LimitRange& range) {
    const auto outside = [&](const Quantity* value) {
      return value != nullptr && (is_most ? *value > border : border > *value);
    };
    const Quantity *request = find(made.requests, resource), *limit = find(made.limits, resource);
    if (!outside(request) && !outside(limit)) return;
    const bool by_request = outside(request);
    say(who + (by_request ? " requests " : " has a limit of ") + resource + " " +
            (by_request ? request : limit)->text() + "; LimitRange " + range.meta.name + " allows at " +
            (is_most ? "most " : "least ") + border.text() + ".",
        &range);
  }

  void say(std::string sentence, const LimitRange* range) {
    said_ = true;
    if (range != nullptr) named_.insert(range->meta.name);
    if (std::find(reply_.because.begin(), reply_.because.end(), sentence) == reply_.because.end())
      reply_.because.push_back(std::move(sentence));
  }

  const Workload& workload_;
  const std::vector<const LimitRange*> ranges_;
  ExplainReply& reply_;
  const ExplainContext& context_;
  std::set<std::string> named_;
  bool said_ = false;
};

}  // namespace

void explain_limits(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  Limits(context, workload, reply).tell();
}

}  // namespace muster::explain
