// Package harness runs muster against a real API server, for the tests in the folders beside it, and has what several of them use.
//
// The environment sets the paths:
//
//	MUSTER_TEST_KUBECONFIG  the cluster to use; without it a lab is started
//	                        for the time of the test program
//	MUSTER_BIN              muster (default ../../build/muster)
//	MUSTER_LAB_BIN          the lab binary, which is also the kubectl (default:
//	                        above the test program's folder, or ../../build/cluster/lab)
//	MUSTER_IMAGE            folder with muster's image; without it one is made of MUSTER_BIN
//	MUSTER_LAB_FLAGS        more flags for the lab that is started, see `lab up --help`
//	MUSTER_SOAK             not empty: tests that have a long form run in it
//
// Relative paths are relative to test/cluster, the folder to run the tests in; `go test` runs them in a folder below, and Main
// changes to it then.
package harness

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a connection to the API server under test, as its administrator.
type Cluster struct {
	Kubeconfig string
	Client     kubernetes.Interface
	Dynamic    dynamic.Interface
	discovery  discovery.CachedDiscoveryInterface
}

var (
	shared     *Cluster
	errShared  error
	connecting sync.Once
	ownLab     *exec.Cmd // nil if the cluster was there before us
	madeImages []string  // folders
)

// Connect returns the cluster that all tests of this program share.
func Connect(t testing.TB) *Cluster {
	t.Helper()
	connecting.Do(func() { shared, errShared = connect() })
	if errShared != nil {
		t.Fatalf("no cluster to test against: %v", errShared)
	}
	return shared
}

// Main runs the tests and ends the lab, if they started one.
func Main(m *testing.M) {
	flag.Parse()
	if _, err := os.Stat("harness"); err != nil {
		if err := os.Chdir(".."); err != nil {
			panic(err)
		}
	}
	// Tests that run side by side wait for the cluster, not for a processor.
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	code := m.Run()
	if ownLab != nil {
		_ = ownLab.Process.Signal(syscall.SIGTERM)
		if err := ownLab.Wait(); err != nil {
			fmt.Fprintf(os.Stderr, "the lab did not end well: %v\n", err)
			code = max(code, 1)
		}
	}
	for _, folder := range madeImages {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// ConnectAs connects another user to the cluster.
func ConnectAs(t testing.TB, kubeconfig string) *Cluster {
	t.Helper()
	cluster, err := connectTo(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func connect() (*Cluster, error) {
	kubeconfig := os.Getenv("MUSTER_TEST_KUBECONFIG")
	if kubeconfig == "" {
		folder, err := os.MkdirTemp("", "lab-ready-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(folder)
		if kubeconfig, ownLab, err = startLab(folder, 10); err != nil {
			return nil, err
		}
	}
	return connectTo(kubeconfig)
}

func connectTo(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// The tests' own load must not change the measurement.
	config.QPS, config.Burst = -1, -1
	config.WarningHandler = rest.NoWarnings{}
	// The typed client speaks protobuf, which costs the API server a good deal
	// less; objects of kinds that it does not know exist only as JSON.
	typed := rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Kubeconfig: kubeconfig,
		Client:     client,
		Dynamic:    dynamicClient,
		discovery:  memory.NewMemCacheClient(client.Discovery()),
	}, nil
}

// OwnLab is a new cluster for one test alone, with the real node if the test runs as root. It ends with the
// test.
func OwnLab(t testing.TB) *Cluster {
	t.Helper()
	folder := t.TempDir()
	kubeconfig, lab, err := startLab(folder, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = lab.Process.Signal(syscall.SIGTERM)
		if err := lab.Wait(); err != nil {
			t.Errorf("the lab did not end well: %v", err)
		}
	})
	cluster, err := connectTo(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// startLab starts `lab up` and returns its kubeconfig. The lab ends with this program, also when the program
// crashes. The folder has the files for its start.
func startLab(folder string, hollowNodes int) (string, *exec.Cmd, error) {
	ready := filepath.Join(folder, "ready")
	arguments := []string{"up", "--die-with-parent", "--ready-file", ready, "--hollow-nodes", strconv.Itoa(hollowNodes)}
	if os.Geteuid() == 0 {
		layout, err := MusterLayout()
		if err != nil {
			return "", nil, err
		}
		arguments = append(arguments, "--kubelet", "--muster-image", layout)
	} // otherwise the tests that need the kubelet report this
	arguments = append(arguments, strings.Fields(os.Getenv("MUSTER_LAB_FLAGS"))...)
	lab := exec.Command(LabBinary(), arguments...)
	lab.Stderr = os.Stderr
	if err := lab.Start(); err != nil {
		return "", nil, fmt.Errorf("%w (build it with test/cluster/build)", err)
	}
	kubeconfig, err := AwaitLab(lab, ready, 2*time.Minute)
	return kubeconfig, lab, err
}

// AwaitLab waits for the ready file of a `lab up`, and returns the path of the kubeconfig, which is in it. If there is
// an error, the lab has ended.
func AwaitLab(lab *exec.Cmd, ready string, within time.Duration) (string, error) {
	for began := time.Now(); time.Since(began) < UnderLoad(within); time.Sleep(50 * time.Millisecond) {
		if path, err := os.ReadFile(ready); err == nil {
			return strings.TrimSuffix(string(path), "\n"), nil
		}
		if hasEnded(lab.Process.Pid) {
			return "", fmt.Errorf("lab up ended at its start: %v", lab.Wait())
		}
	}
	_ = lab.Process.Signal(syscall.SIGTERM)
	return "", fmt.Errorf("lab up was not ready in time: %v", lab.Wait())
}

// hasEnded is true for a child that has ended and that nothing has waited for yet.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}

// MusterLayout is a folder with muster's image: the shared cluster's image, or an image that is made now and
// removed by Main.
var MusterLayout = sync.OnceValues(func() (string, error) {
	if layout := os.Getenv("MUSTER_IMAGE"); layout != "" {
		return layout, nil
	}
	folder, err := os.MkdirTemp("", "muster-image-")
	if err != nil {
		return "", err
	}
	madeImages = append(madeImages, folder)
	layout := filepath.Join(folder, "layout")
	if output, err := exec.Command("../../scripts/image", filepath.Dir(MusterBinary()), layout).CombinedOutput(); err != nil {
		return "", fmt.Errorf("scripts/image: %w: %s", err, output)
	}
	return layout, nil
})

// Server is where the API server listens.
func (c *Cluster) Server(t testing.TB) *url.URL {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// Resource is a dynamic client for a kind, in the version that the server prefers.
func (c *Cluster) Resource(t testing.TB, group, kind, namespace string) dynamic.ResourceInterface {
	t.Helper()
	return c.Dynamic.Resource(c.mapping(t, group, kind).Resource).Namespace(namespace)
}

// Version is the apiVersion that goes with Resource.
func (c *Cluster) Version(t testing.TB, group, kind string) string {
	t.Helper()
	return c.mapping(t, group, kind).GroupVersionKind.GroupVersion().String()
}

func (c *Cluster) mapping(t testing.TB, group, kind string) *meta.RESTMapping {
	t.Helper()
	// The kinds can be newer than the discovery for an earlier test.
	c.discovery.Invalidate()
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(c.discovery)
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	if err != nil {
		t.Fatalf("the server does not know %s.%s: %v", kind, group, err)
	}
	return mapping
}

// Context limits all requests of a test, so that a request that hangs fails the test with its own message.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Size(2*time.Minute, 2*time.Hour))
	t.Cleanup(cancel)
	return ctx
}

// LabBinary is the control plane and the kubectl.
func LabBinary() string {
	if path := os.Getenv("MUSTER_LAB_BIN"); path != "" {
		return path
	}
	if self, err := os.Executable(); err == nil {
		above := filepath.Join(filepath.Dir(filepath.Dir(self)), "lab")
		if _, err := os.Stat(above); err == nil {
			return above
		}
	}
	return "../../build/cluster/lab"
}

// PreviousMusterBinary is an older build of it, for upgrades; without MUSTER_PREVIOUS_BIN it is the same build.
func PreviousMusterBinary() string {
	if path := os.Getenv("MUSTER_PREVIOUS_BIN"); path != "" {
		return path
	}
	return MusterBinary()
}

// MusterBinary is the program under test.
func MusterBinary() string {
	if path := os.Getenv("MUSTER_BIN"); path != "" {
		return path
	}
	return "../../build/muster"
}
