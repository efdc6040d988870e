package webhooks

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"muster.batch/test/cluster/harness"
)

func TestCertificatesAreRenewedUnderLoadWithoutAFailure(t *testing.T) {
	renewals{lifetime: 10 * time.Second, count: harness.Size(3, 100), within: harness.Size(time.Minute, 20*time.Minute)}.run(t)
}

// The lives that a user could think of: five minutes, and twenty for the CA.
func TestSoakCertificatesOfFiveMinutesForAnHour(t *testing.T) {
	if !harness.Soak() {
		t.Skip("takes an hour: set MUSTER_SOAK")
	}
	renewals{lifetime: 5 * time.Minute, count: 17, within: 65 * time.Minute}.run(t)
}

// renewals is how many of them, of certificates that live so long.
type renewals struct {
	lifetime, within time.Duration
	count            int
}

// run renews them in three replicas behind one address, while Jobs are created there. Every
// handshake with every replica succeeds that trusts the bundle of the moment, and a bundle has
// a CA in common with the one before.
func (r renewals) run(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.ForgetCertificates(t)
	_, replicas := harness.StartBehind(t, cluster, 3, "--certificate-lifetime", r.lifetime.String())
	namespace := cluster.Namespace(t, nil)
	ctx, cancel := context.WithTimeout(harness.Context(t), r.within)
	defer cancel()

	serials, bundles, handshakes := map[string]bool{}, 0, 0
	var watching sync.WaitGroup
	watching.Go(func() {
		defer cancel()
		var before []byte
		for ctx.Err() == nil && len(serials) <= r.count {
			time.Sleep(250 * time.Millisecond) // the pace of observation; nothing waits for it
			bundle, err := replicas[0].WebhookCABundle()
			if err != nil {
				continue // just being replaced
			}
			if !bytes.Equal(bundle, before) {
				bundles++
				if before != nil && !overlap(before, bundle) {
					t.Error("a bundle has no CA of the one before")
				}
				before = bundle
			}
			// Whoever reads the bundle and connects then must succeed.
			for _, replica := range replicas {
				certificate, err := replica.ServingCertificate(bundle)
				if err != nil {
					t.Errorf("a handshake failed: %v", err)
					continue
				}
				handshakes++
				serials[certificate.SerialNumber.String()] = true
			}
		}
	})
	outcome := harness.OpenLoad(ctx, 50, -1, harness.CreateQueued(ctx, cluster, namespace))
	watching.Wait()

	harness.Figure(t, "%d renewals in 3 replicas, each certificate for %s, %d bundles, %d handshakes; creates meanwhile: %s",
		len(serials)-1, r.lifetime, bundles, handshakes, outcome)
	if outcome.Failed > 0 {
		t.Errorf("creates failed: %s", outcome)
	}
	if len(serials) <= r.count {
		t.Errorf("%d serving certificates in %s, although each lives %s", len(serials), r.within, r.lifetime)
	}
}

// overlap is whether two bundles have a certificate in common.
func overlap(one, other []byte) bool {
	known := map[string]bool{}
	for block, rest := pem.Decode(one); block != nil; block, rest = pem.Decode(rest) {
		known[string(block.Bytes)] = true
	}
	for block, rest := pem.Decode(other); block != nil; block, rest = pem.Decode(rest) {
		if known[string(block.Bytes)] {
			return true
		}
	}
	return false
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
	before := harness.BundleOf(t, first)
	changes := countChanges(t, cluster, observed)
	if changes > 0 {
		t.Errorf("the webhook configurations were written %d times in %s with nothing to say", changes, observed)
	}
	if !bytes.Equal(before, harness.BundleOf(t, first)) {
		t.Error("the bundle changed")
	}

	// One of them goes while there is load: no request fails.
	ctx, cancel := context.WithCancel(harness.Context(t))
	defer cancel()
	var stopping sync.WaitGroup
	stopping.Go(func() {
		defer cancel()
		second.Stop(t)
	})
	outcome := harness.Load(ctx, 8, -1, harness.CreateQueued(ctx, cluster, namespace))
	stopping.Wait()
	t.Logf("while one replica ended: %s", outcome)
	if outcome.Failed > 0 {
		t.Errorf("%d creates failed while the other replica ended", outcome.Failed)
	}
	if !bytes.Equal(before, harness.BundleOf(t, first)) {
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
	harness.Must(t, err)
	changes, err := configurations.Watch(ctx, metav1.ListOptions{ResourceVersion: now.ResourceVersion})
	harness.Must(t, err)
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
	bundle := harness.BundleOf(t, first)
	first.Stop(t)
	second := harness.StartMuster(t)

	if !bytes.Equal(bundle, harness.BundleOf(t, second)) {
		t.Error("the second muster made a new CA")
	}
	ctx := harness.Context(t)
	harness.Must(t, harness.CreateQueued(ctx, cluster, cluster.Namespace(t, nil))(0))
}
