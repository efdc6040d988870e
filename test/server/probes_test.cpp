#include "server/probes.h"

#include <doctest/doctest.h>

#include "test/server/test_client.h"

namespace probes_test {

using namespace muster;
using namespace muster::server;
using namespace muster::test;

TEST_CASE("Ready means that every check has passed") {
  Readiness readiness;
  CHECK(readiness.report(false).status == 503);
  readiness.set_ready("certificate");
  readiness.set_ready("listener");
  CHECK_FALSE(readiness.ready());
  CHECK(readiness.report(false).body == "[-]sync failed: not yet\nreadyz check failed\n");
  readiness.set_ready("sync");
  CHECK(readiness.ready());
  CHECK(readiness.report(false).status == 200);
  CHECK(readiness.report(false).body == "ok");
  CHECK(readiness.report(true).body ==
        "[+]certificate ok\n[+]listener ok\n[+]shutdown ok\n[+]sync ok\nreadyz check passed\n");
}

TEST_CASE("A check that passed can fail again and says why") {
  Readiness readiness({"certificate"});
  readiness.set_ready("certificate");
  readiness.set_unready("certificate", "expired at noon");
  CHECK(readiness.report(true).body == "[-]certificate failed: expired at noon\n[+]shutdown ok\nreadyz check failed\n");
}

TEST_CASE("Shutting down is unready but healthy") {
  Readiness readiness(std::vector<std::string>{});
  HttpServerOptions options;
  options.bind_address = "127.0.0.1:0";
  options.workers = 1;
  ProbeServer server(options, readiness);
  REQUIRE(server.start().ok());
  TestClient client(server.port(), Wire::kPlain);
  CHECK(client.exchange(get("/readyz"))->status == 200);
  readiness.shut_down();
  const auto unready = client.exchange(get("/readyz?verbose=1"));
  REQUIRE(unready);
  CHECK(unready->status == 503);
  CHECK(unready->body == "[-]shutdown failed: muster is shutting down\nreadyz check failed\n");
  CHECK(client.exchange(get("/healthz"))->body == "ok");
  CHECK(client.exchange(get("/healthz?verbose"))->body == "[+]ping ok\nhealthz check passed\n");
}

TEST_CASE("The endpoints have the names of the configuration") {
  CHECK(probe_paths("", "").liveness == "/healthz");
  CHECK(probe_paths("", "").readiness == "/readyz");
  Readiness readiness(std::vector<std::string>{});
  HttpServerOptions options;
  options.bind_address = "127.0.0.1:0";
  options.workers = 1;
  ProbeServer server(options, readiness, probe_paths("alive", "/ready"));
  REQUIRE(server.start().ok());
  TestClient client(server.port(), Wire::kPlain);
  CHECK(client.exchange(get("/alive"))->status == 200);
  CHECK(client.exchange(get("/ready"))->status == 200);
  CHECK(client.exchange(get("/healthz"))->status == 404);
  readiness.shut_down();
  // A path that is not found ends the connection.
  CHECK(TestClient(server.port(), Wire::kPlain).exchange(get("/ready"))->status == 503);
}

TEST_CASE("Who is sick says so, and is well again") {
  Readiness readiness(std::vector<std::string>{});
  CHECK(readiness.health(false).status == 200);
  readiness.set_sick("the engine is stuck");
  CHECK(readiness.health(true).status == 503);
  CHECK(readiness.health(false).body == "[-]engine failed: the engine is stuck\nhealthz check failed\n");
  CHECK(readiness.report(false).status == 200);
  readiness.set_sick("");
  CHECK(readiness.health(false).body == "ok");
}

TEST_CASE("Probes are for reading only") {
  Readiness readiness(std::vector<std::string>{});
  HttpServerOptions options;
  options.bind_address = "127.0.0.1:0";
  ProbeServer server(options, readiness);
  REQUIRE(server.start().ok());
  TestClient client(server.port(), Wire::kPlain);
  const auto answer = client.exchange(post("/healthz", "{}"));
  REQUIRE(answer);
  CHECK(answer->status == 405);
  CHECK(answer->headers.at("allow") == "GET");
}

}  // namespace probes_test
