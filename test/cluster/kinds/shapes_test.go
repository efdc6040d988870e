package kinds

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.batch/test/cluster/harness"
)

var livingKinds = []livingKind{pyTorchJobs, mpiJobs, sparkApplications, appWrappers, trainJobs}

// onePod is a pod template that asks for a cpu.
func onePod() map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"name": "c", "image": "i", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}}}}
}

const greedyPod = `{"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"50"}}}]}}`

// podSpecsAt are the specs of the pod templates at these paths.
func podSpecsAt(spec map[string]any, paths ...[]string) (found []map[string]any) {
	for _, path := range paths {
		if place, there, _ := unstructured.NestedMap(spec, path...); there {
			found = append(found, place)
		}
	}
	return found
}

// replicaSpecs is a spec of Kubeflow's: one pod of the first type, and more of the second.
func replicaSpecs(field, first, second string) func(kindScene, int64) map[string]any {
	return func(_ kindScene, more int64) map[string]any {
		return map[string]any{"runPolicy": map[string]any{}, field: map[string]any{
			first:  map[string]any{"replicas": int64(1), "restartPolicy": "Never", "template": onePod()},
			second: map[string]any{"replicas": more, "restartPolicy": "Never", "template": onePod()},
		}}
	}
}

func replicaTemplates(field, first, second string) func(map[string]any) []map[string]any {
	return func(spec map[string]any) []map[string]any {
		return podSpecsAt(spec, []string{field, first, "template", "spec"}, []string{field, second, "template", "spec"})
	}
}

func replicaAttacks(field string) []tenantPatch {
	patch := func(what string) string { return fmt.Sprintf(`{"spec":{%q:%s}}`, field, what) }
	return []tenantPatch{
		{"starts before it is admitted", "late", `{"spec":{"runPolicy":{"suspend":false}}}`, "cannot unsuspend"},
		{"grows", "mine", patch(`{"Worker":{"replicas":50}}`), "1 pods cannot become 50"},
		{"asks for more in each pod", "mine", patch(`{"Worker":{"template":` + greedyPod + `}}`), "request cannot change"},
		{"leaves its queue", "mine", `{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":null}}}`, "queue-name"},
		{"scales itself", "mine", `{"metadata":{"annotations":{"kueue.x-k8s.io/elastic-job":"true"}}}`, "elastic-job"},
	}
}

const (
	replicasRun    = `{"replicaStatuses":{"Worker":{"active":1}},"conditions":[{"type":"Running","status":"True"}]}`
	replicasGone   = `{"replicaStatuses":{"Worker":{"active":0}},"conditions":[{"type":"Suspended","status":"True"}]}`
	replicasDone   = `{"replicaStatuses":{"Worker":{"active":0}},"conditions":[{"type":"Succeeded","status":"True","message":"well done"}]}`
	replicasFailed = `{"replicaStatuses":{"Worker":{"active":0}},"conditions":[{"type":"Failed","status":"True","message":"a pity"}]}`
)

var pyTorchJobs = livingKind{
	framework:   "kubeflow.org/pytorchjob",
	resource:    schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1", Resource: "pytorchjobs"},
	kind:        "PyTorchJob",
	definitions: map[string]string{"pytorch/crd.yaml": "pytorchjobs.kubeflow.org"},
	suspend:     []string{"spec", "runPolicy", "suspend"},
	spec:        replicaSpecs("pytorchReplicaSpecs", "Master", "Worker"),
	given:       replicaTemplates("pytorchReplicaSpecs", "Master", "Worker"),
	running:     replicasRun, stopped: replicasGone, succeeded: replicasDone, failed: replicasFailed,
	attacks: replicaAttacks("pytorchReplicaSpecs"),
	growths: []growth{{"it was scaled as an autoscaler does it", func(scene kindScene, job string, more int64) {
		scene.teams.Kubectl("scale", "pytorchjobs.kubeflow.org", job, "--replicas", fmt.Sprint(more))
	}}},
}

var mpiJobs = livingKind{
	framework:   "kubeflow.org/mpijob",
	resource:    schema.GroupVersionResource{Group: "kubeflow.org", Version: "v2beta1", Resource: "mpijobs"},
	kind:        "MPIJob",
	definitions: map[string]string{"mpi/crd.yaml": "mpijobs.kubeflow.org"},
	makesJobs:   true,
	suspend:     []string{"spec", "runPolicy", "suspend"},
	spec:        replicaSpecs("mpiReplicaSpecs", "Launcher", "Worker"),
	given:       replicaTemplates("mpiReplicaSpecs", "Launcher", "Worker"),
	running:     replicasRun, stopped: replicasGone, succeeded: replicasDone, failed: replicasFailed,
	attacks: replicaAttacks("mpiReplicaSpecs"),
}

var sparkApplications = livingKind{
	framework:   "sparkoperator.k8s.io/sparkapplication",
	resource:    schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"},
	kind:        "SparkApplication",
	definitions: map[string]string{"spark/crd.yaml": "sparkapplications.sparkoperator.k8s.io"},
	suspend:     []string{"spec", "suspend"},
	spec: func(_ kindScene, more int64) map[string]any {
		return map[string]any{
			"type": "Scala", "mode": "cluster", "mainApplicationFile": "local:///a.jar",
			"driver":   map[string]any{"coreRequest": "1", "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "spark-kubernetes-driver"}}}}},
			"executor": map[string]any{"coreRequest": "1", "instances": more, "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "spark-kubernetes-executor"}}}}},
		}
	},
	given: func(spec map[string]any) []map[string]any {
		return podSpecsAt(spec, []string{"driver"}, []string{"executor"})
	},
	running:   `{"applicationState":{"state":"RUNNING"},"executorState":{"e-1":"RUNNING"}}`,
	stopped:   `{"applicationState":{"state":"SUSPENDED"},"executorState":null}`,
	succeeded: `{"applicationState":{"state":"COMPLETED"}}`,
	failed:    `{"applicationState":{"state":"FAILED","errorMessage":"a pity"}}`,
	attacks: []tenantPatch{
		{"starts before it is admitted", "late", `{"spec":{"suspend":false}}`, "cannot unsuspend"},
		{"grows", "mine", `{"spec":{"executor":{"instances":50}}}`, "1 pods cannot become 50"},
		{"asks for more in each pod", "mine", `{"spec":{"driver":{"coreRequest":"50"}}}`, "request cannot change"},
		{"lets Spark add executors", "mine", `{"spec":{"dynamicAllocation":{"enabled":true,"maxExecutors":50}}}`, "dynamicAllocation"},
		{"runs its driver elsewhere", "late", `{"spec":{"mode":"client"}}`, "spec.mode"},
		{"leaves its queue", "mine", `{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":null}}}`, "queue-name"},
	},
}

func wrappedJob(pods int64) map[string]any {
	return map[string]any{"template": map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "wrapped"},
		"spec": map[string]any{"parallelism": pods, "completions": pods, "template": onePod()},
	}}
}

var appWrappers = livingKind{
	framework:   "workload.codeflare.dev/appwrapper",
	resource:    schema.GroupVersionResource{Group: "workload.codeflare.dev", Version: "v1beta2", Resource: "appwrappers"},
	kind:        "AppWrapper",
	definitions: map[string]string{"appwrapper/crd.yaml": "appwrappers.workload.codeflare.dev"},
	makesJobs:   true,
	suspend:     []string{"spec", "suspend"},
	spec: func(_ kindScene, more int64) map[string]any {
		pod := onePod()
		pod["apiVersion"], pod["kind"], pod["metadata"] = "v1", "Pod", map[string]any{"name": "alone"}
		return map[string]any{"components": []any{map[string]any{"template": pod}, wrappedJob(more)}}
	},
	given: func(spec map[string]any) (found []map[string]any) {
		components, _, _ := unstructured.NestedSlice(spec, "components")
		for _, each := range components {
			component, _ := each.(map[string]any)
			infos, _, _ := unstructured.NestedSlice(component, "podSetInfos")
			for _, each := range infos {
				info, _ := each.(map[string]any)
				found = append(found, info)
			}
		}
		return found
	},
	running:   `{"phase":"Running","conditions":[{"type":"QuotaReserved","status":"True"},{"type":"ResourcesDeployed","status":"True"},{"type":"PodsReady","status":"True"}]}`,
	stopped:   `{"phase":"Suspended","conditions":[{"type":"QuotaReserved","status":"False"},{"type":"ResourcesDeployed","status":"False"}]}`,
	succeeded: `{"phase":"Succeeded","conditions":[{"type":"QuotaReserved","status":"False"}]}`,
	failed:    `{"phase":"Failed","conditions":[{"type":"QuotaReserved","status":"False"},{"type":"ResourcesDeployed","status":"False"}]}`,
	attacks: []tenantPatch{
		{"starts before it is admitted", "late", `{"spec":{"suspend":false}}`, "cannot unsuspend"},
		{"grows", "mine", `{"spec":{"components":[` + wrappedAs(1, ``) + `,` + wrappedAs(50, ``) + `]}}`, "1 pods cannot become 50"},
		{"adds a component", "mine", `{"spec":{"components":[` + wrappedAs(1, ``) + `,` + wrappedAs(1, ``) + `,` + wrappedAs(7, ``) + `]}}`, "0 pods cannot become 7"},
		{"hides pods", "mine", `{"spec":{"components":[` + wrappedAs(50, `,"podSets":[{"path":"template.spec.template","replicas":1}]`) + `]}}`, "podSets"},
		{"leaves its queue", "mine", `{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":null}}}`, "queue-name"},
	},
}

func wrappedAs(pods int, also string) string {
	return fmt.Sprintf(`{"template":{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"wrapped"},"spec":{"parallelism":%d,"completions":%d,`+
		`"template":{"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}}}%s}`, pods, pods, also)
}

var (
	clusterTrainingRuntimes = schema.GroupVersionResource{Group: "trainer.kubeflow.org", Version: "v1alpha1", Resource: "clustertrainingruntimes"}
	trainingRuntimes        = schema.GroupVersionResource{Group: "trainer.kubeflow.org", Version: "v1alpha1", Resource: "trainingruntimes"}
)

// runtimeOf is a runtime whose JobSet has jobs of one pod each, and the trainer's.
func runtimeOf(kind, name string, data, nodes int64) *unstructured.Unstructured {
	job := func(name string, replicas int64, labels map[string]any) map[string]any {
		return map[string]any{"name": name, "replicas": replicas, "template": map[string]any{
			"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"template": onePod()},
		}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"mlPolicy": map[string]any{"numNodes": nodes},
			"template": map[string]any{"spec": map[string]any{"replicatedJobs": []any{
				job("data", data, map[string]any{}), job("node", 1, map[string]any{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}),
			}}},
		},
	}}
}

var trainJobs = livingKind{
	framework: "trainer.kubeflow.org/trainjob",
	resource:  schema.GroupVersionResource{Group: "trainer.kubeflow.org", Version: "v1alpha1", Resource: "trainjobs"},
	kind:      "TrainJob",
	definitions: map[string]string{
		"trainer/crd.yaml":                     "trainjobs.trainer.kubeflow.org",
		"trainer/clustertrainingruntimes.yaml": "clustertrainingruntimes.trainer.kubeflow.org",
		"trainer/trainingruntimes.yaml":        "trainingruntimes.trainer.kubeflow.org",
	},
	suspend: []string{"spec", "suspend"},
	prepare: func(scene kindScene) {
		scene.cluster.Create(scene, clusterTrainingRuntimes, "", runtimeOf("ClusterTrainingRuntime", scene.runtime(), 1, 7))
		scene.Cleanup(func() { scene.cluster.Kubectl(scene, "", "delete", "clustertrainingruntimes", scene.runtime()) })
		scene.cluster.Create(scene, trainingRuntimes, scene.teams.Namespace, runtimeOf("TrainingRuntime", "huge", 1, 50))
		harness.Eventually(scene, 30*time.Second, "muster has seen the runtime", func() error {
			_, err := scene.tryCreate("probe", 1, harness.DryRun)
			return err
		})
	},
	spec: func(scene kindScene, more int64) map[string]any {
		return map[string]any{"runtimeRef": map[string]any{"name": scene.runtime()}, "trainer": map[string]any{"numNodes": more}}
	},
	given: func(spec map[string]any) (found []map[string]any) {
		patches, _, _ := unstructured.NestedSlice(spec, "runtimePatches")
		for _, each := range patches {
			patch, _ := each.(map[string]any)
			jobs, _, _ := unstructured.NestedSlice(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
			for _, each := range jobs {
				job, _ := each.(map[string]any)
				found = append(found, podSpecsAt(job, []string{"template", "spec", "template", "spec"})...)
			}
		}
		return found
	},
	running:   `{"jobsStatus":[{"name":"data","active":1,"ready":1,"succeeded":0,"failed":0,"suspended":0},{"name":"node","active":1,"ready":1,"succeeded":0,"failed":0,"suspended":0}]}`,
	stopped:   `{"jobsStatus":[{"name":"data","active":0,"ready":0,"succeeded":0,"failed":0,"suspended":1},{"name":"node","active":0,"ready":0,"succeeded":0,"failed":0,"suspended":1}]}`,
	succeeded: `{"jobsStatus":[],"conditions":[{"type":"Complete","status":"True","message":"well done"}]}`,
	failed:    `{"jobsStatus":[],"conditions":[{"type":"Failed","status":"True","message":"a pity"}]}`,
	attacks: []tenantPatch{
		{"starts before it is admitted", "late", `{"spec":{"suspend":false}}`, "cannot unsuspend"},
		{"grows", "mine", `{"spec":{"trainer":{"numNodes":50}}}`, "1 pods cannot become 50"},
		{"asks for more in each pod", "late", `{"spec":{"suspend":false,"trainer":{"resourcesPerNode":{"requests":{"cpu":"50"}}}}}`, "cannot unsuspend"},
		{"takes a runtime that is not there", "mine", `{"spec":{"runtimeRef":{"name":"none"}}}`, "not found"},
		{"takes a larger runtime", "mine", `{"spec":{"trainer":{"numNodes":null},"runtimeRef":{"kind":"TrainingRuntime","name":"huge"}}}`, "1 pods cannot become 50"},
		{"leaves its queue", "mine", `{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":null}}}`, "queue-name"},
	},
	growths: []growth{{"its runtime has grown", func(scene kindScene, _ string, more int64) {
		runtime := runtimeOf("ClusterTrainingRuntime", scene.runtime(), more, 7)
		scene.cluster.Patch(scene, clusterTrainingRuntimes, "", scene.runtime(),
			harness.ToJSON(scene, map[string]any{"spec": runtime.Object["spec"]}))
	}}},
}

// runtime is the name of the runtime of this namespace's jobs.
func (s kindScene) runtime() string { return s.teams.Name("torch") }
