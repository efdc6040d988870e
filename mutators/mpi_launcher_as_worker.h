// The workers of an MPIJob whose launcher runs in a worker's place are numbered from 1: the launcher is number 0.
// Topology assignment reads it from the annotation kueue.x-k8s.io/pod-index-offset.
// Source: Kueue, pkg/controller/jobs/mpijob.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {

extern const Mutator mpi_launcher_as_worker;

}  // namespace muster::mutators
