// The objects of a unit test's cluster: on the simulation's API server, with a clock that tests move.
//
// They change in two ways. put(), edit(), patch() and vanish() are what users and other controllers have done: any
// shape, no rule. carry_out() is a write of muster's: the API server decides by its rules, and what every write of
// muster's must be is checked. Objects that name no namespace are in "team-a".
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reconcilers/command.h"
#include "test/world/api_server.h"

namespace muster::test {

using nlohmann::json;
using Texts = std::vector<std::string>;

inline constexpr const char* kNs = "team-a";

class ObjectServer {
 public:
  using Edit = std::function<void(json&)>;

  explicit ObjectServer(world::ApiServerOptions options = {});
  virtual ~ObjectServer();
  ObjectServer(ObjectServer&&) noexcept;

  // 2026-01-01T12:00:00Z at first.
  Now now() const { return timeline_->now(); }
  void pass(Duration time) { timeline_->move_to(timeline_->time() + time); }
  void jump_wall_clock(Duration by) { timeline_->jump_wall_clock(by); }
  std::string stamp(Duration from_now = {}) const;

  static ObjectKey key(const ResourceType& type, const std::string& name);

  // Null when there is none.
  json get(const ResourceType& type, const std::string& name) const;
  json status(const ResourceType& type, const std::string& name) const;
  // "True Admitted"; empty when there is none.
  std::string condition_of(const ResourceType& type, const std::string& name, const std::string& of) const;
  // All of the namespace, by name.
  json list(const ResourceType& type) const;
  Texts names(const ResourceType& type) const;

  // What the object lacks of kind, namespace, uid ("<name>-uid"), creation time and generation is filled in.
  void put(const ResourceType& type, json object);
  void put(const ResourceType& type, const std::string& name, json object);
  // muster does not watch it, as a ConfigMap without its label.
  void put_unseen(const ResourceType& type, json object);
  void edit(const ResourceType& type, const std::string& name, const Edit& edit);
  void patch(const ResourceType& type, const std::string& name, const json& merge_patch);
  // A user's delete: what has finalizers stays until they are gone.
  void remove(const ResourceType& type, const std::string& name);
  // It is gone, whatever finalizers it had.
  void vanish(const ResourceType& type, const std::string& name);

  world::Answer carry_out(const reconcilers::Write& write);
  uint64_t version() const { return server_->version(); }
  // "create jobs/x", "patch jobs/x", "status jobsets/x", "delete jobs/x", "find pods/<selector>".
  static std::string text(const reconcilers::Write& write);
  static Texts texts(const reconcilers::Plan& plan);

 protected:
  // What muster's watch of this kind shows of a change by hand. `last`: with the version of its removal.
  virtual void shown(const ResourceType&, const json& object) = 0;
  virtual void gone(const ResourceType&, const json& last) = 0;

  // muster's patches of this kind can come without a version, unless they replace a list. Null: no kind's.
  const ResourceType* patched_unversioned = nullptr;

 private:
  world::ObjectPtr store(const ResourceType& type, json object);
  void check_form(const reconcilers::Write& write) const;

  std::unique_ptr<world::Timeline> timeline_;
  std::unique_ptr<world::ApiServer> server_;
};

}  // namespace muster::test
