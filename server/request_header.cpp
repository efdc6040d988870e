#include "server/request_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/codec/utf8.h"
#include "base/ascii.h"
#include "server/request_query.h"

namespace muster::server {
namespace {

using nlohmann::json;

Result<std::vector<std::string>> read_list(const json& data, std::string_view key) {
  const json* text = find_path(data, {key});
  if (text == nullptr) return std::vector<std::string>{};
  const auto wrong = [&] { return fail(std::string(key) + " is not a JSON list of strings"); };
  if (!text->is_string()) return wrong();
  if (text->get_ref<const std::string&>().empty()) return std::vector<std::string>{};
  const auto parsed = parse_json(text->get_ref<const std::string&>());
  if (!parsed || !parsed->is_array()) return wrong();
  if (!std::all_of(parsed->begin(), parsed->end(), [](const json& item) { return item.is_string(); })) return wrong();
  return parsed->get<std::vector<std::string>>();
}

// Why the certificate does not stand for the aggregation layer; empty: it does.
std::string distrust_of(const PeerCertificate& peer, const RequestHeaderSettings& settings) {
  if (!peer.shown) {
    return "this port answers the API server's aggregation layer, which shows a client certificate, and this client "
           "has shown none; ask the API server for this path";
  }
  if (!peer.distrust.empty())
    return "the client certificate is not one of requestheader-client-ca-file: " + peer.distrust;
  const auto& allowed = settings.allowed_names;
  if (allowed.empty()) return "";
  // If a header has several values, it is unknown which value the proxy has checked.
  const bool named = peer.common_names.size() == 1 &&
                     std::find(allowed.begin(), allowed.end(), peer.common_names.front()) != allowed.end();
  return named ? "" : "the common name of the client certificate is not one of requestheader-allowed-names";
}

// Values that are not empty.
std::vector<std::string> values_of(std::span<const HttpHeader> headers, std::string_view name) {
  const std::string wanted = in_small_letters(name);
  std::vector<std::string> values;
  for (const HttpHeader& header : headers) {
    if (!header.value.empty() && in_small_letters(header.name) == wanted) values.emplace_back(header.value);
  }
  return values;
}

// The value of the first of these headers that exists.
Result<std::string> single_value(std::span<const HttpHeader> headers, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::vector<std::string> values = values_of(headers, name);
    if (values.size() > 1) return fail("the header " + name + " is given twice");
    if (!values.empty()) return std::move(values.front());
  }
  return std::string();
}

// The key is the text after the prefix, in small letters, since names of headers are not case-sensitive. Then
// it is decoded. A text with a wrong encoding is not changed.
void read_extra(std::span<const HttpHeader> headers, const std::string& prefix, AuthenticatedUser& user) {
  const std::string wanted = in_small_letters(prefix);
  if (wanted.empty()) return;
  for (const HttpHeader& header : headers) {
    const std::string name = in_small_letters(header.name);
    if (!name.starts_with(wanted)) continue;
    const std::string key = name.substr(wanted.size());
    user.extra[percent_decoded(key).value_or(key)].emplace_back(header.value);
  }
}

bool is_text(const std::string& value) {
  return find_invalid_utf8(value) == std::string::npos;
}
bool are_texts(const std::vector<std::string>& values) {
  return std::all_of(values.begin(), values.end(), is_text);
}

bool is_text(const AuthenticatedUser& user) {
  return is_text(user.username) && is_text(user.uid) && are_texts(user.groups) &&
         std::all_of(user.extra.begin(), user.extra.end(),
                     [](const auto& entry) { return is_text(entry.first) && are_texts(entry.second); });
}

}  // namespace

Result<RequestHeaderSettings> read_request_header_settings(const json& config_map) {
  const json& data = object_at(config_map, {"data"});
  RequestHeaderSettings settings;
  settings.client_ca = string_at(data, {"requestheader-client-ca-file"});
  if (settings.client_ca.empty()) {
    return fail(
        "it has no requestheader-client-ca-file: the API server has no aggregation layer (start kube-apiserver with "
        "--requestheader-client-ca-file and --proxy-client-cert-file)");
  }
  struct List {
    std::string_view key;
    std::vector<std::string>* into;
  };
  for (const List& list : {List{"requestheader-allowed-names", &settings.allowed_names},
                           List{"requestheader-username-headers", &settings.username_headers},
                           List{"requestheader-uid-headers", &settings.uid_headers},
                           List{"requestheader-group-headers", &settings.group_headers},
                           List{"requestheader-extra-headers-prefix", &settings.extra_prefixes}}) {
    auto read = read_list(data, list.key);
    if (!read) return fail(read.error().message);
    *list.into = std::move(*read);
  }
  if (settings.username_headers.empty()) return fail("requestheader-username-headers names no header");
  return settings;
}

Result<AuthenticatedUser> authenticate(const PeerCertificate& peer, std::span<const HttpHeader> headers,
                                       const RequestHeaderSettings& settings) {
  if (const std::string why = distrust_of(peer, settings); !why.empty()) return fail(why);
  AuthenticatedUser user;
  for (auto& [into, names] :
       {std::pair{&user.username, &settings.username_headers}, std::pair{&user.uid, &settings.uid_headers}}) {
    auto value = single_value(headers, *names);
    if (!value) return fail(value.error().message);
    *into = std::move(*value);
  }
  if (user.username.empty()) return fail("no header names the user; " + settings.username_headers.front() + " should");
  for (const std::string& name : settings.group_headers) {
    for (std::string& group : values_of(headers, name)) user.groups.push_back(std::move(group));
  }
  for (const std::string& prefix : settings.extra_prefixes) read_extra(headers, prefix, user);
  if (!is_text(user)) return fail("a header that names the user, a group or an extra is not UTF-8");
  return user;
}

}  // namespace muster::server
