// What one write decides, in words, and where two of them differ.
#pragma once

#include <string>

#include "engine/recording/recording.h"
#include "kinds/typed_object.h"

namespace muster::recording {

// Workload conditions, the ledger of a gang, and the start and stop of jobs are separate decisions; the rest is
// what follows from them.
enum class DecisionKind { kAdmission, kPreemption, kEviction, kRequeue, kDeactivation, kGang, kStart, kStop, kOther };
std::string_view word_of(DecisionKind kind);

// `before`: the object as the engine knew it; null: it knew none.
DecisionKind kind_of(const RecordedWrite& write, const TypedObject* before);
// "patchStatus: QuotaReserved=True (QuotaReserved: ...); flavors cpu=spot".
std::string text_of(const RecordedWrite& write, const TypedObject* before);

enum class Sameness {
  kSame,
  kOtherWords,  // messages differ, and nothing else
  kDifferent,
};
// `moved`: they were decided at different times, so times in them differ. Versions of objects never count.
Sameness compare(const RecordedWrite& recorded, const RecordedWrite& now, bool moved);
// The first place where two bodies differ: "status.admission.clusterQueue: \"a\", now \"b\""; empty: none.
std::string first_difference(const RecordedWrite& recorded, const RecordedWrite& now);

}  // namespace muster::recording
