package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// admissionConfiguration is the file that tells the API server which certificate to show to
// admission webhooks. Those that ask for none notice nothing of it.
func (c *certificates) admissionConfiguration() string {
	return filepath.Join(c.directory, "admission.yaml")
}

func writeAdmissionConfiguration(c *certificates) error {
	users := clientcmdapi.NewConfig()
	users.AuthInfos["*"] = &clientcmdapi.AuthInfo{ // whatever address a test's webhooks have
		ClientCertificate: c.cert("webhook-client"),
		ClientKey:         c.key("webhook-client"),
	}
	if err := clientcmd.WriteToFile(*users, c.kubeconfig("webhooks")); err != nil {
		return fmt.Errorf("kubeconfig of the webhooks: %w", err)
	}
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	for _, plugin := range []string{"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"} {
		text += fmt.Sprintf(`- name: %s
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: %s
`, plugin, c.kubeconfig("webhooks"))
	}
	return os.WriteFile(c.admissionConfiguration(), []byte(text), 0o600)
}
