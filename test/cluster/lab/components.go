package main

import (
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	// What Kubernetes' own main packages register: kubectl's credential plugins,
	// the JSON log format, client metrics, and time zones for CronJobs.
	_ "time/tzdata"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// components are the programs that this binary can be: those of Kubernetes, and
// hollow nodes of our own. Each
// function takes the arguments after the program's name and returns the exit
// code of the process.
var components = map[string]func(arguments []string) int{
	"etcd":                    runEtcd,
	"hollow-nodes":            runHollowNodes,
	"kube-apiserver":          cobraComponent(apiserver.NewAPIServerCommand),
	"kube-controller-manager": cobraComponent(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          cobraComponent(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubectl":                 runKubectl,
	"kubelet":                 cobraComponent(newKubeletCommand),
}

// cobraComponent wraps a command's constructor. The constructor is called only
// when the component was asked for: each of them registers global flags and
// feature gates, and two in one process would collide.
func cobraComponent(construct func() *cobra.Command) func([]string) int {
	return func(arguments []string) int {
		command := construct()
		command.SetArgs(arguments)
		return cli.Run(command)
	}
}

// runEtcd ends only by exiting the process, as etcd's own main does.
func runEtcd(arguments []string) int {
	etcdmain.Main(append([]string{os.Args[0]}, arguments...))
	return 0
}

// runKubectl is kubectl's own main: CheckErr prints an error as users know it
// ("Error from server (Forbidden): ...") and exits with kubectl's exit code.
func runKubectl([]string) int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}
