package main

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

const (
	realNodeName = "real"
	// nodeLabel tells the two sorts of nodes apart, for node selectors.
	nodeLabel = "muster.batch/node"
)

// checkRealNode finds out what a real node lacks on this machine, before
// anything is started. The error names the Debian package.
func checkRealNode() error {
	if os.Geteuid() != 0 {
		return errors.New("--kubelet needs root: containerd and the kubelet mount, and make namespaces, control groups and a bridge")
	}
	const advice = "%s is missing: install Debian's package %s (scripts/install check installs all of them)"
	for _, needed := range []struct{ program, debianPackage string }{
		{"containerd", "containerd"}, {"containerd-shim-runc-v2", "containerd"}, {"ctr", "containerd"},
		{"runc", "runc"}, {"ip", "iproute2"}, {"mount", "mount"},
	} {
		if _, err := exec.LookPath(needed.program); err != nil {
			return fmt.Errorf(advice, needed.program, needed.debianPackage)
		}
	}
	for _, plugin := range []string{"bridge", "host-local", "loopback"} {
		if path := filepath.Join(cniPlugins, plugin); !isFile(path) {
			return fmt.Errorf(advice, path, "containernetworking-plugins")
		}
	}
	if !isFile(busyboxPath) {
		return fmt.Errorf(advice, busyboxPath, "busybox-static")
	}
	static, err := isStatic(busyboxPath)
	if err == nil && !static {
		err = fmt.Errorf("%s is not static: install Debian's package busybox-static in its place", busyboxPath)
	}
	return err
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// startRealNode runs containerd and a kubelet, and returns when the node is
// ready. layout, if not empty, is a folder with muster's image, as scripts/image makes it.
func startRealNode(ctx context.Context, s *supervisor, server, layout string) error {
	images, err := labImages()
	if err != nil {
		return err
	}
	if layout != "" {
		muster, err := readLayout(layout)
		if err != nil {
			return err
		}
		images = append(images, muster)
	}
	if err := recordKernelSettings(s.room); err != nil {
		return err
	}
	raiseInotifyLimit()
	if err := startContainerd(ctx, s, images); err != nil {
		return err
	}
	if err := startKubelet(s, server); err != nil {
		return err
	}
	return s.wait(ctx, "kubelet", newProber(s.certificates).nodesReady(server, "real", 1))
}

func startKubelet(s *supervisor, server string) error {
	c, room := s.certificates, s.room
	client, err := issue(pkix.Name{CommonName: "system:node:" + realNodeName, Organization: []string{"system:nodes"}},
		&c.ca, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return err
	}
	if err := writeKubeconfig(c.kubeconfig("kubelet"), server, c, client); err != nil {
		return err
	}
	serving, err := issue(pkix.Name{CommonName: "system:node:" + realNodeName, Organization: []string{"system:nodes"}},
		&c.ca, x509.ExtKeyUsageServerAuth, net.ParseIP(room.address()))
	if err != nil {
		return err
	}
	if err := serving.write(c.directory, "kubelet"); err != nil {
		return err
	}
	config, err := json.Marshal(kubeletConfiguration(c, room))
	if err != nil {
		return err
	}
	if err := os.WriteFile(room.path("kubelet.json"), config, 0o600); err != nil {
		return err
	}
	return s.start("kubelet",
		"--config="+room.path("kubelet.json"),
		"--kubeconfig="+c.kubeconfig("kubelet"),
		"--root-dir="+room.path("kubelet"),
		"--cert-dir="+room.path("kubelet", "pki"),
		"--hostname-override="+realNodeName,
		"--node-ip="+room.address(),
		"--node-labels="+nodeLabel+"=real",
	)
}

func kubeletConfiguration(c *certificates, room *nodeRoom) kubeletconfig.KubeletConfiguration {
	no, yes, none := new(bool), new(bool), new(int32)
	*yes = true
	resolver := ""
	return kubeletconfig.KubeletConfiguration{
		TypeMeta:            metav1.TypeMeta{APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration"},
		Address:             room.address(),
		HealthzPort:         none,
		TLSCertFile:         c.cert("kubelet"),
		TLSPrivateKeyFile:   c.key("kubelet"),
		PodLogsDir:          room.path("pod-logs"),
		VolumePluginDir:     room.path("volume-plugins"),
		ResolverConfig:      &resolver,
		ClusterDNS:          []string{clusterDNS},
		ClusterDomain:       "cluster.local",
		SerializeImagePulls: no,
		Authentication: kubeletconfig.KubeletAuthentication{
			X509:      kubeletconfig.KubeletX509Authentication{ClientCAFile: c.cert("ca")},
			Anonymous: kubeletconfig.KubeletAnonymousAuthentication{Enabled: no},
			Webhook:   kubeletconfig.KubeletWebhookAuthentication{Enabled: yes},
		},
		ContainerRuntimeEndpoint: "unix://" + room.socket(),
		// Control groups as one finds them on a plain machine without systemd,
		// of version 1 or 2; nothing is reserved.
		CgroupDriver:           "cgroupfs",
		CgroupsPerQOS:          no,
		EnforceNodeAllocatable: []string{"none"},
		FailCgroupV1:           no,
		FailSwapOn:             no,
		OOMScoreAdj:            none,
		MakeIPTablesUtilChains: no,
		// A test machine's disk can be nearly full; pods are not the cause.
		EvictionHard: map[string]string{
			"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%",
		},
		ImageGCHighThresholdPercent: number(100),
		// What is measured is the kubelet's reaction, not a separate limiter.
		EventRecordQPS:            none,
		KubeAPIQPS:                number(500),
		KubeAPIBurst:              1000,
		RegistryPullQPS:           none,
		NodeStatusUpdateFrequency: metav1.Duration{Duration: 10 * time.Second},
	}
}

func number(value int32) *int32 { return &value }
