package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/fieldpath"
)

const (
	// The start barrier as muster's webhook injects it; jobs/group_scheduling.h
	// has the contract.
	waiterContainer = "group-scheduling-init"
	waiterVolume    = "group-scheduling"

	// How long the containers of a hollow pod run, and how they end. Without the
	// first they run until the pod is deleted.
	runSecondsAnnotation = "lab.muster.batch/run-seconds"
	exitCodeAnnotation   = "lab.muster.batch/exit-code"
)

// step is what a hollow node does next about a pod.
type step struct {
	status *corev1.PodStatus // to be written, or nil
	remove bool              // the pod can go, after that
	again  time.Duration     // when to look again without an event, or zero
}

// configMapReader returns the data of a ConfigMap in the pod's namespace; nil if
// there is none.
type configMapReader func(name string) map[string]string

// advance is called when a kubelet would sync the pod: when the pod was bound to
// the node, when its labels, annotations or deletion changed, and about once a
// minute. As in a kubelet, the waiter sees the ConfigMap as it was then.
func advance(pod *corev1.Pod, address string, read configMapReader, now metav1.Time) step {
	status := pod.Status.DeepCopy()
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return step{remove: pod.DeletionTimestamp != nil}
	case pod.DeletionTimestamp != nil:
		end(status, corev1.PodFailed, 143, now)
		return step{status: status, remove: true}
	case status.StartTime == nil:
		begin(pod, status, address, now)
		next := pass(pod, status, read, now)
		next.status = status
		return next
	case isWaiting(status):
		return pass(pod, status, read, now)
	default:
		return finish(pod, status, now)
	}
}

// begin brings the pod to where its waiter runs. Other init containers take no
// time; those that are sidecars go on.
func begin(pod *corev1.Pod, status *corev1.PodStatus, address string, now metav1.Time) {
	status.Phase, status.StartTime = corev1.PodPending, &now
	status.HostIP, status.PodIP = hollowAddress, address
	status.HostIPs, status.PodIPs = []corev1.HostIP{{IP: hollowAddress}}, []corev1.PodIP{{IP: address}}
	status.InitContainerStatuses, status.ContainerStatuses = nil, nil
	for _, container := range pod.Spec.InitContainers {
		made := containerStatus(pod, &container)
		if container.Name == waiterContainer || isSidecar(&container) {
			run(&made, now)
		} else {
			terminate(&made, 0, now)
			made.Ready = true
		}
		status.InitContainerStatuses = append(status.InitContainerStatuses, made)
	}
	for _, container := range pod.Spec.Containers {
		made := containerStatus(pod, &container)
		made.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
		status.ContainerStatuses = append(status.ContainerStatuses, made)
	}
	setCondition(status, corev1.PodReadyToStartContainers, true, now)
	setReady(status, false, now)
}

// pass lets the pod through its barrier if there is none, or if its group has
// started; it ends the pod if the group's deadline has passed.
func pass(pod *corev1.Pod, status *corev1.PodStatus, read configMapReader, now metav1.Time) step {
	index := slices.IndexFunc(status.InitContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == waiterContainer })
	if index >= 0 {
		code, decided := waiterExitCode(pod, read)
		if !decided {
			// A kubelet syncs an idle pod every 60 s and up to half as much more.
			return step{again: time.Minute + rand.N(30*time.Second)}
		}
		waiter := &status.InitContainerStatuses[index]
		terminate(waiter, code, now)
		waiter.Ready = code == 0
		if code != 0 && pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
			waiter.LastTerminationState, waiter.State = waiter.State, corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"},
			}
			waiter.RestartCount++
			return step{status: status}
		}
		if code != 0 {
			end(status, corev1.PodFailed, code, now)
			return step{status: status}
		}
	}
	for i := range status.ContainerStatuses {
		run(&status.ContainerStatuses[i], now)
	}
	status.Phase = corev1.PodRunning
	setReady(status, true, now)
	next := finish(pod, status, now)
	next.status = status
	return next
}

// finish ends the pod when it has run for as long as it is annotated.
func finish(pod *corev1.Pod, status *corev1.PodStatus, now metav1.Time) step {
	seconds, err := strconv.Atoi(pod.Annotations[runSecondsAnnotation])
	if err != nil || status.Phase != corev1.PodRunning {
		return step{}
	}
	if left := status.ContainerStatuses[0].State.Running.StartedAt.Add(time.Duration(seconds) * time.Second).Sub(now.Time); left > 0 {
		return step{again: left}
	}
	phase := corev1.PodSucceeded
	code, _ := strconv.Atoi(pod.Annotations[exitCodeAnnotation])
	if code != 0 {
		phase = corev1.PodFailed
	}
	end(status, phase, int32(code), now)
	return step{status: status}
}

// end terminates what runs; what never ran goes on waiting, as with a kubelet.
func end(status *corev1.PodStatus, phase corev1.PodPhase, code int32, now metav1.Time) {
	status.Phase = phase
	for _, list := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			if list[i].State.Running != nil {
				terminate(&list[i], code, now)
			}
		}
	}
	setReady(status, false, now)
}

func isWaiting(status *corev1.PodStatus) bool {
	return slices.ContainsFunc(status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == waiterContainer && c.State.Running != nil
	})
}

// waiterExitCode is what muster-wait would end with, if it would.
func waiterExitCode(pod *corev1.Pod, read configMapReader) (code int32, decided bool) {
	token, complete := waiterToken(pod)
	if !complete {
		return 2, true
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.Name != waiterVolume || volume.ConfigMap == nil {
			continue
		}
		data := read(volume.ConfigMap.Name)
		if slices.Contains(strings.Split(data["started"], "\n"), token) {
			return 0, true
		}
		if slices.Contains(strings.Split(data["expired"], "\n"), token) {
			return 1, true
		}
		return 0, false
	}
	return 2, true
}

// waiterToken puts the run's token together from the waiter's environment, as
// the kubelet would resolve it.
func waiterToken(pod *corev1.Pod) (token string, complete bool) {
	values := map[string]string{}
	for _, container := range pod.Spec.InitContainers {
		if container.Name != waiterContainer {
			continue
		}
		for _, variable := range container.Env {
			values[variable.Name] = variable.Value
			if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
				values[variable.Name], _ = fieldpath.ExtractFieldPathAsString(pod, from.FieldRef.FieldPath)
			}
		}
	}
	owner, attempt, epoch := values["MUSTER_OWNER_UID"], values["MUSTER_RESTART_ATTEMPT"], values["MUSTER_EPOCH"]
	return owner + "/" + attempt + "/" + epoch, owner != "" && attempt != "" && epoch != ""
}

func isSidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func containerStatus(pod *corev1.Pod, container *corev1.Container) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, ImageID: container.Image, Started: new(bool),
		ContainerID: fmt.Sprintf("hollow://%s-%s", pod.UID, container.Name),
	}
}

func run(status *corev1.ContainerStatus, now metav1.Time) {
	started := true
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	status.Started, status.Ready = &started, status.Name != waiterContainer
}

func terminate(status *corev1.ContainerStatus, code int32, now metav1.Time) {
	ended := &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: "Completed", StartedAt: now, FinishedAt: now, ContainerID: status.ContainerID,
	}
	if code != 0 {
		ended.Reason = "Error"
	}
	if status.State.Running != nil {
		ended.StartedAt = status.State.Running.StartedAt
	}
	status.State = corev1.ContainerState{Terminated: ended}
	status.Started, status.Ready = new(bool), false
}

// setReady sets the conditions that follow from whether the main containers run.
func setReady(status *corev1.PodStatus, ready bool, now metav1.Time) {
	for _, condition := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		setCondition(status, condition, ready, now)
	}
	setCondition(status, corev1.PodInitialized, ready || status.Phase == corev1.PodSucceeded, now)
}

func setCondition(status *corev1.PodStatus, condition corev1.PodConditionType, holds bool, now metav1.Time) {
	value := corev1.ConditionFalse
	if holds {
		value = corev1.ConditionTrue
	}
	for i := range status.Conditions {
		if known := &status.Conditions[i]; known.Type == condition {
			if known.Status != value {
				known.Status, known.LastTransitionTime = value, now
			}
			return
		}
	}
	status.Conditions = append(status.Conditions, corev1.PodCondition{Type: condition, Status: value, LastTransitionTime: now})
}
