package users

import (
	"fmt"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

func doctorIsContent(cluster *harness.Cluster, t *testing.T) error {
	if said, err := cluster.Shell(t, "command muster doctor"); err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return nil
}

// What is broken in a live cluster is named by `muster doctor`, with the severity that comes first, and the command
// that it gives repairs it.
func TestDoctorsCommandsMend(t *testing.T) {
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	harness.FollowPage(t, cluster, "install.md", "With kubectl", "First queue and first Job")
	harness.Eventually(t, time.Minute, "nothing is wrong", func() error { return doctorIsContent(cluster, t) })
	const stop = `kubectl -n muster-system scale deployment muster --replicas 0
kubectl -n muster-system wait --for=delete pod -l app.kubernetes.io/name=muster --timeout=1m`
	// What muster has written into the objects that it was installed by does not stand against the next version.
	harness.FollowPage(t, cluster, "upgrade.md", "With kubectl")
	for _, row := range []struct{ rule, severity, damage, also string }{
		{"muster-scaled-down", "Blocker", stop, "webhook-without-endpoints"},
		{"right-missing", "Harm", "kubectl delete clusterrolebinding muster", ""},
		{"webhooks-missing", "Harm", "kubectl delete validatingwebhookconfiguration muster", ""},
		{"definition-missing", "Blocker", "kubectl delete crd cohorts.kueue.x-k8s.io", ""},
		{"definition-old", "Change", `kubectl get crd localqueues.kueue.x-k8s.io -o json | jq 'del(.spec.versions[].schema.openAPIV3Schema.properties.spec.properties.stopPolicy)' |
  kubectl replace -f -`, ""},
	} {
		t.Run(row.rule, func(t *testing.T) {
			if said, err := cluster.Shell(t, row.damage); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			var found harness.DoctorFinding
			harness.Eventually(t, time.Minute, "doctor names it", func() error {
				all := harness.AskDoctor(t, cluster)
				also := row.also == ""
				for _, finding := range all {
					if finding.Rule != row.rule {
						continue
					}
					found = finding
					for _, next := range finding.Consequences {
						also = also || next.Rule == row.also
					}
				}
				if found.Rule == "" || !also {
					return fmt.Errorf("it finds %+v", all)
				}
				return nil
			})
			if found.Severity != row.severity {
				t.Errorf("%s is a %s", row.rule, found.Severity)
			}
			if said, err := cluster.Shell(t, "cd $(mktemp -d)\n"+found.Remedy); err != nil {
				t.Fatalf("%s: %v\n%s", found.Remedy, err, said)
			}
			harness.Eventually(t, time.Minute, "nothing is wrong any more", func() error { return doctorIsContent(cluster, t) })
		})
	}
}
