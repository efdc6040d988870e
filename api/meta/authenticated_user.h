// A user as the API server knows them: the UserInfo of authentication.k8s.io/v1.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster {

struct AuthenticatedUser {
  std::string username;  // empty: no user
  std::string uid{};     // empty: unknown
  std::vector<std::string> groups{};
  std::map<std::string, std::vector<std::string>> extra{};

  bool operator==(const AuthenticatedUser&) const = default;
};

}  // namespace muster
