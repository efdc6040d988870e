#include "engine/loop/loop_observer.h"

#include "base/overloaded.h"

namespace muster::engine {
namespace {

using What = ObservedEvent::What;

ObservedEvent::Object id_of(const TypedObject& object) {
  const ObjectMeta& meta = meta_of(object);
  return {path_of(meta), meta.resource_version};
}

ObservedEvent of_object(What what, const TypedObject& object, const ObjectTexts& texts, Now at) {
  return {.what = what, .at = at, .type = &type_of(object), .texts = texts, .objects = {id_of(object)}};
}

ObservedEvent of_list(const KindListed& list, Now at) {
  ObservedEvent event{.what = What::kListed,
                      .at = at,
                      .type = list.type,
                      .texts = list.texts,
                      .name = list.name,
                      .version = list.version};
  for (const TypedObject& object : list.objects) event.objects.push_back(id_of(object));
  return event;
}

ObservedEvent of_answer(const WriteFinished& answer, Now at) {
  ObservedEvent event{.what = What::kAnswer,
                      .at = at,
                      .version = answer.version,
                      .id = answer.id,
                      .outcome = answer.outcome,
                      .text = answer.why};
  if (!answer.object) return event;
  event.type = &type_of(*answer.object);
  event.texts = answer.texts;
  event.objects = {id_of(*answer.object)};
  return event;
}

}  // namespace

ObservedEvent observed(const Event& event, Now at) {
  return std::visit(
      Overloaded{
          [&](const KindListed& list) { return of_list(list, at); },
          [&](const KindAbsent& absent) { return ObservedEvent{.what = What::kAbsent, .at = at, .type = absent.type}; },
          [&](const ObjectChanged& changed) { return of_object(What::kChanged, changed.object, changed.texts, at); },
          [&](const ObjectRemoved& removed) { return of_object(What::kRemoved, removed.object, removed.texts, at); },
          [&](const CaBundleIssued& issued) {
            return ObservedEvent{.what = What::kBundle, .at = at, .text = issued.pem};
          },
          [&](const WriteFinished& answer) { return of_answer(answer, at); },
          [&](const LeadershipChanged& changed) {
            return ObservedEvent{.what = What::kLeadership, .at = at, .term = changed.term, .leads = changed.leads};
          },
          [&](const KindCaughtUp& kind) {
            return ObservedEvent{.what = What::kCaughtUp, .at = at, .type = kind.type, .term = kind.term};
          },
          [&](const NodesObserved& nodes) {
            return ObservedEvent{.what = What::kNodes, .at = at, .texts = nodes.texts, .news = nodes.news};
          },
          [&](const Tick&) { return ObservedEvent{.what = What::kTick, .at = at}; },
      },
      event);
}

ObjectTexts LoopObserver::texts_of(const ResourceType& type, const nlohmann::json& object) const {
  return std::make_shared<const std::vector<std::string>>(1, text_of(type, object));
}

}  // namespace muster::engine
