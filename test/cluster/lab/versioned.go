package main

import (
	"context"

	"github.com/spf13/cobra"
	internalapi "k8s.io/cri-api/pkg/apis"
	cri "k8s.io/cri-client/pkg"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// What this lab calls differently from one minor of Kubernetes to another: the folder ../kubernetes/MINOR has a
// file of this name for a lab of that minor.

func newKubeletCommand() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }

// connectRuntime connects to a container runtime; the function ends the connection.
func connectRuntime(ctx context.Context, endpoint string) (internalapi.RuntimeService, func(), error) {
	runtime, err := cri.NewRemoteRuntimeService(ctx, endpoint, patience, nil, false)
	if err != nil {
		return nil, nil, err
	}
	return runtime, func() { runtime.Close(ctx) }, nil
}
