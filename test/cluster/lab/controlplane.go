package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

const (
	// frontProxyName is who the API server is when it calls an aggregated API.
	frontProxyName = "front-proxy-client"
	// webhookClientName is who it is when it calls an admission webhook that asks.
	webhookClientName = "kube-apiserver-webhooks"
	serviceNetwork    = "10.96.0.0/16"
	// clusterDNS is where pods would find names if there were a DNS; without an
	// address the kubelet warns in an event of every pod.
	clusterDNS = "10.96.0.10"
	// eachReady bounds the start of one component, generously: on a busy
	// two-core machine the API server has been seen to take 12 s.
	eachReady = 90 * time.Second
)

// serviceNetworkFirst is the address of the service "kubernetes", which the
// API server takes from the network by itself.
var serviceNetworkFirst = net.IPv4(10, 96, 0, 1)

// ports of the control plane, all on loopback.
type controlPlanePorts struct {
	etcdClients, etcdPeers, apiserver, controllerManager, scheduler int
}

func pickControlPlanePorts() (controlPlanePorts, error) {
	p, err := pickPorts(5)
	if err != nil {
		return controlPlanePorts{}, err
	}
	return controlPlanePorts{p[0], p[1], p[2], p[3], p[4]}, nil
}

// startControlPlane starts every component and returns the API server's URL when
// the cluster can be used. What was started stays with the supervisor, also when
// this fails.
func startControlPlane(ctx context.Context, s *supervisor) (server string, err error) {
	ports, err := pickControlPlanePorts()
	if err != nil {
		return "", err
	}
	server = "https://" + loopback(ports.apiserver)
	return server, startComponents(ctx, s, ports, server)
}

func startComponents(ctx context.Context, s *supervisor, ports controlPlanePorts, server string) error {
	if err := writeKubeconfigs(s, server); err != nil {
		return err
	}
	if err := writeAdmissionConfiguration(s.certificates); err != nil {
		return err
	}
	probe := newProber(s.certificates)

	if err := s.start("etcd", etcdArguments(s, ports)...); err != nil {
		return err
	}
	if err := s.wait(ctx, "etcd", probe.answers("http://"+loopback(ports.etcdClients)+"/readyz")); err != nil {
		return err
	}
	if err := s.start("kube-apiserver", apiserverArguments(s, ports)...); err != nil {
		return err
	}
	if err := s.wait(ctx, "kube-apiserver", probe.answers(server+"/readyz")); err != nil {
		return err
	}
	if err := s.start("kube-controller-manager", controllerManagerArguments(s, ports)...); err != nil {
		return err
	}
	if err := s.start("kube-scheduler", schedulerArguments(s, ports)...); err != nil {
		return err
	}
	if err := s.wait(ctx, "kube-scheduler", probe.answers("https://"+loopback(ports.scheduler)+"/readyz")); err != nil {
		return err
	}
	// What a pod needs before it can be created in the namespace "default": made
	// by the controller manager, so this is also the proof that that one works.
	return s.wait(ctx, "kube-controller-manager",
		probe.answers(server+"/api/v1/namespaces/default/serviceaccounts/default"),
		probe.answers(server+"/api/v1/namespaces/default/configmaps/kube-root-ca.crt"))
}

func writeKubeconfigs(s *supervisor, server string) error {
	for file, user := range map[string]*keyPair{
		s.kubeconfig(): &s.certificates.admin,
		s.certificates.kubeconfig("controller-manager"): &s.certificates.controllerManager,
		s.certificates.kubeconfig("scheduler"):          &s.certificates.scheduler,
		s.certificates.kubeconfig("hollow-nodes"):       &s.certificates.hollowNodes,
	} {
		if err := writeKubeconfig(file, server, s.certificates, user); err != nil {
			return err
		}
	}
	return nil
}

func etcdArguments(s *supervisor, ports controlPlanePorts) []string {
	clients, peers := "http://"+loopback(ports.etcdClients), "http://"+loopback(ports.etcdPeers)
	return []string{
		"--name=lab",
		"--data-dir=" + filepath.Join(s.directory, "etcd"),
		"--listen-client-urls=" + clients,
		"--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers,
		"--initial-advertise-peer-urls=" + peers,
		"--initial-cluster=lab=" + peers,
		// A lab's data is worth nothing after a power cut, and fsync is most of
		// the time of a write.
		"--unsafe-no-fsync",
		fmt.Sprintf("--quota-backend-bytes=%d", 4<<30),
	}
}

func apiserverArguments(s *supervisor, ports controlPlanePorts) []string {
	c := s.certificates
	listen := "127.0.0.1"
	if s.room != nil {
		listen = "0.0.0.0" // pods come by the bridge, which is made later
	}
	arguments := servingArguments(c, listen, ports.apiserver)
	if !s.requestLimits {
		// As upstream's own load tests do: the tests measure muster, not the
		// API server's queues.
		arguments = append(arguments, "--max-requests-inflight=5000", "--max-mutating-requests-inflight=2500")
	}
	return append(arguments,
		"--etcd-servers=http://"+loopback(ports.etcdClients),
		"--advertise-address=127.0.0.1",
		// Endpoints must not be loopback addresses; nothing here routes to them.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range="+serviceNetwork,
		// There is no kube-proxy: webhooks behind a Service are called at the addresses of its pods.
		"--enable-aggregator-routing",
		"--authorization-mode=Node,RBAC",
		"--allow-privileged",
		"--client-ca-file="+c.cert("ca"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+c.cert("service-accounts"),
		"--service-account-signing-key-file="+c.key("service-accounts"),
		// Aggregated APIs.
		"--requestheader-client-ca-file="+c.cert("front-proxy-ca"),
		"--requestheader-allowed-names="+frontProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+c.cert("front-proxy-client"),
		"--proxy-client-key-file="+c.key("front-proxy-client"),
		"--admission-control-config-file="+c.admissionConfiguration(),
		// For kubectl logs and exec.
		"--kubelet-certificate-authority="+c.cert("ca"),
		"--kubelet-client-certificate="+c.cert("admin"),
		"--kubelet-client-key="+c.key("admin"),
		"--kubelet-preferred-address-types=InternalIP",
		// End without waiting for clients: all clients are on this machine and
		// end with the lab.
		"--shutdown-delay-duration=0s",
		"--shutdown-watch-termination-grace-period=0s",
		"--shutdown-send-retry-after=false",
	)
}

func controllerManagerArguments(s *supervisor, ports controlPlanePorts) []string {
	c := s.certificates
	return append(clientArguments(c, ports.controllerManager, "controller-manager"),
		"--use-service-account-credentials",
		"--service-account-private-key-file="+c.key("service-accounts"),
		"--root-ca-file="+c.cert("ca"),
		"--cluster-signing-cert-file="+c.cert("ca"),
		"--cluster-signing-key-file="+c.key("ca"),
		// Many Jobs at once are what muster is for.
		"--concurrent-job-syncs=20",
	)
}

func schedulerArguments(s *supervisor, ports controlPlanePorts) []string {
	return clientArguments(s.certificates, ports.scheduler, "scheduler")
}

// clientArguments are what the controller manager and the scheduler share.
func clientArguments(c *certificates, port int, user string) []string {
	kubeconfig := c.kubeconfig(user)
	return append(servingArguments(c, "127.0.0.1", port),
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		// There is one of each; a lease would only delay its start.
		"--leader-elect=false",
		// The default of 20 to 50 requests a second would be what load tests measure.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	)
}

// servingArguments are what all three servers share.
func servingArguments(c *certificates, listen string, port int) []string {
	return []string{
		"--bind-address=" + listen,
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + c.cert("serving"),
		"--tls-private-key-file=" + c.key("serving"),
	}
}
