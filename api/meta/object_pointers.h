// The objects of the cluster by name only: for what passes them on, and does not look inside. An object is immutable
// once it was read, and shared.
#pragma once

#include <memory>

namespace muster {

struct Job;
struct JobSet;
struct DescribedJob;
struct Workload;
struct Pod;
struct QueuedPod;
struct InPlacePod;
struct PodGroup;
struct ConfigMap;
struct Service;
struct ClusterQueue;
struct LocalQueue;
struct Cohort;
struct ResourceFlavor;
struct AdmissionCheck;
struct PriorityClass;
struct LimitRange;
struct RuntimeClass;

using JobPtr = std::shared_ptr<const Job>;
using JobSetPtr = std::shared_ptr<const JobSet>;
using DescribedJobPtr = std::shared_ptr<const DescribedJob>;
using WorkloadPtr = std::shared_ptr<const Workload>;
using PodPtr = std::shared_ptr<const Pod>;
using QueuedPodPtr = std::shared_ptr<const QueuedPod>;
using InPlacePodPtr = std::shared_ptr<const InPlacePod>;
using PodGroupPtr = std::shared_ptr<const PodGroup>;
using ConfigMapPtr = std::shared_ptr<const ConfigMap>;
using ServicePtr = std::shared_ptr<const Service>;
using ClusterQueuePtr = std::shared_ptr<const ClusterQueue>;
using LocalQueuePtr = std::shared_ptr<const LocalQueue>;
using CohortPtr = std::shared_ptr<const Cohort>;
using ResourceFlavorPtr = std::shared_ptr<const ResourceFlavor>;
using AdmissionCheckPtr = std::shared_ptr<const AdmissionCheck>;
using PriorityClassPtr = std::shared_ptr<const PriorityClass>;
using LimitRangePtr = std::shared_ptr<const LimitRange>;
using RuntimeClassPtr = std::shared_ptr<const RuntimeClass>;

}  // namespace muster
