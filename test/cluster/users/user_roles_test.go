package users

import (
	"errors"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// The user-facing roles of the manifests, and Kubernetes' own that they are aggregated to, given to service accounts:
// what each can do, and what none of a namespace's can: give itself quota.
func TestUserRolesGrantWhatTheySay(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	harness.ApplyRights(t, cluster, harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests))
	namespace := cluster.Namespace(t, nil)
	for name, binding := range map[string][]string{
		"owner":  {"clusterrolebinding", namespace, "--clusterrole=muster-batch-admin"},
		"user":   {"rolebinding", "user", "-n", namespace, "--clusterrole=muster-batch-user"},
		"viewer": {"rolebinding", "viewer", "-n", namespace, "--clusterrole=view"},
		"editor": {"rolebinding", "editor", "-n", namespace, "--clusterrole=edit"},
		"admin":  {"rolebinding", "admin", "-n", namespace, "--clusterrole=admin"},
		"reader": {"rolebinding", "reader", "-n", namespace, "--clusterrole=muster-localqueue-viewer"},
	} {
		cluster.Kubectl(t, "", "create", "serviceaccount", name, "-n", namespace)
		cluster.Kubectl(t, "", append(append([]string{"create"}, binding...), "--serviceaccount="+namespace+":"+name)...)
	}
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "clusterrolebinding", namespace) })
	can := func(account, verb, what string) error {
		name, group, _ := strings.Cut(what, ".")
		group, sub, _ := strings.Cut(group, "/")
		asked := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + namespace + ":" + account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: group, Resource: name, Subresource: sub,
			},
		}}
		answer, err := cluster.Client.AuthorizationV1().SubjectAccessReviews().Create(harness.Context(t), asked, metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			err = errors.New("it is not allowed")
		}
		return err
	}
	// The controller manager aggregates after a moment.
	for _, granted := range []string{
		"owner create clusterqueues.kueue.x-k8s.io", "owner patch workloads.kueue.x-k8s.io", "owner delete jobsets.jobset.x-k8s.io",
		"owner update workloadpriorityclasses.kueue.x-k8s.io", "owner deletecollection localqueues.kueue.x-k8s.io",
		"user create jobs.batch", "user delete jobsets.jobset.x-k8s.io", "user watch workloads.kueue.x-k8s.io", "user list localqueues.kueue.x-k8s.io",
		"user create rayjobs.ray.io", "user delete mpijobs.kubeflow.org", "owner patch leaderworkersets.leaderworkerset.x-k8s.io",
		"viewer list workloads.kueue.x-k8s.io", "viewer get localqueues.kueue.x-k8s.io", "viewer get jobsets.jobset.x-k8s.io",
		"editor create jobsets.jobset.x-k8s.io", "editor list workloads.kueue.x-k8s.io", "admin patch jobsets.jobset.x-k8s.io",
		"admin list localqueues.kueue.x-k8s.io", "reader list localqueues.kueue.x-k8s.io",
		"owner get clusterqueues.visibility.kueue.x-k8s.io/pendingworkloads", "user get localqueues.visibility.kueue.x-k8s.io/pendingworkloads",
	} {
		words := strings.Fields(granted)
		harness.Eventually(t, 20*time.Second, granted, func() error { return can(words[0], words[1], words[2]) })
	}
	for _, account := range []string{"user", "viewer", "editor", "admin", "reader"} {
		for _, kind := range []string{"workloads", "localqueues", "clusterqueues", "workloadpriorityclasses", "workloads/status", "localqueues/status"} {
			for _, verb := range []string{"create", "update", "patch", "delete"} {
				resource, status, _ := strings.Cut(kind, "/")
				if can(account, verb, strings.TrimSuffix(resource+".kueue.x-k8s.io/"+status, "/")) == nil {
					t.Errorf("%s can %s %s", account, verb, kind)
				}
			}
		}
	}
	for _, refused := range []string{"user get clusterqueues.visibility.kueue.x-k8s.io/pendingworkloads", "owner patch workloads.kueue.x-k8s.io/status", "viewer create jobsets.jobset.x-k8s.io", "editor create rayjobs.ray.io", "user create deployments.apps", "reader list workloads.kueue.x-k8s.io",
		"owner get secrets", "user get secrets"} {
		words := strings.Fields(refused)
		if can(words[0], words[1], words[2]) == nil {
			t.Error(refused)
		}
	}
}
