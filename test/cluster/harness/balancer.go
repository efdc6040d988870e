package harness

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

const (
	// probeEvery is how often the balancer asks a replica's /readyz.
	probeEvery = 100 * time.Millisecond
	// unreadyAfter is for how long that must fail until the replica gets no new connection:
	// two probes of the shipped Deployment.
	unreadyAfter = 4 * time.Second
	// endpointLag is how long a replica that is being ended still gets new connections:
	// the way from the pod's deletion over the EndpointSlice to kube-proxy's rules.
	endpointLag = time.Second
)

// Balancer acts like a Service for the API server: one address, and behind it the ready replicas. It acts as
// kubelet (readiness probes), the endpoints and kube-proxy. As in Kubernetes, an open connection stays with its
// replica.
type Balancer struct {
	Address string

	mutex    sync.Mutex
	replicas []*endpoint
	next     int
}

// endpoint is one replica; ready is the result of the probes.
type endpoint struct {
	muster *Muster
	ready  bool
	gone   chan struct{} // closed: it gets no new connection
}

// Balancer opens one, at the address where muster's objects are already converted if this address is free; it
// ends with the test.
func (c *Cluster) Balancer(t testing.TB) *Balancer {
	t.Helper()
	b := &Balancer{Address: c.webhookAddress(t)}
	listener, err := net.Listen("tcp", b.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		listener.Close()
		for _, one := range b.take() {
			close(one.gone)
		}
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go b.forward(client)
		}
	}()
	return b
}

// URL is how the API server calls the replicas.
func (b *Balancer) URL() string { return "https://" + b.Address }

// Add makes a replica an endpoint; it gets connections when its probe succeeds.
func (b *Balancer) Add(m *Muster) {
	one := &endpoint{muster: m, gone: make(chan struct{})}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.replicas = append(b.replicas, one)
	go b.probe(one)
}

func (b *Balancer) probe(one *endpoint) {
	answered := time.Now()
	for {
		ready := one.muster.Ready() == nil
		if ready {
			answered = time.Now()
		}
		b.mutex.Lock()
		one.ready = ready || one.ready && time.Since(answered) < unreadyAfter
		b.mutex.Unlock()
		select {
		case <-one.gone:
			return
		case <-time.After(probeEvery):
		}
	}
}

// AwaitReady waits until the balancer sends connections to that replica.
func (b *Balancer) AwaitReady(t testing.TB, m *Muster) {
	t.Helper()
	Eventually(t, 30*time.Second, "the replica is an endpoint", func() error {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		for _, one := range b.replicas {
			if one.muster == m && one.ready {
				return nil
			}
		}
		return errors.New("it is not ready")
	})
}

// Delete acts like the deletion of a replica's pod: SIGTERM at once, and some time later the last new
// connection. It does not wait for the replica's end.
func (b *Balancer) Delete(t testing.TB, m *Muster) {
	t.Helper()
	m.Terminate(t)
	time.AfterFunc(endpointLag, func() {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		for i, one := range b.replicas {
			if one.muster == m {
				close(one.gone)
				b.replicas = append(b.replicas[:i], b.replicas[i+1:]...)
				return
			}
		}
	})
}

// take returns all endpoints and removes them.
func (b *Balancer) take() []*endpoint {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	all := b.replicas
	b.replicas = nil
	return all
}

// pick is the next ready replica's address; empty: no replica is ready.
func (b *Balancer) pick() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for range b.replicas {
		b.next = (b.next + 1) % len(b.replicas)
		if one := b.replicas[b.next]; one.ready {
			return one.muster.Address
		}
	}
	return ""
}

func (b *Balancer) forward(client net.Conn) {
	defer client.Close()
	address := b.pick()
	if address == "" {
		return
	}
	replica, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		return
	}
	defer replica.Close()
	// The end of one direction is passed to the other end, and the remaining bytes still arrive.
	var both sync.WaitGroup
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, is := to.(*net.TCPConn); is {
			_ = half.CloseWrite()
		}
	}
	both.Go(func() { pipe(replica, client) })
	both.Go(func() { pipe(client, replica) })
	both.Wait()
}

// StartBehind starts replicas behind one address, which the API server calls.
func StartBehind(t *testing.T, cluster *Cluster, count int, flags ...string) (*Balancer, []*Muster) {
	t.Helper()
	service := cluster.Balancer(t)
	var replicas []*Muster
	for range count {
		replicas = append(replicas, LaunchBehind(t, service, flags...))
	}
	replicas[0].Register(t)
	return service, replicas
}

// LaunchBehind starts one replica more behind the address, and waits until it is ready.
func LaunchBehind(t *testing.T, service *Balancer, flags ...string) *Muster {
	t.Helper()
	replica := LaunchMuster(t, append([]string{"--webhook-url", service.URL()}, flags...)...)
	service.Add(replica)
	service.AwaitReady(t, replica)
	return replica
}
