// A Kubernetes API server in memory: what its clients can see of storage and rules,
// without HTTP, authorization or schemas.
//
// It keeps: uids, generations (of what is neither metadata nor status), names made from
// generateName, conflicts, optimistic locking by metadata.resourceVersion and
// metadata.uid in a patch, the status subresource, namespaces, finalizers, graceful
// deletion of pods, dry-run, and the rules of batch/v1 that matter here (what of a Job
// can change when). What follows from a deletion is the garbage collector's
// (test/world/garbage_collector.h).
//
// The objects themselves are in an ObjectStorage (test/world/object_storage.h). One thread.
//
// Source: apimachinery; kube-apiserver pkg/registry (rest.BeforeCreate, BeforeUpdate,
// BeforeDelete; core/pod, batch/job strategies); Kubernetes 1.36.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/review/admission_review.h"
#include "kinds/typed_object.h"
#include "reconcilers/command.h"
#include "test/world/object_storage.h"
#include "test/world/selection.h"
#include "test/world/timeline.h"

namespace muster::world {

struct Answer {
  reconcilers::WriteOutcome outcome = reconcilers::WriteOutcome::kDone;
  ObjectPtr object{};     // kDone: as it is stored now, or would be; null when it is gone
  std::string message{};  // otherwise: a sentence

  bool done() const { return outcome == reconcilers::WriteOutcome::kDone; }
};

// Who asks, and how.
struct Request {
  std::string user = "user";
  bool dry_run = false;
};

// Why a webhook did not let a request through: kRefused, or kFailed when it gave no answer.
struct Refusal {
  reconcilers::WriteOutcome outcome = reconcilers::WriteOutcome::kRefused;
  std::string message{};
};

// The webhooks of a cluster. nullopt: the request passes.
class Admission {
 public:
  virtual ~Admission() = default;
  // Whether it is asked at all.
  virtual bool concerns(const ResourceType&, Operation) const { return true; }
  // Edits the object of the request.
  virtual std::optional<Refusal> mutate(const AdmissionRequest& request, nlohmann::json& object) = 0;
  virtual std::optional<Refusal> validate(const AdmissionRequest& request) = 0;
};

// What becomes of an object's dependents.
struct Deletion {
  std::string uid{};      // only this very object
  std::string version{};  // only in this resourceVersion
  reconcilers::Propagation propagation = reconcilers::Propagation::kBackground;
  bool orphan = false;  // they stay, instead (kubectl delete --cascade=orphan)
  // Of pods on a node: at once, without asking its kubelet.
  bool now = false;
};

struct ApiServerOptions {
  uint64_t seed = 1;
  // Kubernetes 1.36: the template's scheduling directives of a Job that is Suspended and
  // has no active pod can change although it has started before. Off: only while
  // status.startTime is null.
  bool resumed_jobs_may_change = true;
  // Off: objects and changes are not validated, as by the fake clients that recorded behaviour comes from.
  bool validates = true;
  // Changes that watches can resume from; older ones are compacted away.
  size_t history = 10'000;
};

class ApiServer {
 public:
  // `timeline` must outlive the server.
  ApiServer(Timeline& timeline, ApiServerOptions options);

  // --- What clients call ---

  // The kind is the manifest's own; the namespace is metadata.namespace.
  Answer create(nlohmann::json object, const Request& request = {});
  // A JSON merge patch of the object without its status; one that changes nothing makes no new version and no
  // event.
  Answer patch(const ObjectKey& key, const nlohmann::json& patch, const Request& request = {});
  // The same of its status alone. kRefused for a kind that has none.
  Answer patch_status(const ObjectKey& key, const nlohmann::json& patch, const Request& request = {});
  Answer remove(const ObjectKey& key, const Deletion& deletion = {}, const Request& request = {});
  // Carries out what muster asked for.
  Answer carry_out(const reconcilers::Write& write, const Request& request = {});

  // null when there is none.
  ObjectPtr get(const ObjectKey& key) const;
  // By namespace and name.
  std::vector<ObjectPtr> list(const ResourceType& type, const Selection& selection = {}) const;
  uint64_t version() const { return storage_.version(); }
  // What a watch that has seen `version` must get next; removed is set where an object
  // no longer matches the selection, before is null where it does so for the first time.
  // nullopt: 410 Gone, so much has happened since; list again.
  std::optional<std::vector<Change>> changes_since(const ResourceType& type, const Selection& selection,
                                                   uint64_t version) const {
    return storage_.changes_since(type, selection, version);
  }

  // --- What the harness calls ---

  // Hears of every change, of all kinds. Must outlive the server, or never be called again.
  void on_change(ObjectStorage::Listener listener) { storage_.on_change(std::move(listener)); }
  // Puts an object into storage as it is, as an older API server or an edit of etcd would leave it: without rules,
  // defaults and webhooks. Only its resourceVersion is set here.
  ObjectPtr store(const ResourceType& type, nlohmann::json object);
  // Takes an object out of storage, whatever finalizers it has. Returns its last state, with the version of its
  // removal; null: there was none.
  ObjectPtr erase(const ObjectKey& key);
  // null: none. Must outlive the server.
  void set_admission(Admission* admission) { admission_ = admission; }
  // Kinds are served from the beginning; a CRD that is not installed is not. Its objects
  // stay, unseen, as in etcd.
  void serve(const ResourceType& type, bool served);
  bool serves(const ResourceType& type) const { return !unserved_.contains(stored_id(type)); }
  // Forgets all history: a watch that resumes gets a 410.
  void compact() { storage_.compact(); }
  // Objects that name this uid among their owners.
  std::vector<ObjectKey> dependents_of(const std::string& uid) const { return storage_.dependents_of(uid); }
  // Whether any object has this uid.
  bool exists(const std::string& uid) const { return storage_.exists(uid); }

 private:
  Answer find_pods(const reconcilers::Write& search) const;
  Answer update(const ObjectKey& key, const nlohmann::json& patch, bool status, const Request& request);
  std::optional<Answer> admit(Operation operation, const ResourceType& type, const Request& request,
                              nlohmann::json* object, const nlohmann::json& old_object, bool mutating);
  std::optional<Answer> refuse_create(const ResourceType& type, const nlohmann::json& object) const;
  std::optional<std::string> refuse_change(const ResourceType& type, const nlohmann::json& before,
                                           const nlohmann::json& after, bool status) const;
  Answer commit(const ResourceType& type, nlohmann::json object, const ObjectPtr& before);
  void empty_namespace(const std::string& name);
  std::string new_uid();
  std::string stamp() const;
  std::string new_name(const ResourceType& type, const nlohmann::json& object);

  Timeline& timeline_;
  const ApiServerOptions options_;
  Chance chance_;
  Admission* admission_ = nullptr;
  ObjectStorage storage_;
  std::set<KindId> unserved_;
  uint64_t admission_requests_ = 0;
};

// The kind of a manifest by its apiVersion and kind; nullptr when muster knows no such kind.
const ResourceType* find_type(const nlohmann::json& manifest);

}  // namespace muster::world
