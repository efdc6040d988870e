#include <arpa/inet.h>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/config/configuration_validate.h"
#include "api/meta/names.h"

namespace muster {

namespace {

using nlohmann::json;

// Suites by Go's names. Weak suites are accepted, as in Go, but never proposed.
const std::set<std::string, std::less<>> kGoodSuites = {
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
};
const std::set<std::string, std::less<>> kWeakSuites = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
};
// P-256, P-384, P-521, X25519 and the hybrids with ML-KEM, by their numbers at IANA.
const std::set<int64_t> kCurves = {23, 24, 25, 29, 4587, 4588, 4589};

void complain_about_version(const std::string& version, std::vector<std::string>& complaints) {
  if (version.empty() || version == "VersionTLS12" || version == "VersionTLS13") return;
  std::string complaint = "invalid minVersion";
  if (version != "VersionTLS10" && version != "VersionTLS11") complaint += ": unknown tls version \"" + version + "\"";
  complaints.push_back(complaint + ". Please use VersionTLS12 or VersionTLS13");
}

void complain_about_suites(const json& suites, std::vector<std::string>& complaints) {
  for (const json& suite : suites) {
    const auto& name = suite.get_ref<const std::string&>();
    if (kGoodSuites.contains(name) || kWeakSuites.contains(name)) continue;
    complaints.push_back("invalid cipher suites: Cipher suite " + name +
                         " not supported or doesn't exist. Please use the secure cipher names: [" +
                         join({kGoodSuites.begin(), kGoodSuites.end()}, " ") + "]");
    return;
  }
}

void complain_about_curves(const json& curves, std::vector<std::string>& complaints) {
  std::set<int64_t> seen;
  for (const json& curve : curves) {
    const auto id = curve.get<int64_t>();
    std::string complaint;
    if (id <= 0 || id > 65535) {
      complaint = "curve preference " + std::to_string(id) + " is out of range (must be 1-65535)";
    } else if (!seen.insert(id).second) {
      complaint = "duplicate curve preference " + std::to_string(id);
    } else if (!kCurves.contains(id)) {
      complaint = "curve preference " + std::to_string(id) + " is no TLS group that is known here";
    } else {
      continue;
    }
    complaints.push_back("invalid curve preferences: " + complaint);
    return;
  }
}

bool is_label_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto more = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), more);
}

void check_key(const FieldPath& path, std::string_view key, FieldErrors& errors) {
  const auto complaints = is_qualified_name(key);
  if (!complaints.empty()) errors.push_back(invalid(path, std::string(key), join(complaints, "; ")));
}

void check_tracked_values(const json& label, const FieldPath& path, bool of_workloads, FieldErrors& errors) {
  constexpr size_t kMostOfWorkloads = 12, kMost = 16;
  const json& values = array_at(label, {"trackedValues"});
  const json shown = values.empty() ? json(nullptr) : values;
  if (of_workloads && values.empty()) {
    errors.push_back(invalid(path, shown, "must not be empty when sourceKind is 'Workload'"));
  }
  if (of_workloads && values.size() > kMostOfWorkloads) {
    errors.push_back(invalid(path, shown, "must not be greater than 12 when sourceKind is 'Workload'"));
  }
  if (!of_workloads && values.size() > kMost) errors.push_back(too_many(path, values.size(), kMost));
  const std::set<json> distinct(values.begin(), values.end());
  if (distinct.size() < values.size()) errors.push_back(invalid(path, shown, "must not contain duplicates"));
}

void check_custom_label(const json& label, const FieldPath& path, std::set<std::string>& names, FieldErrors& errors) {
  const auto& name = label.at("name").get_ref<const std::string&>();
  const std::string_view from_label = string_at(label, {"sourceLabelKey"});
  const std::string_view from_annotation = string_at(label, {"sourceAnnotationKey"});
  if (!is_label_name(name)) errors.push_back(invalid(path.child("name"), name, "must match ^[a-zA-Z][a-zA-Z0-9_]*$"));
  if (!names.insert(name).second) errors.push_back(duplicate(path.child("name"), name));
  if (!from_label.empty() && !from_annotation.empty()) {
    errors.push_back({path, FieldErrorType::kInvalid, print_as_go(label, configuration_field("metrics.customLabels")),
                      "sourceLabelKey and sourceAnnotationKey are mutually exclusive"});
  }
  if (!from_label.empty()) {
    check_key(path.child("sourceLabelKey"), from_label, errors);
  } else if (!from_annotation.empty()) {
    check_key(path.child("sourceAnnotationKey"), from_annotation, errors);
  } else {
    check_key(path.child("name"), name, errors);
  }
}

}  // namespace

void validate_cert_management(const json& configuration, FieldErrors& errors) {
  const json& certs = configuration.at("internalCertManagement");
  if (certs.at("enable") != true) return;
  const FieldPath path("internalCertManagement");
  const auto& service = certs.at("webhookServiceName").get_ref<const std::string&>();
  const auto& secret = certs.at("webhookSecretName").get_ref<const std::string&>();
  if (const auto complaints = is_dns1035_label(service); !complaints.empty()) {
    errors.push_back(invalid(path.child("webhookServiceName"), service, join(complaints, ",")));
  }
  if (const auto complaints = is_dns1123_subdomain(secret); !complaints.empty()) {
    errors.push_back(invalid(path.child("webhookSecretName"), secret, join(complaints, ",")));
  }
}

void validate_tls(const json& configuration, FieldErrors& errors) {
  const json* tls = find_path(configuration, {"tls"});
  if (tls == nullptr) return;
  const std::string version(string_at(*tls, {"minVersion"}));
  const json& suites = array_at(*tls, {"cipherSuites"});
  std::vector<std::string> complaints;
  complain_about_version(version, complaints);
  complain_about_suites(suites, complaints);
  complain_about_curves(array_at(*tls, {"curvePreferences"}), complaints);
  if (!complaints.empty()) {
    errors.push_back(invalid_setting("tls", *tls, join(complaints, "\n")));
  } else if (version == "VersionTLS13" && !suites.empty()) {
    errors.push_back(invalid("tls.cipherSuites", suites, "may not be specified when `minVersion` is 'VersionTLS13'"));
  }
}

void validate_visibility_server(const json& configuration, FieldErrors& errors) {
  const json* server = find_path(configuration, {"visibilityServer"});
  if (server == nullptr) return;
  const auto address = server->find("bindAddress");
  if (address != server->end()) {
    unsigned char parsed[sizeof(in6_addr)];
    const std::string text = address->get<std::string>();
    if (inet_pton(AF_INET, text.c_str(), parsed) != 1 && inet_pton(AF_INET6, text.c_str(), parsed) != 1) {
      errors.push_back(invalid("visibilityServer.bindAddress", *address, "must be a valid IP address"));
    }
  }
  const json& port = server->at("bindPort");
  if (port < 1 || port > 65535) {
    errors.push_back(invalid("visibilityServer.bindPort", port, "must be a valid port number (1-65535)"));
  }
}

void validate_custom_labels(const json& configuration, FieldErrors& errors) {
  const FieldPath path = FieldPath("metrics").child("customLabels");
  const json& labels = array_at(configuration, {"metrics", "customLabels"});
  constexpr size_t kMost = 20;
  if (labels.size() > kMost) errors.push_back(too_many(path, labels.size(), kMost));

  const std::map<std::string, size_t> most_of_kind = {
      {"ClusterQueue", 6}, {"Cohort", 6}, {"LocalQueue", 6}, {"Workload", 2}};
  std::set<std::string> names;
  std::map<std::string, size_t> of_kind;
  for (size_t i = 0; i < labels.size(); ++i) {
    check_custom_label(labels[i], path.index(i), names, errors);
    const std::string kind = labels[i].value("sourceKind", "ClusterQueue");
    ++of_kind[kind];
    check_tracked_values(labels[i], path.index(i).child("trackedValues"), kind == "Workload", errors);
  }
  for (const auto& [kind, count] : of_kind) {
    const auto most = most_of_kind.find(kind);
    if (most == most_of_kind.end()) {
      errors.push_back(invalid_setting(path.text(), labels, "unknown source kind: " + kind));
    } else if (count > most->second) {
      errors.push_back(invalid_setting(path.text(), labels,
                                       "too many custom labels for source kind " + kind + ": found " +
                                           std::to_string(count) + ", expected <= " + std::to_string(most->second)));
    }
  }
}

}  // namespace muster
