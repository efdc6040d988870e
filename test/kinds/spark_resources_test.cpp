// What the pods of a SparkApplication request, in the words of the application, of its properties and of Spark's
// defaults.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "kinds/described_job.h"
#include "kinds/kind_description.h"

namespace spark_resources_test {

using namespace muster;
using nlohmann::json;

namespace {

DescribedJobPtr read(const std::string& spec) {
  const json object = {
      {"kind", "SparkApplication"}, {"metadata", {{"name", "j"}}}, {"spec", read_yaml("{" + spec + "}")->at(0).value}};
  return read_described_job(*find_described_kind("sparkoperator.k8s.io", "SparkApplication"), object);
}

ResourceRequirements main_of(const DescribedJobPtr& job, size_t pod_set) {
  REQUIRE(job->unreadable == "");
  return job->pod_sets.at(pod_set).pod_template.spec->containers.at(0).resources;
}

struct Row {
  const char* spec;
  const char* driver_cpu;
  const char* driver_memory;
  const char* executor_cpu;
  const char* executor_memory;
};

}  // namespace

TEST_CASE("spark: CPU and memory are what Spark requests, from fields, properties and defaults") {
  const Row rows[] = {
      {"driver: {x: 1}, executor: {x: 1}", "1", "1408Mi", "1", "1408Mi"},
      {"driver: {cores: 72}, executor: {cores: 4, coreRequest: 500m}", "72", "1408Mi", "500m", "1408Mi"},
      {"driver: {memory: 4g, memoryOverhead: 1g}, executor: {memory: 8g}", "1", "5Gi", "1", "9011Mi"},
      {"driver: {memory: '2048', memoryOverhead: '512'}, executor: {memory: 1GB}", "1", "2560Mi", "1", "1408Mi"},
      {"type: Python, driver: {memory: 2g}, executor: {memory: 2g}", "1", "2867Mi", "1", "2867Mi"},
      {"type: R, memoryOverheadFactor: '0.5', driver: {memory: 2g}, executor: {memory: 2g}", "1", "3Gi", "1", "3Gi"},
      {"memoryOverheadFactor: '0', driver: {memory: 4g}, executor: {memory: 8388608k}", "1", "4480Mi", "1", "8576Mi"},
      {"sparkConf: {spark.driver.cores: '3', spark.kubernetes.executor.request.cores: 2500m, spark.driver.memory: 8g}, "
       "driver: {x: 1}, executor: {cores: 4}",
       "3", "9011Mi", "2500m", "1408Mi"},
      {"sparkConf: {spark.driver.cores: '3', spark.driver.memory: 8g, spark.driver.memoryOverhead: 9g}, "
       "driver: {cores: 2, memory: 1g, memoryOverhead: 1g}, executor: {x: 1}",
       "2", "2Gi", "1", "1408Mi"},
      {"memoryOverheadFactor: '0.9', sparkConf: {spark.kubernetes.memoryOverheadFactor: '0.25', "
       "spark.executor.memoryOverheadFactor: '0.5'}, driver: {memory: 2g}, executor: {memory: 2g}",
       "1", "2560Mi", "1", "3Gi"},
      {"type: Python, sparkConf: {spark.executor.pyspark.memory: 512m, spark.memory.offHeap.enabled: 'True', "
       "spark.memory.offHeap.size: '1073741824'}, driver: {memory: 2g}, executor: {memory: 2g}",
       "1", "2867Mi", "1", "4403Mi"},
      {"type: Scala, sparkConf: {spark.executor.pyspark.memory: 512m, spark.memory.offHeap.size: 1g}, "
       "driver: {x: 1}, executor: {x: 1}",
       "1", "1408Mi", "1", "1408Mi"},
      {"sparkConf: {spark.driver.minMemoryOverhead: 1g}, driver: {x: 1}, executor: {x: 1}", "1", "2Gi", "1", "1408Mi"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.spec);
    const DescribedJobPtr job = read(row.spec);
    const auto is = [](const ResourceRequirements& made, const char* cpu, const char* memory) {
      CHECK(made.requests.at("cpu") == *Quantity::parse(cpu));
      CHECK(made.requests.at("memory") == *Quantity::parse(memory));
    };
    is(main_of(job, 0), row.driver_cpu, row.driver_memory);
    is(main_of(job, 1), row.executor_cpu, row.executor_memory);
  }
}

TEST_CASE("spark: values that Spark would not accept keep the application out of its queue, and are named") {
  const std::pair<const char*, const char*> rows[] = {
      {"driver: {memory: 512Mi}, executor: {x: 1}",
       "spec.driver: failed to parse memory requests: invalid Spark memory string \"512Mi\": Spark reads 512m or 2g"},
      {"driver: {memory: ''}, executor: {x: 1}", "invalid Spark memory string \"\""},
      {"driver: {memory: -1g}, executor: {x: 1}", "invalid Spark memory string"},
      {"driver: {memory: 1.5g}, executor: {x: 1}", "invalid Spark memory string"},
      {"driver: {memory: 8589934592p}, executor: {x: 1}", "value is too large"},
      {"driver: {memory: 8191p, memoryOverhead: 8191p}, executor: {x: 1}", "is too large"},
      {"driver: {x: 1}, executor: {memoryOverhead: 1Gi}", "spec.executor: failed to parse memory overhead"},
      {"driver: {coreRequest: many}, executor: {x: 1}", "failed to parse CPU requests many"},
      {"sparkConf: {spark.driver.cores: four}, driver: {x: 1}, executor: {x: 1}", "spark.driver.cores=four"},
      {"memoryOverheadFactor: lots, driver: {x: 1}, executor: {x: 1}", "must be a non-negative number"},
      {"memoryOverheadFactor: nan, driver: {x: 1}, executor: {x: 1}", "must be a non-negative number"},
      {"memoryOverheadFactor: 1e30, driver: {memory: 8191p}, executor: {x: 1}", "is too large"},
  };
  for (const auto& [spec, why] : rows) {
    CAPTURE(spec);
    const DescribedJobPtr job = read(spec);
    CAPTURE(job->unreadable);
    CHECK(job->unreadable.find(why) != std::string::npos);
  }
}

TEST_CASE("spark: devices and executors count, by whichever property the application asks for them") {
  const DescribedJobPtr job = read(
      "sparkConf: {spark.executor.instances: '50', spark.executor.resource.gpu.amount: '2', "
      "spark.executor.resource.gpu.vendor: nvidia.com, spark.driver.resource.fpga.amount: '9'}, "
      "driver: {gpu: {name: amd.com/gpu, quantity: 1}}, executor: {gpu: {name: nvidia.com/gpu, quantity: 1}}");
  CHECK(job->pod_sets.at(1).count == 50);
  CHECK(main_of(job, 0).limits == ResourceList{{"amd.com/gpu", Quantity::of(1)}});
  CHECK(main_of(job, 1).limits == ResourceList{{"nvidia.com/gpu", Quantity::of(2)}});
  CHECK(read("sparkConf: {spark.executor.instances: '50'}, driver: {x: 1}, executor: {instances: 2}")
            ->pod_sets.at(1)
            .count == 2);
  CHECK(read("driver: {x: 1}, executor: {x: 1}")->pod_sets.at(1).count == 2);
  CHECK(read("sparkConf: {spark.executor.instances: many}, driver: {x: 1}, executor: {x: 1}")->pod_sets.at(1).count ==
        2147483647);
}

TEST_CASE("spark: what a pod template adds to the pods of a role counts") {
  const DescribedJobPtr job = read(
      "driver: {cores: 2, template: {spec: {runtimeClassName: kata, overhead: {cpu: 1}, resources: {limits: {cpu: 9}}, "
      "initContainers: [{name: i, resources: {requests: {cpu: 7}}}], "
      "containers: [{name: side, resources: {requests: {cpu: 64}}}, "
      "{name: spark-kubernetes-driver, resources: {requests: {cpu: 5}, limits: {memory: 1Ki, nvidia.com/gpu: 4}}}]}}}, "
      "executor: {sidecars: [{name: s, image: s, resources: {requests: {cpu: 3}}}], "
      "template: {spec: {containers: [{name: first, resources: {requests: {cpu: 5, example.com/x: 1}}}, {name: t}]}}}");
  REQUIRE(job->unreadable == "");
  const PodSpec& driver = *job->pod_sets.at(0).pod_template.spec;
  CHECK(driver.containers.at(0).resources.requests.at("cpu") == Quantity::of(2));
  CHECK(driver.containers.at(0).resources.limits == ResourceList{{"nvidia.com/gpu", Quantity::of(4)}});
  CHECK(driver.containers.at(1).resources.requests.at("cpu") == Quantity::of(64));
  CHECK(driver.init_containers.at(0).resources.requests.at("cpu") == Quantity::of(7));
  CHECK(driver.overhead.at("cpu") == Quantity::of(1));
  CHECK(driver.runtime_class == "kata");
  CHECK(driver.resources->limits.at("cpu") == Quantity::of(9));
  const PodSpec& executor = *job->pod_sets.at(1).pod_template.spec;
  CHECK(executor.containers.size() == 3);
  CHECK(executor.containers.at(0).resources.requests.at("cpu") == Quantity::of(1));
  CHECK(executor.containers.at(0).resources.requests.at("example.com/x") == Quantity::of(1));
}

TEST_CASE("spark: a role has the node selector of the application too, and its own first") {
  const DescribedJobPtr job =
      read("nodeSelector: {gpu: a100, zone: a}, driver: {nodeSelector: {zone: b}}, executor: {x: 1}");
  const auto selector = [&](size_t pod_set) {
    return json::parse(job->pod_sets.at(pod_set).pod_template.spec->text).at("nodeSelector");
  };
  CHECK(selector(0) == json{{"gpu", "a100"}, {"zone", "b"}});
  CHECK(selector(1) == json{{"gpu", "a100"}, {"zone", "a"}});
}

TEST_CASE("spark: a failed submission is no end where the operator submits again") {
  const auto ended = [](const std::string& policy, const std::string& state) {
    const json object = {{"kind", "SparkApplication"},
                         {"metadata", {{"name", "j"}}},
                         {"spec", read_yaml("{driver: {x: 1}, executor: {x: 1}" + policy + "}")->at(0).value},
                         {"status", {{"applicationState", {{"state", state}}}}}};
    return read_described_job(*find_described_kind("sparkoperator.k8s.io", "SparkApplication"), object)
        ->end.has_value();
  };
  CHECK(ended("", "SUBMISSION_FAILED"));
  CHECK(ended(", restartPolicy: {type: Never}", "SUBMISSION_FAILED"));
  for (const char* policy : {"OnFailure", "Always"}) {
    CHECK_FALSE(ended(std::string(", restartPolicy: {type: ") + policy + "}", "SUBMISSION_FAILED"));
    CHECK(ended(std::string(", restartPolicy: {type: ") + policy + "}", "FAILED"));
  }
}

}  // namespace spark_resources_test
