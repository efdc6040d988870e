package scheduling

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"muster.batch/test/cluster/harness"
)

// A Job waits for each of its admission gates, and is admitted when the last one is removed from the Job.
func TestAGateThatIsRemovedFromAJobIsGone(t *testing.T) {
	const gates = "kueue.x-k8s.io/admission-gated-by"
	cluster := harness.Connect(t)
	harness.StartQueueMuster(t)
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("a", teams.Cpus("f=1"))
	teams.Job("a", "gated", 1, "1", func(job *batchv1.Job) {
		job.Annotations = map[string]string{gates: "example.com/budget,example.com/review"}
	})
	teams.Waits("gated", "AdmissionGated", "example.com/budget", "example.com/review")
	teams.Kubectl("annotate", "--overwrite", "job/gated", gates+"=example.com/review")
	teams.Waits("gated", "AdmissionGated", "example.com/review")
	teams.Kubectl("annotate", "job/gated", gates+"-")
	teams.Admitted("gated")
}
