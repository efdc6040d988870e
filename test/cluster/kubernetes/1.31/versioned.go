package main

import (
	"context"

	"github.com/spf13/cobra"
	internalapi "k8s.io/cri-api/pkg/apis"
	cri "k8s.io/cri-client/pkg"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func newKubeletCommand() *cobra.Command { return kubelet.NewKubeletCommand() }

func connectRuntime(_ context.Context, endpoint string) (internalapi.RuntimeService, func(), error) {
	runtime, err := cri.NewRemoteRuntimeService(endpoint, patience, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	return runtime, func() {}, nil // it ends with the process
}
