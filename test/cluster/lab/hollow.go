package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

const (
	hollowPrefix  = "hollow-"
	hollowAddress = "10.204.0.1" // of all hollow nodes; nothing answers there
	hollowPods    = 1000         // for each node
	hollowWorkers = 32
	heartbeat     = 20 * time.Second
)

// hollowNodes are nodes that only say what kubelets would say. What their pods
// do is in hollowpod.go.
type hollowNodes struct {
	client     kubernetes.Interface
	pods       corelisters.PodLister
	configMaps corelisters.ConfigMapLister
	queue      workqueue.TypedRateLimitingInterface[cache.ObjectName]
	addresses  atomic.Uint32 // given to pods so far
}

// runHollowNodes is the component: it registers the nodes and plays them until it is
// stopped.
func runHollowNodes(arguments []string) int {
	flags := flag.NewFlagSet("hollow-nodes", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "the API server to use")
	count := flags.Int("count", 1, "number of nodes")
	if err := flags.Parse(arguments); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := playHollowNodes(ctx, *kubeconfig, *count); err != nil && ctx.Err() == nil {
		say("hollow nodes: %v", err)
		return 1
	}
	return 0
}

func playHollowNodes(ctx context.Context, kubeconfig string, count int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	h := &hollowNodes{
		client: client,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](20*time.Millisecond, 5*time.Second)),
	}
	defer h.queue.ShutDown()
	if err := h.watch(ctx); err != nil {
		return err
	}
	for i := range count {
		if err := h.register(ctx, i); err != nil {
			return err
		}
	}
	var workers sync.WaitGroup
	for range hollowWorkers {
		workers.Go(func() { h.work(ctx) })
	}
	h.keepAlive(ctx, count)
	h.queue.ShutDown()
	workers.Wait()
	return nil
}

// watch follows the pods that are bound to a node, and ConfigMaps.
func (h *hollowNodes) watch(ctx context.Context) error {
	selecting := func(selector string) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(h.client, 0,
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = selector }),
			informers.WithTransform(withoutManagedFields))
	}
	pods := selecting("spec.nodeName!=")
	h.pods = pods.Core().V1().Pods().Lister()
	_, err := pods.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { h.enqueue(object.(*corev1.Pod)) },
		UpdateFunc: func(before, after any) {
			old, pod := before.(*corev1.Pod), after.(*corev1.Pod)
			// What makes a kubelet sync a pod; a change of the status does not.
			if old.UID != pod.UID || old.DeletionTimestamp == nil && pod.DeletionTimestamp != nil ||
				!maps.Equal(old.Labels, pod.Labels) || !maps.Equal(old.Annotations, pod.Annotations) {
				h.enqueue(pod)
			}
		},
	})
	if err != nil {
		return err
	}
	configMaps := selecting("metadata.name!=kube-root-ca.crt")
	h.configMaps = configMaps.Core().V1().ConfigMaps().Lister()
	configMaps.Core().V1().ConfigMaps().Informer()
	for _, factory := range []informers.SharedInformerFactory{pods, configMaps} {
		factory.Start(ctx.Done())
		for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
			if !synced {
				return fmt.Errorf("no watch of %s", kind)
			}
		}
	}
	return nil
}

// withoutManagedFields saves a third of the memory; an update that carries none
// leaves the stored ones alone.
func withoutManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func (h *hollowNodes) enqueue(pod *corev1.Pod) {
	if strings.HasPrefix(pod.Spec.NodeName, hollowPrefix) {
		h.queue.Add(cache.MetaObjectToName(pod))
	}
}

func (h *hollowNodes) work(ctx context.Context) {
	for {
		name, closed := h.queue.Get()
		if closed {
			return
		}
		if again, err := h.sync(ctx, name); err == nil {
			h.queue.Forget(name)
			if again > 0 {
				h.queue.AddAfter(name, again)
			}
		} else {
			if !apierrors.IsConflict(err) && ctx.Err() == nil {
				say("pod %s: %v", name, err)
			}
			h.queue.AddRateLimited(name)
		}
		h.queue.Done(name)
	}
}

// sync does one step. A conflict means that the pod seen here was not the newest.
func (h *hollowNodes) sync(ctx context.Context, name cache.ObjectName) (again time.Duration, err error) {
	pod, err := h.pods.Pods(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	next := advance(pod, h.podAddress(pod), func(configMap string) map[string]string {
		if found, err := h.configMaps.ConfigMaps(name.Namespace).Get(configMap); err == nil {
			return found.Data
		}
		return nil
	}, metav1.Now())
	pods := h.client.CoreV1().Pods(name.Namespace)
	if next.status != nil {
		changed := pod.DeepCopy()
		changed.Status = *next.status
		if _, err := pods.UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
			return 0, ignoreNotFound(err)
		}
	}
	if next.remove {
		options := metav1.NewPreconditionDeleteOptions(string(pod.UID))
		options.GracePeriodSeconds = new(int64)
		return 0, ignoreNotFound(pods.Delete(ctx, name.Name, *options))
	}
	return next.again, nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// podAddress gives every pod a different address in 10.204.0.0/14.
func (h *hollowNodes) podAddress(pod *corev1.Pod) string {
	if pod.Status.PodIP != "" {
		return pod.Status.PodIP
	}
	number := h.addresses.Add(1)%(1<<18-512) + 256
	return fmt.Sprintf("10.%d.%d.%d", 204+number>>16, number>>8&255, number&255)
}

func (h *hollowNodes) register(ctx context.Context, index int) error {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1000"),
		corev1.ResourceMemory:           resource.MustParse("4Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("4Ti"),
		corev1.ResourcePods:             *resource.NewQuantity(hollowPods, resource.DecimalSI),
	}
	name := fmt.Sprintf("%s%d", hollowPrefix, index)
	now := metav1.Now()
	_, err := h.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			nodeLabel: "hollow", corev1.LabelHostname: name, corev1.LabelOSStable: "linux",
		}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: nodeLabel, Value: "hollow", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: hollowAddress}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "HollowNode",
				LastHeartbeatTime: now, LastTransitionTime: now,
			}},
		},
	}, metav1.CreateOptions{})
	return err
}

// keepAlive renews the nodes' leases until the context ends; without them the
// node controller would take the nodes for lost after some 50 s.
func (h *hollowNodes) keepAlive(ctx context.Context, count int) {
	for ctx.Err() == nil {
		pause := heartbeat
		for i := range count {
			name := fmt.Sprintf("%s%d", hollowPrefix, i)
			if err := h.renew(ctx, name); err != nil && ctx.Err() == nil {
				say("lease of %s: %v", name, err)
				pause = time.Second
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (h *hollowNodes) renew(ctx context.Context, name string) error {
	leases := h.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now, seconds := metav1.NowMicro(), int32(40)
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		lease.Spec.RenewTime = &now
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}, metav1.CreateOptions{})
	return err
}

// startHollowNodes runs the component and returns when all nodes are ready.
func startHollowNodes(ctx context.Context, s *supervisor, server string, count int) error {
	err := s.start("hollow-nodes", "--kubeconfig="+s.certificates.kubeconfig("hollow-nodes"), fmt.Sprintf("--count=%d", count))
	if err != nil {
		return err
	}
	return s.wait(ctx, "hollow-nodes", newProber(s.certificates).nodesReady(server, "hollow", count))
}
