package cluster

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"muster.batch/test/cluster/harness"
)

// createQueued is the load of these tests: a dry run goes through the webhooks
// like any create and leaves nothing behind.
func createQueued(ctx context.Context, cluster *harness.Cluster, namespace string) func(int) error {
	return func(number int) error {
		// Not the load's own context: a request that is under way when the load
		// ends must be answered too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		job := harness.Job(fmt.Sprintf("load-%d", number), harness.Queue("some"))
		made, err := cluster.Client.BatchV1().Jobs(namespace).Create(ctx, job, harness.DryRun)
		if err == nil && !suspended(made) {
			err = fmt.Errorf("%s was created, but not suspended", job.Name)
		}
		return err
	}
}

// bundleOf is the CA bundle of a muster that is not about to replace it.
func bundleOf(t *testing.T, muster *harness.Muster) []byte {
	t.Helper()
	bundle, err := muster.WebhookCABundle()
	must(t, err)
	return bundle
}

func TestCertificatesAreRenewedUnderLoadWithoutAFailure(t *testing.T) {
	const lifetime, observed = 10 * time.Second, 25 * time.Second
	cluster := harness.Connect(t)
	cluster.ForgetCertificates(t)
	muster := harness.StartMuster(t, "--certificate-lifetime", lifetime.String())
	namespace := cluster.Namespace(t, nil)
	ctx, cancel := context.WithTimeout(harness.Context(t), observed)
	defer cancel()

	serials := map[string]bool{}
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(250 * time.Millisecond) // the pace of observation; nothing waits for it
			bundle, err := muster.WebhookCABundle()
			if err != nil {
				continue // just being replaced
			}
			// Whoever reads the bundle and connects then must succeed.
			certificate, err := muster.ServingCertificate(bundle)
			if err != nil {
				t.Errorf("a handshake failed: %v", err)
				continue
			}
			serials[certificate.SerialNumber.String()] = true
		}
	})
	outcome := harness.Load(ctx, 8, -1, createQueued(ctx, cluster, namespace))
	watching.Wait()

	t.Logf("%s; %d serving certificates", outcome, len(serials))
	if outcome.Failed > 0 {
		t.Errorf("%d of %d creates failed", outcome.Failed, outcome.Total())
	}
	if len(serials) < 3 {
		t.Errorf("%d serving certificates in %s, although each lives %s", len(serials), observed, lifetime)
	}
}

func TestTwoReplicasAgreeOnOneCABundle(t *testing.T) {
	const observed = 5 * time.Second
	cluster := harness.Connect(t)
	cluster.ForgetCertificates(t)
	first := harness.StartMuster(t)
	// A second replica behind the same address: on one machine it cannot be
	// reached through it, but it writes to the same Secret and configurations.
	second := harness.LaunchMuster(t, "--webhook-url", first.URL)
	namespace := cluster.Namespace(t, nil)

	harness.Eventually(t, 10*time.Second, "both certificates verify against the bundle", func() error {
		bundle, err := first.WebhookCABundle()
		if err != nil {
			return err
		}
		for _, replica := range []*harness.Muster{first, second} {
			if _, err := replica.ServingCertificate(bundle); err != nil {
				return fmt.Errorf("%s: %w", replica.Address, err)
			}
		}
		return nil
	})
	before := bundleOf(t, first)
	changes := countChanges(t, cluster, observed)
	if changes > 0 {
		t.Errorf("the webhook configurations were written %d times in %s with nothing to say", changes, observed)
	}
	if !bytes.Equal(before, bundleOf(t, first)) {
		t.Error("the bundle changed")
	}

	// One of them goes while there is load: nobody notices.
	ctx, cancel := context.WithCancel(harness.Context(t))
	defer cancel()
	var stopping sync.WaitGroup
	stopping.Go(func() {
		defer cancel()
		second.Stop(t)
	})
	outcome := harness.Load(ctx, 8, -1, createQueued(ctx, cluster, namespace))
	stopping.Wait()
	t.Logf("while one replica ended: %s", outcome)
	if outcome.Failed > 0 {
		t.Errorf("%d creates failed while the other replica ended", outcome.Failed)
	}
	if !bytes.Equal(before, bundleOf(t, first)) {
		t.Error("the bundle changed when a replica ended")
	}
}

// countChanges watches the mutating webhook configurations for a while.
func countChanges(t *testing.T, cluster *harness.Cluster, during time.Duration) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(harness.Context(t), during)
	defer cancel()
	configurations := cluster.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	now, err := configurations.List(ctx, metav1.ListOptions{})
	must(t, err)
	changes, err := configurations.Watch(ctx, metav1.ListOptions{ResourceVersion: now.ResourceVersion})
	must(t, err)
	defer changes.Stop()
	count := 0
	for {
		select {
		case <-ctx.Done():
			return count
		case event, open := <-changes.ResultChan():
			if !open {
				return count
			}
			if event.Type == watch.Modified {
				count++
			}
		}
	}
}

func TestARestartedMusterKeepsItsCertificates(t *testing.T) {
	cluster := harness.Connect(t)
	first := harness.StartMuster(t)
	bundle := bundleOf(t, first)
	first.Stop(t)
	second := harness.StartMuster(t)

	if !bytes.Equal(bundle, bundleOf(t, second)) {
		t.Error("the second muster made a new CA")
	}
	ctx := harness.Context(t)
	must(t, createQueued(ctx, cluster, cluster.Namespace(t, nil))(0))
}
