#include "engine/recording/recorded_nodes.h"

#include "base/overloaded.h"
#include "engine/loop/node_feed.h"

namespace muster::recording {
namespace {

using engine::ObservedEvent;
using scheduler::NodePart;

ObservedEvent event_of(scheduler::NodeNews news) {
  engine::ObjectTexts texts = engine::texts_of(news);
  return {.what = ObservedEvent::What::kNodes, .texts = std::move(texts), .news = std::move(news)};
}

}  // namespace

void RecordedNodes::keep(NodePart which, const std::string& key, const ObservedEvent& event) {
  Part& into = part(which);
  into.values.insert_or_assign(key, Value{into.listing, event.news, event.texts});
}

void RecordedNodes::take(const ObservedEvent& event) {
  std::visit(Overloaded{
                 [&](const scheduler::PartListing& listing) { ++part(listing.part).listing; },
                 [&](const scheduler::PartListed& ended) {
                   Part& listed = part(ended.part);
                   listed.listed = true;
                   std::erase_if(listed.values,
                                 [&](const auto& value) { return value.second.listing != listed.listing; });
                 },
                 [&](const scheduler::NodeSeen& seen) { keep(NodePart::kNodes, seen.node.name, event); },
                 [&](const scheduler::PodSeen& seen) { keep(NodePart::kPods, seen.pod.uid, event); },
                 [&](const scheduler::PartGone& gone) { part(gone.part).values.erase(gone.key); },
                 [&](const scheduler::PartCaughtUp& reached) { part(reached.part).caught_up = reached.term; },
             },
             event.news);
}

void RecordedNodes::add_snapshot(const std::function<void(ObservedEvent)>& add) const {
  for (const NodePart which : {NodePart::kNodes, NodePart::kPods}) {
    const Part& part = parts_[static_cast<size_t>(which)];
    if (part.listing > 0) add(event_of(scheduler::PartListing{which}));
    for (const auto& [key, value] : part.values)
      add({.what = ObservedEvent::What::kNodes, .texts = value.texts, .news = value.news});
    if (part.listed) add(event_of(scheduler::PartListed{which}));
    if (part.caught_up > 0) add(event_of(scheduler::PartCaughtUp{which, part.caught_up}));
  }
}

}  // namespace muster::recording
