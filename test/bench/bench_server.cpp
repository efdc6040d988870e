// muster's webhook server with the real rules and a cluster of one namespace and one
// queue, but without an API server: what the load generators measure.
//
//   bench_server [port]           serves until it is ended; prints the port
//   bench_server --review BYTES   prints a review of about that size, for wrk
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <thread>

#include "server/http_server.h"
#include "server/review_handler.h"
#include "test/bench/sample_review.h"

using namespace muster;

namespace {

template <class Write>
std::string pem(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
  write(bio.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

// ECDSA P-256 as in production: the key type decides what a handshake costs.
Outcome<> install_certificate(TlsContext& tls) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400);
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  return tls.set_certificate(pem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate.get()); }), pem([&](BIO* bio) {
                               PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
                             }));
}

ClusterViewPtr make_view() {
  auto view = std::make_shared<ClusterView>();
  view->put(nlohmann::json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team-a"}})"));
  view->put(nlohmann::json::parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
    "metadata":{"name":"team-a-queue","namespace":"team-a"},"spec":{"clusterQueue":"all"}})"));
  return view;
}

int serve(const std::string& port) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  MetricsOptions metrics_options;
  metrics_options.version = "bench";
  metrics_options.rules = all_rule_names();
  Metrics metrics(std::move(metrics_options));
  const auto settings = std::make_shared<const RuleSettings>();
  const auto view = make_view();
  const ReviewHandler handler([&] { return settings; }, [&] { return view; }, metrics);

  auto tls = TlsContext::create({});
  if (!tls || !install_certificate(**tls)) return 1;
  HttpServerOptions options;
  options.bind_address = "127.0.0.1:" + port;
  options.tls = *tls;
  options.workers = std::max(2u, std::thread::hardware_concurrency());  // as muster serve does
  HttpServer server(options, handler.routes());
  if (auto started = server.start(); !started) {
    std::cerr << started.error().message << "\n";
    return 1;
  }
  std::cout << server.port() << std::endl;
  int signal = 0;
  sigwait(&ends, &signal);
  server.drain(std::chrono::seconds(2));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--review") {
    std::cout << bench::sample_review(std::stoul(argv[2]));
    return 0;
  }
  return serve(argc > 1 ? argv[1] : "0");
}
