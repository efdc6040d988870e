package jobsets

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// A volume on the real node, for claims of one class.
func volumeOnNode(t *testing.T, cluster *harness.Cluster, class string) {
	t.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}, StorageClassName: class,
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: t.TempDir()}},
		}}
	_, err := cluster.Client.CoreV1().PersistentVolumes().Create(harness.Context(t), volume, harness.ForReal)
	harness.Must(t, err)
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "pv", class, "--wait=false") })
}

// One Job writes into a claim of the JobSet and a later one reads it, on a real kubelet. With the JobSet the
// claim goes that was made for it alone, and the other stays and is found by the next JobSet of that name.
func TestPodsOfAJobSetShareItsVolumeClaims(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	volumeOnNode(t, cluster, namespace)
	after := map[string]any{"dependsOn": []any{map[string]any{"name": "writer", "status": "Complete"}}}
	made := func(write string) {
		jobSet := harness.JobSetOf("train",
			harness.ReplicatedJob{Name: "writer", Template: harness.Mounting(harness.RealPod(write), "data")},
			harness.ReplicatedJob{Name: "reader", Template: harness.Mounting(harness.RealPod("grep one /data/f"), "data"), Extra: after},
			// No volume is there for this one.
			harness.ReplicatedJob{Name: "waits", Template: harness.Mounting(harness.HollowPod(-1, 0), "scratch")})
		harness.Set(jobSet, []any{harness.ClaimPolicy("data", "Retain", namespace),
			harness.ClaimPolicy("scratch", "Delete", nil)}, "spec", "volumeClaimPolicies")
		harness.Set(jobSet, map[string]any{"operator": "All", "targetReplicatedJobs": []any{"writer", "reader"}}, "spec", "successPolicy")
		cluster.CreateJobSet(t, namespace, jobSet)
		cluster.WaitForJobSet(t, namespace, "train", 2*time.Minute, "completed", harness.HasCondition("Completed", "True", ""))
	}
	made("echo one > /data/f")
	kept, scratch := harness.AwaitClaim(t, cluster, namespace, "data-train"), harness.AwaitClaim(t, cluster, namespace, "scratch-train")
	if len(kept.OwnerReferences) != 0 || kept.Labels[harness.JobSetNameLabel] != "train" {
		t.Errorf("the claim to be retained has owners %v and labels %v", kept.OwnerReferences, kept.Labels)
	}
	if len(scratch.OwnerReferences) != 1 || scratch.OwnerReferences[0].Kind != "JobSet" {
		t.Errorf("the claim to be deleted has owners %v", scratch.OwnerReferences)
	}

	cluster.Delete(t, harness.JobSets, namespace, "train", metav1.DeletePropagationForeground)
	cluster.AwaitGone(t, harness.JobSets, namespace, "train")
	harness.Eventually(t, time.Minute, "the claim of the JobSet alone goes with it", func() error {
		_, err := cluster.Client.CoreV1().PersistentVolumeClaims(namespace).Get(harness.Context(t), "scratch-train", metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("it is there")
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	harness.Rejected(t, func(ctx context.Context) error {
		jobSet := harness.JobSetOf("train", harness.ReplicatedJob{Name: "w", Template: harness.Mounting(harness.RealPod("true"), "data")})
		harness.Set(jobSet, []any{harness.ClaimPolicy("data", "Delete", namespace)}, "spec", "volumeClaimPolicies")
		_, err := cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Create(ctx, jobSet, harness.DryRun)
		return err
	}, "retentionPolicy must be retain when PVC exists")
	// What was written is still there.
	made("grep one /data/f")
	if again := harness.AwaitClaim(t, cluster, namespace, "data-train"); again.UID != kept.UID {
		t.Error("the retained claim was made again")
	}
}

// A claim that the API server refuses is reported by name, and the Jobs are there.
func TestRefusedVolumeClaimIsTold(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	jobSet := harness.JobSetOf("train", harness.ReplicatedJob{Name: "w", Template: harness.Mounting(harness.HollowPod(-1, 0), "data")})
	policy := harness.ClaimPolicy("data", "Delete", nil)
	policy["templates"].([]any)[0].(map[string]any)["spec"].(map[string]any)["accessModes"] = []any{}
	harness.Set(jobSet, []any{policy}, "spec", "volumeClaimPolicies")
	cluster.CreateJobSet(t, namespace, jobSet)
	cluster.WaitForEvent(t, namespace, "train", "PVCCreationFailed: PersistentVolumeClaim "+namespace+"/data-train cannot be created: ", "spec.accessModes: Required value")
}
