package operations

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

func TestARequestUnderWayAtSIGTERMIsAnswered(t *testing.T) {
	muster := harness.StartMuster(t)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(harness.BundleOf(t, muster))
	body := harness.Review(t, "slow")
	connection, err := tls.Dial("tcp", muster.Address, &tls.Config{RootCAs: trusted})
	harness.Must(t, err)
	defer connection.Close()
	harness.Must(t, connection.SetDeadline(time.Now().Add(20*time.Second)))

	half := len(body) / 2
	_, err = fmt.Fprintf(connection, "POST /mutate HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		muster.Address, len(body), body[:half])
	harness.Must(t, err)
	muster.Terminate(t)
	harness.Eventually(t, 5*time.Second, "/readyz turns away after SIGTERM", func() error {
		if muster.Ready() == nil {
			return errors.New("still ready")
		}
		return nil
	})
	_, err = connection.Write(body[half:])
	harness.Must(t, err)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	harness.Must(t, err)
	harness.Must(t, harness.CheckReviewResponse(response, "slow"))
	muster.WaitEnded(t)
}

// A server that stops reading at SIGTERM loses requests whose connection it has
// accepted and whose bytes have just arrived (Go's http.Server.Shutdown does);
// behind failurePolicy Fail each of them is a refused Job.
func TestSIGTERMUnderLoadLosesNoRequest(t *testing.T) {
	// The delay is what a rolling update needs: time for the service's endpoints
	// to follow /readyz while muster still serves.
	muster := harness.StartMuster(t, "--shutdown-delay", "500ms")
	client := harness.ReviewClient(harness.BundleOf(t, muster))
	ctx, cancel := context.WithCancel(harness.Context(t))
	defer cancel()

	order := watchShutdown(ctx, muster)
	var refused sync.Once
	var group sync.WaitGroup
	group.Go(func() {
		// Under load means: after the first requests, not after some time.
		select {
		case <-order.loaded:
			muster.Terminate(t)
		case <-ctx.Done():
		}
	})
	outcome := harness.Load(ctx, 8, -1, func(number int) error {
		lost, err := harness.PostReview(ctx, client, muster, harness.Review(t, fmt.Sprint(number)), fmt.Sprint(number))
		if number == 200 {
			close(order.loaded)
		}
		if err != nil && !lost { // turned away at the door: the listener has closed
			refused.Do(cancel)
			return nil
		}
		return err
	})
	group.Wait()
	muster.WaitEnded(t)
	t.Logf("until the listener closed: %s", outcome)
	if outcome.Failed > 0 {
		t.Errorf("%d requests were accepted and not answered", outcome.Failed)
	}
	unready, closed := order.times()
	if unready.IsZero() {
		t.Error("/readyz never answered 503")
	} else if !closed.IsZero() && closed.Before(unready) {
		t.Errorf("the listener closed %s before /readyz answered 503", unready.Sub(closed))
	}
}

// The API server can be about to use a connection that muster closes, and does not repeat a POST: it is the less likely
// the longer the connection has been idle.
func TestIdleConnectionsOutliveTheShutdownDelayBySeconds(t *testing.T) {
	const delay, grace = 200 * time.Millisecond, 2 * time.Second
	muster := harness.StartMuster(t, "--shutdown-delay", delay.String())
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(harness.BundleOf(t, muster))
	connection, err := tls.Dial("tcp", muster.Address, &tls.Config{RootCAs: trusted})
	harness.Must(t, err)
	defer connection.Close()
	harness.Must(t, connection.SetDeadline(time.Now().Add(20*time.Second)))
	body := harness.Review(t, "before")
	_, err = fmt.Fprintf(connection, "POST /mutate HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		muster.Address, len(body), body)
	harness.Must(t, err)
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	harness.Must(t, err)
	harness.Must(t, harness.CheckReviewResponse(response, "before"))

	stopped := time.Now()
	muster.Terminate(t)
	if _, err = reader.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("not closed in order: %v", err)
	}
	if open := time.Since(stopped); open < delay+grace {
		t.Errorf("an idle connection was closed %s after SIGTERM", open)
	}
	muster.WaitEnded(t)
}

// shutdownOrder is what was seen of a muster that is going away.
type shutdownOrder struct {
	loaded chan struct{} // closed by the test when there is load

	mutex           sync.Mutex
	unready, closed time.Time // first 503 of /readyz, first refused connection
}

func (o *shutdownOrder) times() (unready, closed time.Time) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.unready, o.closed
}

// watchShutdown looks at the probe and at the listener, each every few
// milliseconds, until the context ends.
func watchShutdown(ctx context.Context, muster *harness.Muster) *shutdownOrder {
	order := &shutdownOrder{loaded: make(chan struct{})}
	note := func(first *time.Time, when time.Time) {
		order.mutex.Lock()
		defer order.mutex.Unlock()
		if first.IsZero() {
			*first = when
		}
	}
	poll := func(first *time.Time, seen func() bool) {
		for ctx.Err() == nil {
			if seen() {
				note(first, time.Now())
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	go poll(&order.unready, func() bool {
		response, err := http.Get(muster.Health + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusServiceUnavailable
	})
	go poll(&order.closed, func() bool {
		connection, err := net.DialTimeout("tcp", muster.Address, time.Second)
		if err == nil {
			connection.Close()
		}
		return err != nil
	})
	return order
}
