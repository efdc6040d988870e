#include "certs/authority.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/rand.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "base/ascii.h"
#include "certs/openssl_handles.h"

namespace muster::certs {
namespace {

std::time_t whole_seconds(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::floor<std::chrono::seconds>(time).time_since_epoch())
      .count();
}

std::optional<TimePoint> to_time(const ASN1_TIME* asn1) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(asn1, &parts) != 1) return std::nullopt;
  return TimePoint(std::chrono::seconds(timegm(&parts)));
}

// 127 random bits, never zero: unique without a counter, positive, and within the
// 20 bytes of RFC 5280.
bool set_serial(X509* certificate) {
  const BignumPtr number(BN_new());
  return number && BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_common_name(X509_NAME* name, std::string_view text) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// The name goes into OpenSSL's "DNS:a,DNS:b" syntax: what could be read as part of
// that syntax must not get in.
bool is_dns_name(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '*';
  });
}

bool is_ip_address(const std::string& text) {
  ASN1_OCTET_STRING* address = a2i_IPADDRESS(text.c_str());
  ASN1_OCTET_STRING_free(address);
  ERR_clear_error();
  return address != nullptr;
}

Result<std::string> alternative_names(const ServingNames& names) {
  std::string text;
  for (const std::string& name : names.dns) {
    if (!is_dns_name(name)) return fail("\"" + name + "\" is no DNS name that a certificate can carry");
    text += (text.empty() ? "DNS:" : ",DNS:") + name;
  }
  for (const std::string& address : names.ips) {
    if (!is_ip_address(address)) return fail("\"" + address + "\" is no IP address");
    text += (text.empty() ? "IP:" : ",IP:") + address;
  }
  if (text.empty()) return fail("a serving certificate needs at least one DNS name or IP address");
  return text;
}

// Everything that a CA and a leaf have in common; not yet signed.
Result<CertificatePtr> unsigned_certificate(EVP_PKEY* key, std::string_view common_name, Validity validity) {
  if (validity.not_after <= validity.not_before) return fail("the certificate would end before it begins");
  CertificatePtr certificate(X509_new());
  if (!certificate || X509_set_version(certificate.get(), X509_VERSION_3) != 1 || !set_serial(certificate.get()) ||
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), whole_seconds(validity.not_before)) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), whole_seconds(validity.not_after)) == nullptr ||
      X509_set_pubkey(certificate.get(), key) != 1 ||
      !set_common_name(X509_get_subject_name(certificate.get()), common_name)) {
    return openssl_failure("cannot fill in the certificate");
  }
  return certificate;
}

Result<KeyPtr> make_key() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failure("cannot make an ECDSA P-256 key");
  return key;
}

void read_names(X509* certificate, ServingNames& names) {
  auto* all = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all, i);
    if (name->type == GEN_DNS) {
      names.dns.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                             static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    } else if (name->type == GEN_IPADD &&
               (ASN1_STRING_length(name->d.iPAddress) == 4 || ASN1_STRING_length(name->d.iPAddress) == 16)) {
      char text[INET6_ADDRSTRLEN] = "";
      const int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
      inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text);
      names.ips.emplace_back(text);
    }
  }
  GENERAL_NAMES_free(all);
  names = canonical(std::move(names));
}

void sort_unique(std::vector<std::string>& texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
}

}  // namespace

ServingNames canonical(ServingNames names) {
  for (std::string& name : names.dns) name = in_small_letters(name);
  for (std::string& address : names.ips) {
    unsigned char bytes[sizeof(in6_addr)];
    char text[INET6_ADDRSTRLEN];
    const int family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
    if (inet_pton(family, address.c_str(), bytes) == 1) address = inet_ntop(family, bytes, text, sizeof text);
  }
  sort_unique(names.dns);
  sort_unique(names.ips);
  return names;
}

ServingNames service_names(std::string_view service, std::string_view namespace_name) {
  const std::string name = std::string(service) + "." + std::string(namespace_name);
  return {{std::string(service), name, name + ".svc", name + ".svc.cluster.local"}, {}};
}

Result<KeyPair> make_authority(std::string_view common_name, Validity validity) {
  auto key = make_key();
  if (!key) return fail_with(key.error());
  auto certificate = unsigned_certificate(key->get(), common_name, validity);
  if (!certificate) return fail_with(certificate.error());
  X509* ca = certificate->get();
  if (X509_set_issuer_name(ca, X509_get_subject_name(ca)) != 1 ||
      !add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(ca, ca, NID_subject_key_identifier, "hash") || X509_sign(ca, key->get(), EVP_sha256()) == 0) {
    return openssl_failure("cannot sign the CA certificate");
  }
  return KeyPair{to_pem(ca), to_pem(key->get())};
}

Result<KeyPair> make_leaf(const KeyPair& authority, const ServingNames& names, Validity validity) {
  const auto alternatives = alternative_names(names);
  if (!alternatives) return fail_with(alternatives.error());
  if (auto fits = check_key(authority); !fits) return fail("the CA cannot sign: " + fits.error().message);
  auto issuers = parse_certificates(authority.certificate);
  auto issuer_key = parse_key(authority.key);
  if (!issuers || !issuer_key) return fail("the CA cannot sign: its certificate or key is unreadable");
  X509* issuer = issuers->front().get();
  if (const auto end = to_time(X509_get0_notAfter(issuer))) validity.not_after = std::min(validity.not_after, *end);

  auto key = make_key();
  if (!key) return fail_with(key.error());
  const std::string& common_name = names.dns.empty() ? names.ips.front() : names.dns.front();
  auto certificate = unsigned_certificate(key->get(), std::string_view(common_name).substr(0, 64), validity);
  if (!certificate) return fail_with(certificate.error());
  X509* leaf = certificate->get();
  if (X509_set_issuer_name(leaf, X509_get_subject_name(issuer)) != 1 ||
      !add_extension(leaf, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(leaf, issuer, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(leaf, issuer, NID_ext_key_usage, "serverAuth") ||
      !add_extension(leaf, issuer, NID_subject_key_identifier, "hash") ||
      !add_extension(leaf, issuer, NID_authority_key_identifier, "keyid") ||
      !add_extension(leaf, issuer, NID_subject_alt_name, *alternatives) ||
      X509_sign(leaf, issuer_key->get(), EVP_sha256()) == 0) {
    return openssl_failure("cannot sign the serving certificate");
  }
  return KeyPair{to_pem(leaf), to_pem(key->get())};
}

Result<CertificateFacts> read_certificate(std::string_view pem) {
  const auto certificates = parse_certificates(pem);
  if (!certificates) return fail_with(certificates.error());
  if (certificates->empty()) return fail("there is no certificate in the text");
  X509* certificate = certificates->front().get();

  CertificateFacts facts;
  const auto from = to_time(X509_get0_notBefore(certificate));
  const auto to = to_time(X509_get0_notAfter(certificate));
  if (!from || !to) return openssl_failure("the certificate's validity is unreadable");
  facts.not_before = *from;
  facts.not_after = *to;
  const BignumPtr serial(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  if (char* hex = serial ? BN_bn2hex(serial.get()) : nullptr) {
    facts.serial = hex;
    OPENSSL_free(hex);
  }
  X509_NAME* subject = X509_get_subject_name(certificate);
  if (const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1); at >= 0) {
    const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    facts.common_name.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                             static_cast<size_t>(ASN1_STRING_length(text)));
  }
  read_names(certificate, facts.names);
  facts.is_authority = X509_check_ca(certificate) == 1;
  ERR_clear_error();
  return facts;
}

Result<std::vector<std::string>> split_bundle(std::string_view pem) {
  const auto certificates = parse_certificates(pem);
  if (!certificates) return fail_with(certificates.error());
  std::vector<std::string> texts;
  for (const CertificatePtr& certificate : *certificates) texts.push_back(to_pem(certificate.get()));
  return texts;
}

Outcome<> check_key(const KeyPair& pair) {
  const auto certificates = parse_certificates(pair.certificate);
  if (!certificates) return fail_with(certificates.error());
  if (certificates->empty()) return fail("there is no certificate in the text");
  const auto key = parse_key(pair.key);
  if (!key) return fail_with(key.error());
  if (X509_check_private_key(certificates->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return fail("the private key does not belong to the certificate");
  }
  return Done{};
}

Outcome<> verify_chain(std::string_view chain, std::string_view bundle, TimePoint at, std::string_view host) {
  const auto presented = parse_certificates(chain);
  if (!presented) return fail_with(presented.error());
  if (presented->empty()) return fail("there is no certificate to verify");
  const auto trusted = parse_certificates(bundle);
  if (!trusted) return fail("the CA bundle: " + trusted.error().message);

  const StorePtr store(X509_STORE_new());
  for (const CertificatePtr& authority : *trusted) X509_STORE_add_cert(store.get(), authority.get());
  STACK_OF(X509)* intermediates = sk_X509_new_null();
  for (size_t i = 1; i < presented->size(); ++i) sk_X509_push(intermediates, (*presented)[i].get());
  const StoreContextPtr context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), presented->front().get(), intermediates);
  X509_VERIFY_PARAM* param = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(param, whole_seconds(at));
  X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
  // A bundle can hold an intermediate without its root (cert-manager's ca.crt does
  // so at times), and the API server's verifier accepts that.
  X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
  if (!host.empty() && X509_VERIFY_PARAM_set1_ip_asc(param, std::string(host).c_str()) != 1) {
    X509_VERIFY_PARAM_set1_host(param, host.data(), host.size());
  }
  const bool valid = X509_verify_cert(context.get()) == 1;
  const int reason = X509_STORE_CTX_get_error(context.get());
  sk_X509_free(intermediates);
  ERR_clear_error();
  if (!valid) return fail(X509_verify_cert_error_string(reason));
  return Done{};
}

}  // namespace muster::certs
