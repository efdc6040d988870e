package scheduling

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	resourcehelper "k8s.io/component-helpers/resource"

	"muster.batch/test/cluster/harness"
)

// chargedResources have quota in the queues of this test. The last two are defaults of a LimitRange each, by which it is
// seen that it acts.
var chargedResources = []string{"cpu", "memory", "ephemeral-storage", "example.com/device", rangeMark(0), rangeMark(1)}

func rangeMark(number int) string { return fmt.Sprint("example.com/range-", number) }

// podMaker makes pod specs and LimitRanges by chance.
type podMaker struct {
	*rand.Rand
	runtimes []string
}

func (m *podMaker) oneIn(n int) bool { return m.IntN(n) == 0 }

// amount is between from and to units of a resource; requests and limits have different bounds, so that most pods are
// valid.
func (m *podMaker) amount(name string, from, to int64) resource.Quantity {
	units := from + m.Int64N(to-from+1)
	switch name {
	case "cpu":
		return *resource.NewMilliQuantity(units*125, resource.DecimalSI)
	case "example.com/device":
		return *resource.NewQuantity(units, resource.DecimalSI)
	default:
		return *resource.NewQuantity(units<<20, resource.BinarySI)
	}
}

func (m *podMaker) container(name string) corev1.Container {
	container := corev1.Container{Name: name, Image: "example.test/main:1"}
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	for _, each := range []string{"cpu", "memory", "ephemeral-storage"} {
		if m.oneIn(2) {
			requests[corev1.ResourceName(each)] = m.amount(each, 1, 4)
		}
		if m.oneIn(2) {
			limits[corev1.ResourceName(each)] = m.amount(each, 4, 8)
		}
	}
	if m.oneIn(6) {
		limits["example.com/device"] = m.amount("example.com/device", 1, 3)
	}
	container.Resources = corev1.ResourceRequirements{Requests: requests, Limits: limits}
	return container
}

func (m *podMaker) spec() corev1.PodSpec {
	var spec corev1.PodSpec
	spec.RestartPolicy = corev1.RestartPolicyNever
	for i := range 1 + m.IntN(3) {
		spec.Containers = append(spec.Containers, m.container(fmt.Sprint("c", i)))
	}
	for i := range m.IntN(4) {
		container := m.container(fmt.Sprint("i", i))
		if m.oneIn(2) {
			always := corev1.ContainerRestartPolicyAlways
			container.RestartPolicy = &always
		}
		spec.InitContainers = append(spec.InitContainers, container)
	}
	if m.oneIn(3) {
		requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
		for _, each := range []string{"cpu", "memory"} {
			if m.oneIn(2) {
				requests[corev1.ResourceName(each)] = m.amount(each, 8, 40)
			}
			if m.oneIn(2) {
				limits[corev1.ResourceName(each)] = m.amount(each, 40, 60)
			}
		}
		spec.Resources = &corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
	if m.oneIn(3) {
		spec.RuntimeClassName = &m.runtimes[m.IntN(len(m.runtimes))]
	}
	return spec
}

// limitRange is valid together with any other of these: a container without resources always becomes a valid one.
func (m *podMaker) limitRange(number int) *corev1.LimitRange {
	item := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{}, DefaultRequest: corev1.ResourceList{},
		Max: corev1.ResourceList{}, Min: corev1.ResourceList{}}
	for _, each := range []string{"cpu", "memory", "ephemeral-storage"} {
		key := corev1.ResourceName(each)
		if m.oneIn(2) {
			item.DefaultRequest[key] = m.amount(each, 1, 3)
		}
		if m.oneIn(2) {
			item.Default[key] = m.amount(each, 4, 6)
			if m.oneIn(3) {
				item.Max[key] = m.amount(each, 8, 9)
			}
		}
		if m.oneIn(5) {
			item.Min[key] = m.amount(each, 1, 1)
		}
	}
	item.Default[corev1.ResourceName(rangeMark(number))] = resource.MustParse("1")
	return &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("range-", number)},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}
}

// mayBeCharged is the most that muster can charge: it does not know the order in which the API server applies
// LimitRanges, and for a pod as a whole it takes the limit where there is no request, as Kueue does.
func mayBeCharged(spec *corev1.PodSpec, ranges []*corev1.LimitRange, name corev1.ResourceName) bool {
	if whole := spec.Resources; whole != nil {
		_, requested := whole.Requests[name]
		if _, limited := whole.Limits[name]; limited && !requested {
			return true
		}
	}
	return len(ranges) > 1
}

// chargeOf is what the Workload was admitted with; nil if it is not admitted, with the reason.
func chargeOf(workload *unstructured.Unstructured) (corev1.ResourceList, string, error) {
	for _, each := range harness.ObjectsAt(workload.Object, "status", "admission", "podSetAssignments") {
		text, err := json.Marshal(each["resourceUsage"])
		if err != nil {
			return nil, "", err
		}
		var usage corev1.ResourceList
		return usage, "", json.Unmarshal(text, &usage)
	}
	for _, condition := range harness.ObjectsAt(workload.Object, "status", "conditions") {
		if condition["type"] == "QuotaReserved" && condition["status"] == "False" {
			return nil, fmt.Sprint(condition["message"]), nil
		}
	}
	return nil, "", fmt.Errorf("%s is neither admitted nor refused", workload.GetName())
}

// What muster charges for a pod template is what the pods that the API server makes of it request: never less, and not
// more but by the two rules of mayBeCharged.
func TestPodsRequestWhatWasCharged(t *testing.T) {
	seed := uint64(1)
	if text := os.Getenv("MUSTER_NEW_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		harness.Must(t, err)
	}
	t.Logf("MUSTER_NEW_SEED=%d", seed)
	cluster := harness.Connect(t)
	harness.StartQueueMuster(t, "--config", harness.WriteFile(t, "config.yaml",
		"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nclientConnection: {qps: -1, burst: 1}\n"))
	maker := &podMaker{Rand: rand.New(rand.NewPCG(seed, 1))}
	suffix := fmt.Sprint(seed % 1_000_000)
	for i := range 3 {
		overhead := corev1.ResourceList{}
		for _, each := range []string{"cpu", "memory"} {
			if i > 0 {
				overhead[corev1.ResourceName(each)] = maker.amount(each, 1, 4)
			}
		}
		class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("charged-", suffix, "-", i)}, Handler: "runc"}
		if i > 0 {
			class.Overhead = &nodev1.Overhead{PodFixed: overhead}
		}
		_, err := cluster.Client.NodeV1().RuntimeClasses().Create(harness.Context(t), class, metav1.CreateOptions{})
		harness.Must(t, err)
		t.Cleanup(func() {
			_ = cluster.Client.NodeV1().RuntimeClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{})
		})
		maker.runtimes = append(maker.runtimes, class.Name)
	}
	compared := 0
	for ranges := range 4 {
		compared += compareCharges(t, cluster, maker, min(ranges, 2), harness.Size(60, 600))
	}
	harness.Figure(t, "%d pods were made of the templates and compared", compared)
	if compared < 60 {
		t.Errorf("only %d pods could be compared", compared)
	}
}

// charging is a namespace with a queue that has quota for everything.
type charging struct {
	*testing.T
	cluster *harness.Cluster
	teams   *harness.Teams
	ranges  []*corev1.LimitRange
}

// compareCharges compares this many templates in a namespace with this many LimitRanges, and returns how many of them
// the API server makes pods of.
func compareCharges(t *testing.T, cluster *harness.Cluster, maker *podMaker, rangeCount, count int) int {
	t.Helper()
	c := &charging{T: t, cluster: cluster, teams: cluster.Teams(t)}
	c.teams.AnyNode("f")
	var quotas, covered []any
	for _, each := range chargedResources {
		covered = append(covered, each)
		quotas = append(quotas, map[string]any{"name": each, "nominalQuota": "1000000Gi"})
	}
	c.teams.Queue("q", map[string]any{"resourceGroups": []any{map[string]any{"coveredResources": covered,
		"flavors": []any{map[string]any{"name": c.teams.Name("f"), "resources": quotas}}}}})
	for i := range rangeCount {
		made, err := cluster.Client.CoreV1().LimitRanges(c.teams.Namespace).Create(harness.Context(t), maker.limitRange(i), metav1.CreateOptions{})
		harness.Must(t, err)
		c.ranges = append(c.ranges, made)
	}
	c.awaitRanges()
	specs, asked := make([]corev1.PodSpec, count), make([]corev1.ResourceList, count)
	for i := range specs {
		specs[i] = maker.spec()
	}
	outcome := harness.Load(harness.Context(t), 8, count, func(number int) (err error) {
		if err := c.createWorkload(fmt.Sprint("w-", number), specs[number]); err != nil {
			return err
		}
		asked[number], err = c.asks(specs[number])
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	compared := 0
	for number := range count {
		charge, why := c.awaitCharge(fmt.Sprint("w-", number))
		if asked[number] == nil {
			continue
		}
		if charge == nil {
			t.Errorf("the API server makes a pod of %s, and muster does not admit it: %s", harness.ToJSON(t, specs[number]), why)
			continue
		}
		compared++
		compareCharge(t, &specs[number], c.ranges, asked[number], charge)
	}
	harness.Must(t, cluster.RemoveWorkloads(c.teams.Namespace))
	return compared
}

func (c *charging) createWorkload(name string, spec corev1.PodSpec) error {
	workload := harness.JoblessWorkload(name, "q", 1)
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	podSets, _, _ := unstructured.NestedSlice(workload.Object, "spec", "podSets")
	podSets[0].(map[string]any)["template"] = map[string]any{"spec": fields}
	if err := unstructured.SetNestedSlice(workload.Object, podSets, "spec", "podSets"); err != nil {
		return err
	}
	_, err = c.cluster.Dynamic.Resource(harness.Workloads).Namespace(c.teams.Namespace).Create(context.Background(), workload, harness.ForReal)
	return err
}

// awaitCharge waits until the Workload is admitted, or refused with a reason.
func (c *charging) awaitCharge(name string) (charge corev1.ResourceList, why string) {
	c.Helper()
	harness.Eventually(c, time.Minute, name+" is decided", func() error {
		workload, err := c.cluster.Dynamic.Resource(harness.Workloads).Namespace(c.teams.Namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err == nil {
			charge, why, err = chargeOf(workload)
		}
		return err
	})
	return charge, why
}

// asks is what the pod that the API server makes of the template requests; nil: it refuses the pod.
func (c *charging) asks(spec corev1.PodSpec) (corev1.ResourceList, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "made"}, Spec: *spec.DeepCopy()}
	made, err := c.cluster.Client.CoreV1().Pods(c.teams.Namespace).Create(context.Background(), pod, harness.DryRun)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return resourcehelper.PodRequests(made, resourcehelper.PodResourcesOptions{}), nil
}

// awaitRanges waits until the API server and muster know the LimitRanges: each hears of them by a watch.
func (c *charging) awaitRanges() {
	c.Helper()
	bare := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "example.test/main:1"}}}
	lacks := func(list corev1.ResourceList) error {
		for i := range c.ranges {
			if _, found := list[corev1.ResourceName(rangeMark(i))]; !found {
				return fmt.Errorf("%s is not there in %v", rangeMark(i), list)
			}
		}
		return nil
	}
	harness.Eventually(c, time.Minute, "the API server applies the LimitRanges", func() error {
		asked, err := c.asks(bare)
		if err != nil {
			return err
		}
		return lacks(asked)
	})
	number := 0
	harness.Eventually(c, time.Minute, "muster counts the LimitRanges", func() error {
		number++
		name := fmt.Sprint("bare-", number)
		if err := c.createWorkload(name, bare); err != nil {
			return err
		}
		charge, _ := c.awaitCharge(name)
		return lacks(charge)
	})
}

func compareCharge(t *testing.T, spec *corev1.PodSpec, ranges []*corev1.LimitRange, asked, charge corev1.ResourceList) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		want, have := asked[name], charge[name]
		order := have.Cmp(want)
		if order < 0 || (order > 0 && !mayBeCharged(spec, ranges, name)) {
			t.Errorf("%s: %s was charged, and the pod requests %s\npod: %s\nLimitRanges: %s", name, have.String(), want.String(),
				harness.ToJSON(t, spec), harness.ToJSON(t, ranges))
		}
	}
}
