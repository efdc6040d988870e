// apiextensions.k8s.io/v1 ConversionReview: the request of the API server when a client reads or writes an object in
// another version than the stored one, and the response.
//
// A review can hold a whole list. Its objects are read, converted and printed one at a
// time, since as a JSON tree they would take seven times their text: beside the body
// there is only the answer. Pure.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "api/review/admission_review.h"
#include "base/result.h"

namespace muster {

struct ConversionAnswer {
  std::string body;     // the ConversionReview that goes over the wire
  size_t objects = 0;   // that were asked for
  std::string kind;     // of the first one; empty when there is none
  std::string problem;  // why nothing was converted; empty when all is well
};

struct ConversionLimits {
  size_t tree_bytes = std::numeric_limits<size_t>::max();  // of one object (api/codec/tree_memory.h)
  size_t text_bytes = std::numeric_limits<size_t>::max();  // of all converted objects together
};

// Fails when `body` is no ConversionReview with a uid, so that no answer is possible. An
// object that cannot be converted fails the whole review, as the API server requires:
// with status Failure and a message that names the object. So does an object beyond the
// limits.
Result<ConversionAnswer, ReviewError> answer_conversion_review(std::string_view body, ConversionLimits limits = {});

}  // namespace muster
