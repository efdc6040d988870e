// Why a request to the API server has no result, as a value. Pure.
// Source: metav1.Status (apimachinery pkg/apis/meta/v1/types.go).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace muster::kube {

// One entry of Status.details.causes: for an invalid object, one bad field.
struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
};

// What the API server answered instead of an object, or, with code 0, why there is
// no answer: then it is unknown whether the request was carried out.
struct StatusError {
  int code = 0;         // HTTP status; 0: no answer
  std::string reason;   // Kubernetes' word ("NotFound"), or one of the k...Reason below
  std::string message;  // a sentence
  std::vector<StatusCause> causes;
  // How long the server asks to stay away (header Retry-After or details.retryAfterSeconds).
  std::optional<Duration> retry_after;
  std::string object{};  // the name of what the answer is about (Status.details.name)

  bool unanswered() const { return code == 0; }
  // The object does not exist: the API server's Status names it. A 404 without a name is a kind that is not served, or
  // the page of a proxy, and proves nothing about objects.
  bool not_found() const { return code == 404 && reason == "NotFound" && !object.empty(); }
  bool forbidden() const { return code == 403; }
  bool gone() const { return code == 410; }
  bool conflict() const { return code == 409 && reason != "AlreadyExists"; }
  bool already_exists() const { return code == 409 && reason == "AlreadyExists"; }
  bool cancelled() const;
};

// Reasons that are muster's own, with code 0.
inline constexpr std::string_view kUnreachableReason = "Unreachable";          // no connection, or it broke
inline constexpr std::string_view kNoAnswerInTimeReason = "NoAnswerInTime";    // the request's own timeout
inline constexpr std::string_view kCancelledReason = "Cancelled";              // the caller asked to stop
inline constexpr std::string_view kTooLateReason = "TooLate";                  // not sent (again): not_after
inline constexpr std::string_view kCredentialsReason = "CredentialsNotReady";  // no token or certificate available
inline constexpr std::string_view kUnreadableReason = "UnreadableAnswer";      // not what was asked for
inline constexpr std::string_view kTooLargeReason = "AnswerTooLarge";          // more bytes than can be read

StatusError unanswered(std::string_view reason, std::string message);

// The error in an HTTP answer of 400 and above. A body that is no Status (a proxy's
// page) is quoted shortly. `retry_after` is the header's text, empty when absent;
// only its form in seconds is understood, as Kubernetes sends no other.
StatusError status_error(int code, std::string_view body, std::string_view retry_after);

}  // namespace muster::kube
