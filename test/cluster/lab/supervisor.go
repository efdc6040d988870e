package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// errInterrupted ends a start that the user no longer wants.
var errInterrupted = errors.New("interrupted")

// supervisor owns the folder of a lab and the processes that run in it.
type supervisor struct {
	directory    string
	temporary    bool // made by us, so removed by us
	lock         *os.File
	room         *nodeRoom // of the real node; nil if the lab has none
	certificates *certificates
	children     []*process    // in the order of their start
	died         chan *process // each child once, when it has ended
	began        time.Time
	// requestLimits leaves the API server its own limits of requests in flight.
	requestLimits bool
}

// newSupervisor prepares a folder: an empty temporary one if no name is given,
// else the named one, from which a former lab's leftovers are removed.
func newSupervisor(directory string) (*supervisor, error) {
	s := &supervisor{directory: directory, died: make(chan *process, 16), began: time.Now()}
	var err error
	if directory == "" {
		s.temporary = true
		s.directory, err = os.MkdirTemp("", "lab-")
	} else if s.directory, err = filepath.Abs(directory); err == nil {
		err = os.MkdirAll(s.directory, 0o755)
	}
	if err != nil {
		return nil, err
	}
	if err := s.claim(); err != nil {
		return nil, err
	}
	for _, leftover := range []string{"etcd", "certificates", "logs"} {
		if err := os.RemoveAll(filepath.Join(s.directory, leftover)); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(s.logs(), 0o755); err != nil {
		return nil, err
	}
	s.certificates, err = createCertificates(filepath.Join(s.directory, "certificates"))
	return s, err
}

// claim makes sure that no other lab runs in the folder; the kernel gives the
// claim up when this process ends, however it ends.
func (s *supervisor) claim() error {
	file, err := os.OpenFile(filepath.Join(s.directory, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return fmt.Errorf("another lab runs in %s", s.directory)
	}
	s.lock = file
	return nil
}

// claimRoom takes a room for the real node. Its address is one of the API server's: pods find it there.
func (s *supervisor) claimRoom() error {
	room, err := claimRoom()
	if err != nil {
		return err
	}
	s.room = room
	return s.certificates.serveAlsoAt(net.ParseIP(room.address()))
}

func (s *supervisor) logs() string       { return filepath.Join(s.directory, "logs") }
func (s *supervisor) kubeconfig() string { return filepath.Join(s.directory, "kubeconfig") }

// start starts a component of this binary and watches over it from then on.
func (s *supervisor) start(name string, arguments ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = s.startProgram(name, self, append([]string{name}, arguments...)...)
	return err
}

// startProgram is start for a program that is not in this binary.
func (s *supervisor) startProgram(name, program string, arguments ...string) (*process, error) {
	child, err := start(name, s.logs(), program, arguments...)
	if err != nil {
		return nil, err
	}
	s.children = append(s.children, child)
	go func() {
		<-child.ended
		s.died <- child
	}()
	return child, nil
}

// wait polls the conditions, one after the other, until all have come true.
// It gives up when the user interrupts, a child dies or the time is over.
func (s *supervisor) wait(ctx context.Context, what string, conditions ...condition) error {
	began := time.Now()
	deadline := time.After(eachReady)
	for _, holds := range conditions {
		for !holds(ctx) {
			select {
			case <-ctx.Done():
				return errInterrupted
			case child := <-s.died:
				return childDied(child)
			case <-deadline:
				return fmt.Errorf("%s is not ready after %s; its log is in %s and ends:\n%s", what, eachReady, s.logs(), s.tail(what))
			case <-time.After(25 * time.Millisecond):
			}
		}
	}
	say("%s ready in %.1f s", what, time.Since(began).Seconds())
	return nil
}

// tail is the end of a component's log.
func (s *supervisor) tail(name string) string {
	for _, child := range s.children {
		if child.name == name {
			return child.tail(20)
		}
	}
	return ""
}

// run blocks until the user interrupts (nil) or a child dies. Each crash that is asked for
// befalls the API server, which is ready again when the condition says so.
func (s *supervisor) run(ctx context.Context, crashes <-chan os.Signal, ready condition) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case child := <-s.died:
			return childDied(child)
		case <-crashes:
			if err := s.crash("kube-apiserver"); err != nil {
				return err
			}
			if err := s.wait(ctx, "kube-apiserver", ready); err != nil {
				return err
			}
		}
	}
}

// crash kills a component and starts it again as it was.
func (s *supervisor) crash(name string) error {
	place := slices.IndexFunc(s.children, func(child *process) bool { return child.name == name })
	victim := s.children[place]
	say("killing %s", name)
	victim.kill()
	if first := <-s.died; first != victim {
		return childDied(first)
	}
	next, err := s.startProgram(name, victim.command.Path, victim.command.Args[1:]...)
	if err != nil {
		return err
	}
	// It ends in its predecessor's turn.
	s.children[place] = next
	s.children = s.children[:len(s.children)-1]
	return nil
}

func childDied(child *process) error {
	return fmt.Errorf("%s died (%s); the end of its log:\n%s", child.name, child.outcome, child.tail(20))
}

// stop ends the components, the last one started first, each waited for: the
// controllers would else retry against a server that is gone, and the API
// server against etcd.
func (s *supervisor) stop() {
	for _, child := range slices.Backward(s.children) {
		if child.hasEnded() {
			continue
		}
		began := time.Now()
		if child.stop() {
			say("%s did not end within %s and was killed", child.name, patience)
		} else {
			say("%s stopped in %.1f s", child.name, time.Since(began).Seconds())
		}
	}
}

// clean removes what a lab leaves. After a failure the logs stay.
func (s *supervisor) clean(failed bool) {
	if s.room != nil {
		s.room.clear()
		s.room.leave()
	}
	leftovers := []string{s.kubeconfig(), filepath.Join(s.directory, "etcd"), s.certificates.directory}
	switch {
	case s.temporary && failed:
		say("the logs stay in %s", s.logs())
	case s.temporary:
		leftovers = []string{s.directory}
	}
	for _, leftover := range leftovers {
		if err := os.RemoveAll(leftover); err != nil {
			say("could not remove %s: %v", leftover, err)
		}
	}
	s.lock.Close()
}

// say prints one line of progress.
func say(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "lab: "+format+"\n", values...)
}
