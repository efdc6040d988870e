package jobsets

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.batch/test/cluster/harness"
)

const (
	inPlaceAttempt = "jobset.sigs.k8s.io/in-place-restart-attempt"
	inPlaceAccount = "jobset-in-place-restart"
	agentExitCode  = 42
)

// inPlaceScene is a namespace in which JobSets can restart in place, on the real node.
type inPlaceScene struct {
	*testing.T
	cluster   *harness.Cluster
	namespace string
	folder    string // the workers', on this machine
}

func startInPlaceScene(t *testing.T, flags ...string) inPlaceScene {
	t.Helper()
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	policy := harness.Manifests(t, "--only=policies")
	cluster.Kubectl(t, policy, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, policy, "delete", "--ignore-not-found", "-f", "-") })
	harness.ApplyRights(t, cluster, harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests))
	harness.StartQueueMuster(t, append([]string{"--jobset-feature-gates", "InPlaceRestart=true"}, flags...)...)
	scene := inPlaceScene{T: t, cluster: cluster, namespace: cluster.Namespace(t, nil)}
	scene.allowAgents()
	return scene
}

// allowAgents is what docs/in-place-restart.md tells an administrator to do in a namespace.
func (s inPlaceScene) allowAgents() {
	s.Helper()
	s.cluster.Kubectl(s.T, "", "create", "serviceaccount", inPlaceAccount, "-n", s.namespace)
	s.cluster.Kubectl(s.T, "", "create", "rolebinding", inPlaceAccount, "-n", s.namespace,
		"--clusterrole=muster-in-place-restart-agent", "--serviceaccount="+s.namespace+":"+inPlaceAccount)
}

// worker starts by a line in the file of its index, and runs until the file "end-<index>" or "end-all" says with which
// code to end.
const worker = `echo start >>/shared/log-$INDEX
while :; do
  for f in /shared/end-$INDEX /shared/end-all; do
    if [ -e $f ]; then code=$(cat $f); [ $f = /shared/end-all ] || rm $f; echo "end $code" >>/shared/log-$INDEX; exit $code; fi
  done
  sleep 0.2
done`

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func restartsAll(operator corev1.ContainerRestartRuleOnExitCodesOperator, code int32) []corev1.ContainerRestartRule {
	return []corev1.ContainerRestartRule{{
		Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: []int32{code}},
	}}
}

// jobSet is three workers, each behind an agent, in the shape of JobSet's example with a sidecar.
func (s *inPlaceScene) jobSet(name string, maxRestarts int64) *unstructured.Unstructured {
	s.Helper()
	template := harness.RealPod(worker)
	spec := &template.Spec
	s.folder = harness.ShareFolder(s.T, spec)
	harness.Must(s.T, os.Chmod(s.folder, 0o777)) //nolint:gosec // pods of other users write there
	never, always := corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyAlways
	main := &spec.Containers[0]
	main.RestartPolicy, main.RestartPolicyRules = &never, restartsAll(corev1.ContainerRestartRuleOnExitCodesOpNotIn, 0)
	main.Env = []corev1.EnvVar{fromField("INDEX", "metadata.annotations['batch.kubernetes.io/job-completion-index']")}
	host, port := s.cluster.AddressForPods(s.T)
	spec.ServiceAccountName = inPlaceAccount
	spec.InitContainers = []corev1.Container{{
		Name: "agent", Image: harness.MusterImage, ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"in-place-restart-agent"},
		RestartPolicy: &always, RestartPolicyRules: restartsAll(corev1.ContainerRestartRuleOnExitCodesOpIn, agentExitCode),
		StartupProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/barrier-is-down", Port: intstr.FromInt32(8081)}},
			PeriodSeconds: 1, FailureThreshold: 600,
		},
		Env: []corev1.EnvVar{
			fromField("JOBSET_NAME", "metadata.annotations['jobset.sigs.k8s.io/jobset-name']"), fromField("POD_NAME", "metadata.name"),
			{Name: "IN_PLACE_RESTART_EXIT_CODE", Value: fmt.Sprint(agentExitCode)},
			{Name: "KUBERNETES_SERVICE_HOST", Value: host}, {Name: "KUBERNETES_SERVICE_PORT", Value: port},
		},
	}}
	jobSet := harness.JobSetOf(name, harness.ReplicatedJob{Name: "w", Pods: 3, Template: template})
	harness.Set(jobSet, map[string]any{"maxRestarts": maxRestarts, "restartStrategy": "InPlaceRestart"}, "spec", "failurePolicy")
	neverFails(jobSet)
	return jobSet
}

// neverFails sets what JobSet asks of the Jobs of a JobSet that restarts in place.
func neverFails(jobSet *unstructured.Unstructured) {
	jobs, _, _ := unstructured.NestedSlice(jobSet.Object, "spec", "replicatedJobs")
	for _, job := range jobs {
		spec := job.(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		spec["backoffLimit"], spec["podReplacementPolicy"] = int64(2147483647), "Failed"
	}
	harness.Set(jobSet, jobs, "spec", "replicatedJobs")
}

func (s inPlaceScene) attempts(name, what string, current, previous any) {
	s.Helper()
	s.cluster.WaitForJobSet(s.T, s.namespace, name, 2*time.Minute, what, func(live *unstructured.Unstructured) error {
		status, _, _ := unstructured.NestedMap(live.Object, "status")
		if status["currentInPlaceRestartAttempt"] != current || status["previousInPlaceRestartAttempt"] != previous {
			return fmt.Errorf("status %v", status)
		}
		return nil
	})
}

// end lets a worker, or "all", end with this code.
func (s inPlaceScene) end(who string, code int) {
	s.Helper()
	file := filepath.Join(s.folder, "end-"+who)
	harness.Must(s.T, os.WriteFile(file+".new", []byte(fmt.Sprint(code)), 0o644)) //nolint:gosec // for pods of other users
	harness.Must(s.T, os.Rename(file+".new", file))
}

func (s inPlaceScene) starts(index, count int) error {
	text, err := os.ReadFile(filepath.Join(s.folder, fmt.Sprint("log-", index)))
	if found := strings.Count(string(text), "start\n"); err != nil || found != count {
		return fmt.Errorf("worker %d has started %d times: %w", index, found, err)
	}
	return nil
}

func (s inPlaceScene) allStarted(what string, count int) {
	s.Helper()
	harness.Eventually(s.T, 2*time.Minute, what, func() error {
		for index := range 3 {
			if err := s.starts(index, count); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s inPlaceScene) podUIDs(jobSet string) map[types.UID]string {
	s.Helper()
	uids := map[types.UID]string{}
	for _, pod := range s.cluster.WaitForJobSetPods(s.T, s.namespace, jobSet, 3, time.Minute, "running", harness.IsRunning) {
		uids[pod.UID] = pod.Name
	}
	return uids
}

// On a real kubelet, with the agent of muster's image and the rights of the page: one worker fails, and all containers
// start again in the pods where they were. A pod that is deleted takes the others with it as well.
func TestPodsOfAJobSetRestartInPlace(t *testing.T) {
	scene := startInPlaceScene(t)
	scene.cluster.CreateJobSet(t, scene.namespace, scene.jobSet("train", 5))
	scene.attempts("train", "begins", int64(0), nil)
	scene.allStarted("all workers start", 1)
	before := scene.podUIDs("train")

	begin := time.Now()
	scene.end("1", 7)
	scene.attempts("train", "has restarted in place", int64(1), int64(0))
	scene.allStarted("all workers start again", 2)
	t.Logf("from the end of a worker to the start of all three: %v", time.Since(begin))
	for uid, name := range scene.podUIDs("train") {
		if before[uid] != name {
			t.Errorf("pod %s was made anew", name)
		}
	}

	// A pod that is gone is made again by its Job, an attempt ahead of the others.
	var victim string
	for _, name := range before {
		victim = name
	}
	scene.cluster.Kubectl(t, "", "delete", "pod", victim, "-n", scene.namespace, "--grace-period=0", "--force")
	scene.attempts("train", "has restarted with a new pod", int64(2), int64(1))
	scene.allStarted("all workers start for the third time", 3)
	kept := 0
	for uid := range scene.podUIDs("train") {
		if before[uid] != "" {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d of the pods are those of the beginning", kept)
	}

	scene.end("all", 0)
	scene.cluster.WaitForJobSet(t, scene.namespace, "train", 2*time.Minute, "completes", harness.HasCondition("Completed", "True", "AllJobsCompleted"))
}

// Restarts in place are as many as maxRestarts says.
func TestJobSetFailsWhenItHasRestartedInPlaceTooOften(t *testing.T) {
	scene := startInPlaceScene(t)
	scene.cluster.CreateJobSet(t, scene.namespace, scene.jobSet("train", 1))
	scene.allStarted("all workers start", 1)
	scene.end("0", 1)
	scene.allStarted("all workers start again", 2)
	scene.end("2", 1)
	scene.cluster.WaitForJobSet(t, scene.namespace, "train", 2*time.Minute, "fails", harness.HasCondition("Failed", "True", "ReachedMaxRestarts"))
}

// In a queue: an eviction takes the pods, is no restart, and the JobSet begins again when it has quota.
func TestAJobSetThatRestartsInPlaceIsEvicted(t *testing.T) {
	scene := startInPlaceScene(t)
	teams := scene.cluster.Teams(t)
	scene.namespace = teams.Namespace
	scene.allowAgents()
	teams.RealFlavor("f")
	teams.Queue("q", teams.Cpus("f=1"))
	jobSet := scene.jobSet("train", 0)
	jobSet.SetLabels(harness.Queue("q"))
	harness.Must(t, unstructured.SetNestedField(harness.PodSpecOf(jobSet, 0)["containers"].([]any)[0].(map[string]any),
		"100m", "resources", "requests", "cpu"))
	scene.cluster.CreateJobSet(t, scene.namespace, jobSet)
	scene.attempts("train", "begins", int64(0), nil)
	scene.allStarted("all workers start", 1)
	teams.Change("q", map[string]any{"stopPolicy": "HoldAndDrain"})
	scene.attempts("train", "has no attempt while it waits", nil, nil)
	teams.Change("q", map[string]any{"stopPolicy": "None"})
	scene.attempts("train", "begins again", int64(0), nil)
	scene.allStarted("all workers start again", 2)
	scene.end("all", 0)
	scene.cluster.WaitForJobSet(t, scene.namespace, "train", 2*time.Minute, "completes", harness.HasCondition("Completed", "True", "AllJobsCompleted"))
}

// A program that has taken over a pod has the rights of its agent: it can change one annotation of that pod, and what
// it writes there neither fails the JobSet nor restarts the others. Nothing of another JobSet changes.
func TestForgedAttemptsOfInPlaceRestarts(t *testing.T) {
	scene := startInPlaceScene(t)
	scene.cluster.CreateJobSet(t, scene.namespace, scene.jobSet("other", 1))
	scene.attempts("other", "begins", int64(0), nil)
	victims := scene.podUIDs("other")
	scene.cluster.CreateJobSet(t, scene.namespace, scene.jobSet("train", 1))
	scene.attempts("train", "begins", int64(0), nil)
	var mine, victim string
	var uid types.UID
	for uid, mine = range scene.podUIDs("train") {
	}
	for _, victim = range victims {
	}
	token := strings.TrimSpace(scene.cluster.Kubectl(t, "", "create", "token", inPlaceAccount, "-n", scene.namespace,
		"--bound-object-kind=Pod", "--bound-object-name="+mine, "--bound-object-uid="+string(uid)))
	patch := func(token, pod, patch string) error {
		client := scene.cluster.WithToken(t, token)
		_, err := client.CoreV1().Pods(scene.namespace).Patch(harness.Context(t), pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	attempt := func(value string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, inPlaceAttempt, value)
	}
	for what, try := range map[string]struct{ token, pod, patch, words string }{
		"the attempt of another pod": {token, victim, attempt("1"), "only the pod in which it runs"},
		"a label":                    {token, mine, `{"metadata":{"labels":{"a":"b"}}}`, "only the annotation"},
		"another annotation":         {token, mine, `{"metadata":{"annotations":{"a":"b"}}}`, "only the annotation"},
		"the image":                  {token, mine, `{"spec":{"containers":[{"name":"main","image":"evil"}]}}`, "only the annotation"},
		"a token that is of no pod":  {harness.AccountToken(t, scene.cluster, scene.namespace, inPlaceAccount), mine, attempt("1"), "only the pod in which it runs"},
		"its pod's controller":       {token, mine, `{"metadata":{"ownerReferences":null}}`, "only the annotation"},
		"a pod that does not exist":  {token, mine + "-none", attempt("1"), "not found"},
	} {
		if err := patch(try.token, try.pod, try.patch); err == nil || !strings.Contains(err.Error(), try.words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := scene.cluster.WithToken(t, token).CoreV1().Pods(scene.namespace).List(harness.Context(t), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it can list pods: %v", err)
	}
	// What it can write is no number of an attempt that can begin.
	for _, forged := range []string{"2147483647", "2", "-1", "x"} {
		harness.Must(t, patch(token, mine, attempt(forged)))
	}
	// A next attempt restarts its own JobSet, once, and this uses one of its restarts. That is what an agent is there for.
	harness.Must(t, patch(token, mine, attempt("1")))
	scene.attempts("train", "restarts", int64(0), int64(0))
	scene.attempts("other", "has not changed", int64(0), nil)
	for pod, name := range scene.podUIDs("other") {
		if victims[pod] != name {
			t.Errorf("pod %s of another JobSet was made anew", name)
		}
	}
}

// The agent as the main container: it starts the worker's command when the barrier opens, and a restart ends the worker.
// The process runs beside the API server, as it would in a pod; the test has the part of muster.
func TestInPlaceAgentRunsTheWorkerItself(t *testing.T) {
	cluster := harness.Connect(t)
	harness.LaunchMuster(t, "--jobset-controller", "external") // for the definition of JobSets
	namespace := cluster.Namespace(t, nil)
	jobSet := harness.JobSetOf("train", harness.ReplicatedJob{Name: "w", Pods: 1})
	harness.Set(jobSet, map[string]any{"maxRestarts": int64(3), "restartStrategy": "InPlaceRestart"}, "spec", "failurePolicy")
	neverFails(jobSet)
	cluster.Create(t, harness.JobSets, namespace, jobSet)
	kubeconfig := harness.WriteFile(t, "kubeconfig", cluster.Kubectl(t, "", "config", "view", "--raw", "--flatten"))
	cluster.Kubectl(t, "", "--kubeconfig", kubeconfig, "config", "set-context", "--current", "--namespace", namespace)
	cluster.Kubectl(t, "", "run", "worker", "-n", namespace, "--image=example.test/none:1", `--overrides={"spec":{"schedulerName":"nobody"}}`)
	log := filepath.Join(t.TempDir(), "log")
	command := exec.Command(harness.MusterBinary(), "in-place-restart-agent")
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "JOBSET_NAME=train", "POD_NAME=worker",
		"IN_PLACE_RESTART_EXIT_CODE=42", "WORKER_COMMAND=echo $$ >"+log+"; sleep 600 & wait")
	command.Stderr = os.Stderr
	harness.Must(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() { _ = command.Process.Kill() })
	harness.Eventually(t, 30*time.Second, "the attempt on the pod", func() error {
		pod, err := cluster.Client.CoreV1().Pods(namespace).Get(harness.Context(t), "worker", metav1.GetOptions{})
		if err == nil && pod.Annotations[inPlaceAttempt] != "0" {
			err = fmt.Errorf("it has %v", pod.Annotations)
		}
		return err
	})
	if _, err := os.Stat(log); err == nil {
		t.Error("the worker has started before the barrier opened")
	}
	status := func(text string) {
		cluster.Kubectl(t, "", "patch", "jobset", "train", "-n", namespace, "--subresource=status", "--type=merge", "-p", `{"status":`+text+`}`)
	}
	status(`{"currentInPlaceRestartAttempt":0}`)
	var worker int
	harness.Eventually(t, 30*time.Second, "the worker", func() error {
		text, err := os.ReadFile(log)
		if err == nil {
			_, err = fmt.Sscan(string(text), &worker)
		}
		return err
	})
	status(`{"currentInPlaceRestartAttempt":0,"previousInPlaceRestartAttempt":0}`)
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the agent does not end")
	}
	if code := command.ProcessState.ExitCode(); code != agentExitCode {
		t.Errorf("it ends with %d", code)
	}
	harness.Eventually(t, 10*time.Second, "the worker's group is gone", func() error {
		if err := syscall.Kill(-worker, 0); err == nil {
			return fmt.Errorf("group %d lives", worker)
		}
		return nil
	})
}
