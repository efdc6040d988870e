package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes a kubeconfig that carries its certificates inside, so
// that it can be copied anywhere on this machine, and the number of this process, to
// which tests send signals.
func writeKubeconfig(path, server string, ca, user *keyPair) error {
	const name = "lab"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   server,
		CertificateAuthorityData: ca.certPEM,
		Extensions: map[string]runtime.Object{
			"lab": &runtime.Unknown{Raw: fmt.Appendf(nil, `{"pid":%d}`, os.Getpid())},
		},
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: user.certPEM,
		ClientKeyData:         user.keyPEM,
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("kubeconfig %s: %w", filepath.Base(path), err)
	}
	return nil
}
