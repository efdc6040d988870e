package webhooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"muster.batch/test/cluster/harness"
)

// jobSetVector is what JobSet's own webhook and CRD were recorded to do with a
// request: here it is sent to a real API server with muster in their place.
type jobSetVector struct {
	ID    string `json:"id"`
	Input struct {
		Operation    string          `json:"operation"`
		Object       map[string]any  `json:"object"`
		OldObject    map[string]any  `json:"oldObject"`
		FeatureGates map[string]bool `json:"featureGates"`
	} `json:"input"`
	Output struct {
		Accepted      bool          `json:"accepted"`
		DecodeError   string        `json:"decodeError"`
		CRDErrors     []vectorError `json:"crdErrors"`
		WebhookErrors []vectorError `json:"webhookErrors"`
	} `json:"output"`
}

// wanted is whether muster should accept the request. It differs from what was
// recorded by two rules: its schema does not look into pod templates, which the API
// server checks when the Jobs are made; and the PersistentVolumeClaims of the recording
// are not there.
func (v jobSetVector) wanted() bool {
	return v.Output.Accepted || (v.onlyErrorsNotLookedFor() && !v.lacksName())
}

// lacksName: a missing name is an empty one in the recording, which had been through Go's types, and is
// refused here by the schema.
func (v jobSetVector) lacksName() bool {
	for _, job := range harness.ObjectsAt(v.Input.Object, "spec", "replicatedJobs") {
		if job["name"] == nil {
			return true
		}
	}
	return false
}

func (v jobSetVector) onlyErrorsNotLookedFor() bool {
	for _, one := range v.Output.CRDErrors {
		if one.Field != "<nil>" && !strings.Contains(one.Field, ".template.spec.template.") {
			return false
		}
	}
	for _, one := range v.Output.WebhookErrors {
		claims := strings.HasPrefix(one.Field, "spec.volumeClaimPolicies")
		if !claims || !(strings.HasSuffix(one.Field, "].spec") || strings.HasSuffix(one.Field, ".whenDeleted")) {
			return false
		}
	}
	return v.Output.DecodeError == ""
}

// posted is a recorded object as it can be sent. JobSet's schema does not know
// groupSchedulingConfig and drops it; to muster it would mean something.
func posted(object map[string]any, namespace string) *unstructured.Unstructured {
	jobSet := (&unstructured.Unstructured{Object: object}).DeepCopy()
	jobSet.SetNamespace(namespace)
	unstructured.RemoveNestedField(jobSet.Object, "spec", "groupSchedulingConfig")
	return jobSet
}

// nativeJobSets starts muster as the JobSet controller, with or without these feature gates.
func nativeJobSets(t *testing.T, elastic, restartJob, inPlace bool) *harness.Muster {
	return harness.LaunchMuster(t, "--config", harness.WriteFile(t, "config.yaml", fmt.Sprintf(`apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
---
apiVersion: config.muster.batch/v1alpha1
kind: MusterConfiguration
jobSetController: native
jobSetFeatureGates: {ElasticJobSet: %v, RestartJob: %v, InPlaceRestart: %v}
`, elastic, restartJob, inPlace)))
}

// registerForJobSets returns when both of muster's webhooks are asked about JobSets.
func registerForJobSets(t *testing.T, muster *harness.Muster, client dynamic.ResourceInterface) {
	t.Helper()
	muster.Register(t)
	ctx := harness.Context(t)
	harness.Eventually(t, 20*time.Second, "defaults for JobSets", func() error {
		made, err := client.Create(ctx, harness.JobSet("probe", "workers"), harness.DryRun)
		if err == nil && made.Object["spec"].(map[string]any)["startupPolicy"] == nil {
			err = errors.New("it came back without a startup policy")
		}
		return err
	})
	bad := harness.JobSet("probe", "workers")
	harness.Set(bad, "1net", "spec", "network", "subdomain")
	harness.Rejected(t, func(ctx context.Context) error {
		_, err := client.Create(ctx, bad, harness.DryRun)
		return err
	}, "spec.network.subdomain")
}

func TestNewJobSetsAreAcceptedAsByJobSetsOwnWebhook(t *testing.T) {
	vectors := readVectors[jobSetVector](t, "jobset_webhook")
	for _, gate := range []string{"", "RestartJob", "InPlaceRestart"} {
		t.Run("gate="+gate, func(t *testing.T) {
			cluster := harness.Connect(t)
			restartJob, inPlace := gate == "RestartJob", gate == "InPlaceRestart"
			muster := nativeJobSets(t, false, restartJob, inPlace)
			namespace := cluster.Namespace(t, nil)
			client := cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace)
			registerForJobSets(t, muster, client)
			for _, vector := range vectors {
				gates := vector.Input.FeatureGates
				if vector.Input.Operation != "CREATE" || gates["RestartJob"] != restartJob || gates["InPlaceRestart"] != inPlace {
					continue
				}
				_, err := client.Create(harness.Context(t), posted(vector.Input.Object, namespace), harness.DryRun)
				judge(t, vector.ID, vector.wanted(), err)
			}
		})
	}
}

func TestChangesOfJobSetsAreAcceptedAsByJobSetsOwnWebhook(t *testing.T) {
	vectors := readVectors[jobSetVector](t, "jobset_webhook")
	for _, elastic := range []bool{false, true} {
		t.Run(fmt.Sprintf("ElasticJobSet=%v", elastic), func(t *testing.T) {
			var mine []jobSetVector
			for _, vector := range vectors {
				if vector.Input.Operation == "UPDATE" && vector.Input.FeatureGates["ElasticJobSet"] == elastic {
					mine = append(mine, vector)
				}
			}
			judgeChanges(t, elastic, mine)
		})
	}
}

// judgeChanges stores the old objects while no webhook looks, since they are facts
// and not requests, and then asks for the changes by dry runs.
func judgeChanges(t *testing.T, elastic bool, vectors []jobSetVector) {
	cluster := harness.Connect(t)
	muster := nativeJobSets(t, elastic, false, false)
	namespace := cluster.Namespace(t, nil)
	withoutPods(t, cluster, namespace)
	client := cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace)
	for _, vector := range vectors {
		old := posted(vector.Input.OldObject, namespace)
		old.SetName(objectName(vector))
		stored, err := client.Create(harness.Context(t), old, harness.ForReal)
		harness.Must(t, err)
		if status := old.Object["status"]; status != nil {
			harness.Must(t, withStatus(t, client, stored.GetName(), status))
		}
	}
	registerForJobSets(t, muster, client)
	for _, vector := range vectors {
		change := posted(vector.Input.Object, namespace)
		change.SetName(objectName(vector))
		judge(t, vector.ID, vector.wanted(), changed(t, client, change))
	}
}

// withoutPods keeps JobSets that muster runs from getting anywhere: what was
// recorded of them is to stay as it is.
func withoutPods(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	quotas, ctx := cluster.Client.CoreV1().ResourceQuotas(namespace), harness.Context(t)
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	_, err := quotas.Create(ctx, quota, metav1.CreateOptions{})
	harness.Must(t, err)
	harness.Eventually(t, 20*time.Second, "the quota counts", func() error {
		quota, err := quotas.Get(ctx, "none", metav1.GetOptions{})
		if err == nil && len(quota.Status.Hard) == 0 {
			err = errors.New("it has no status")
		}
		return err
	})
}

// objectName is one that the names of Jobs and pods fit behind; on an update they are not checked.
func objectName(vector jobSetVector) string {
	return "v" + vector.ID[strings.LastIndex(vector.ID, "-")+1:]
}

func withStatus(t *testing.T, client dynamic.ResourceInterface, name string, status any) error {
	return onLatest(t, client, name, func(ctx context.Context, latest *unstructured.Unstructured) error {
		latest.Object["status"] = status
		_, err := client.UpdateStatus(ctx, latest, metav1.UpdateOptions{})
		return err
	})
}

func changed(t *testing.T, client dynamic.ResourceInterface, change *unstructured.Unstructured) error {
	return onLatest(t, client, change.GetName(), func(ctx context.Context, latest *unstructured.Unstructured) error {
		change.SetResourceVersion(latest.GetResourceVersion())
		change.SetUID(latest.GetUID())
		change.SetFinalizers(latest.GetFinalizers())
		_, err := client.Update(ctx, change, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

// onLatest repeats a write while muster, which runs these JobSets, writes in between.
func onLatest(t *testing.T, client dynamic.ResourceInterface, name string,
	write func(context.Context, *unstructured.Unstructured) error) (err error) {
	ctx := harness.Context(t)
	for {
		var latest *unstructured.Unstructured
		if latest, err = client.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if err = write(ctx, latest); !apierrors.IsConflict(err) {
			return err
		}
	}
}
