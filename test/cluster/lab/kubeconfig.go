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
// that it can be copied anywhere on this machine, the number of this process, to
// which tests send signals, and the folder of all the lab's certificates.
func writeKubeconfig(path, server string, c *certificates, user *keyPair) error {
	const name = "lab"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   server,
		CertificateAuthorityData: c.ca.certPEM,
		Extensions: map[string]runtime.Object{
			"lab": &runtime.Unknown{Raw: fmt.Appendf(nil, `{"pid":%d,"certificates":%q}`, os.Getpid(), c.directory)},
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
