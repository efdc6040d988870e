package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// options of `lab up`.
type options struct {
	directory     string
	kubeconfigOut string
	readyFile     string
	dieWithParent bool
	kubelet       bool
	musterImage   string
	hollowNodes   int
	requestLimits bool
}

func parseOptions(arguments []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("lab up", flag.ContinueOnError)
	flags.StringVar(&o.directory, "dir", "", "folder for data, certificates and logs (default: a temporary one, removed at the end)")
	flags.StringVar(&o.kubeconfigOut, "kubeconfig-out", "", "also write the administrator's kubeconfig here; removed at the end")
	flags.StringVar(&o.readyFile, "ready-file", "", "write the kubeconfig's path here when the cluster can be used; removed at the end")
	flags.BoolVar(&o.dieWithParent, "die-with-parent", false, "stop as soon as the process that started this one is gone")
	flags.BoolVar(&o.kubelet, "kubelet", false, "add a real node: containerd and a kubelet (needs root)")
	flags.StringVar(&o.musterImage, "muster-image", "", "with --kubelet: folder that scripts/image has made; its image is muster:dev")
	flags.IntVar(&o.hollowNodes, "hollow-nodes", 0, "add so many nodes that only say that they run pods")
	flags.BoolVar(&o.requestLimits, "request-limits", false, "leave the API server its own limits of requests in flight, 400 and 200 (default: 5000 and 2500)")
	err := flags.Parse(arguments)
	if err == nil && flags.NArg() > 0 {
		err = errors.New("lab up takes no arguments besides its flags: " + flags.Arg(0))
		say("%v", err)
	}
	if err == nil && (o.hollowNodes < 0 || o.musterImage != "" && !o.kubelet) {
		err = errors.New("--hollow-nodes takes a number from 0 on, and --muster-image goes with --kubelet")
		say("%v", err)
	}
	return o, err
}

// up runs a control plane until it is interrupted; SIGUSR1 makes its API server crash
// and come back. Exit code 0 after a regular stop, 1 when something failed, 2 when the
// arguments are wrong.
func up(arguments []string) int {
	// The children die with the thread that started them, so it must be one
	// that lives as long as the process (see start in processes.go).
	runtime.LockOSThread()

	o, err := parseOptions(arguments)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	crashes := make(chan os.Signal, 1)
	signal.Notify(crashes, syscall.SIGUSR1)
	if o.dieWithParent {
		go stopWithParent(stop)
	}
	if o.kubelet {
		if err := checkRealNode(); err != nil {
			say("%v", err)
			return 1
		}
	}
	s, err := newSupervisor(o.directory)
	if err != nil {
		say("%v", err)
		return 1
	}
	err = serve(ctx, s, o, crashes)
	if err != nil {
		say("%v", err)
	}
	s.stop()
	for _, written := range []string{o.kubeconfigOut, o.readyFile} {
		if written != "" {
			_ = os.Remove(written) // it was possibly never written
		}
	}
	s.clean(err != nil && !errors.Is(err, errInterrupted))
	if err != nil {
		return 1
	}
	return 0
}

// serve starts the cluster, tells where it is, and blocks until its end.
func serve(ctx context.Context, s *supervisor, o options, crashes <-chan os.Signal) error {
	s.requestLimits = o.requestLimits
	if o.kubelet {
		if err := s.claimRoom(); err != nil {
			return err
		}
	}
	server, err := startControlPlane(ctx, s)
	if err != nil {
		return err
	}
	if err := startNodes(ctx, s, o, server); err != nil {
		return err
	}
	kubeconfig := s.kubeconfig()
	if o.kubeconfigOut != "" {
		content, err := os.ReadFile(kubeconfig)
		if err == nil {
			err = writeWhole(o.kubeconfigOut, content)
		}
		if err != nil {
			return err
		}
		kubeconfig = o.kubeconfigOut
	}
	say("cluster ready in %.1f s; logs in %s", time.Since(s.began).Seconds(), s.logs())
	say("export KUBECONFIG=%s", kubeconfig)
	if o.readyFile != "" {
		if err := writeWhole(o.readyFile, []byte(kubeconfig+"\n")); err != nil {
			return err
		}
	}
	return s.run(ctx, crashes, newProber(s.certificates).answers(server+"/readyz"))
}

// startNodes adds the nodes that were asked for.
func startNodes(ctx context.Context, s *supervisor, o options, server string) error {
	if o.kubelet {
		if err := startRealNode(ctx, s, server, o.musterImage); err != nil {
			return err
		}
	}
	if o.hollowNodes > 0 {
		return startHollowNodes(ctx, s, server, o.hollowNodes)
	}
	return nil
}

// writeWhole writes a file that others wait for: it appears complete or not at all.
func writeWhole(path string, content []byte) error {
	temporary := path + ".part"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// stopWithParent calls stop when the parent is gone, which shows as a new
// parent's id. The kernel's own notice (PR_SET_PDEATHSIG) is about the parent's
// thread, and a Go test's threads come and go.
func stopWithParent(stop func()) {
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(200 * time.Millisecond)
	}
	say("the parent process is gone")
	stop()
}
