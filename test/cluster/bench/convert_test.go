package bench

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// TestBenchConvert measures what it costs to read Workloads as v1beta2 that are stored
// as v1beta1, beside reading them as they are stored. It is run by hand:
//
//	MUSTER_BENCH_CONVERT=10000 bench.test -test.run '^TestBenchConvert$' -test.v
//
// Each LIST is measured from etcd, where the API server asks for every object by itself,
// and from its cache, which holds the objects converted: nearly every LIST is answered so.
// The best of three.
func TestBenchConvert(t *testing.T) {
	count := sizeOf(t, "MUSTER_BENCH_CONVERT")
	cluster := harness.Connect(t)
	muster := harness.StartConverter(t)
	namespace := cluster.Namespace(t, nil)
	ctx := harness.Context(t)
	create := func(version, name string, options metav1.CreateOptions) error {
		if version == harness.NewVersion {
			queue := harness.QueueObjectIn(harness.NewVersion, "Workload", name, harness.WorkloadObject(name).Object["spec"].(map[string]any))
			_, err := harness.InVersion(cluster, harness.NewVersion, "workloads", namespace).Create(ctx, queue, options)
			return err
		}
		_, err := harness.InVersion(cluster, harness.OldVersion, "workloads", namespace).Create(ctx, harness.WorkloadObject(name), options)
		return err
	}
	harness.AwaitStoredVersion(t, cluster, muster, "workloads", harness.OldVersion, 2, create)
	t.Cleanup(func() { harness.RemoveOldVersions(t, cluster, "workloads", namespace) })
	outcome := harness.Load(ctx, 32, count, func(number int) error {
		return create(harness.OldVersion, fmt.Sprintf("wl-%d", number), harness.ForReal)
	})
	if outcome.Failed > 0 {
		t.Fatalf("creates failed: %s", outcome)
	}

	// The caches of the API server are empty after the change of the definition: what was
	// there before it, etcd alone knows.
	before, err := harness.InVersion(cluster, harness.OldVersion, "workloads", namespace).List(ctx, metav1.ListOptions{Limit: 1})
	harness.Must(t, err)
	harness.AwaitStoredVersion(t, cluster, muster, "workloads", harness.NewVersion, 0, create)
	fromEtcd := metav1.ListOptions{ResourceVersion: before.GetResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	fromCache := metav1.ListOptions{ResourceVersion: "0"}

	list := func(version string, options metav1.ListOptions) measured {
		cpu, reviews, began := muster.CPU(t), harness.Conversions(t, muster), time.Now()
		found, err := harness.InVersion(cluster, version, "workloads", namespace).List(ctx, options)
		harness.Must(t, err)
		took := measured{wall: time.Since(began), cpu: muster.CPU(t) - cpu, reviews: harness.Conversions(t, muster) - reviews}
		if len(found.Items) < count {
			t.Errorf("%d of %d Workloads", len(found.Items), count)
		}
		return took
	}
	// Until the caches are full, which takes the same conversions, they would be measured too.
	harness.Eventually(t, 3*time.Minute, "a cache that needs no conversion", func() error {
		first, second := list(harness.NewVersion, fromCache), list(harness.NewVersion, fromCache)
		if first.reviews+second.reviews > 0 {
			return fmt.Errorf("%d conversions", first.reviews+second.reviews)
		}
		return nil
	})

	fmt.Printf("LIST of %d Workloads stored as v1beta1\n", count)
	fmt.Printf("| from  | as      |      ms | reviews | muster's CPU ms |\n|-------|---------|---------|---------|-----------------|\n")
	for _, source := range []struct {
		name    string
		options metav1.ListOptions
	}{{"etcd", fromEtcd}, {"cache", fromCache}} {
		var best [2]measured
		for i, version := range []string{harness.OldVersion, harness.NewVersion} {
			for range 3 {
				if one := list(version, source.options); best[i].wall == 0 || one.wall < best[i].wall {
					best[i] = one
				}
			}
			fmt.Printf("| %-5s | %s | %7.0f | %7d | %15d |\n", source.name, version, best[i].wall.Seconds()*1000,
				best[i].reviews, best[i].cpu.Milliseconds())
		}
		fmt.Printf("| %-5s | ratio   | %7.2f |         |                 |\n", source.name, best[1].wall.Seconds()/best[0].wall.Seconds())
	}
}

// measured is one LIST.
type measured struct {
	wall, cpu time.Duration
	reviews   int
}
