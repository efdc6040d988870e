package users

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"muster.batch/test/cluster/harness"
)

// Clients of Kueue's visibility API: as Kueue's own, and one that spells its headers itself.

// PendingWorkloadsSummary has Kueue's shape, as far as its clients look.
type pendingSummary struct {
	metav1.TypeMeta `json:",inline"`
	Items           []struct {
		metav1.ObjectMeta      `json:"metadata"`
		Priority               int32  `json:"priority"`
		LocalQueueName         string `json:"localQueueName"`
		PositionInClusterQueue int32  `json:"positionInClusterQueue"`
		PositionInLocalQueue   int32  `json:"positionInLocalQueue"`
	} `json:"items"`
}

// As in Kueue's clientset: the group's versions know the options of every request.
var (
	visibilityScheme     = runtime.NewScheme()
	visibilityParameters = runtime.NewParameterCodec(visibilityScheme)
)

func init() {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		metav1.AddToGroupVersion(visibilityScheme, schema.GroupVersion{Group: "visibility.kueue.x-k8s.io", Version: version})
	}
}

// visibilityClient asks as Kueue's generated clientset does.
func visibilityClient(t *testing.T, kubeconfig, version string) *rest.RESTClient {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	harness.Must(t, err)
	config.APIPath = "/apis"
	config.GroupVersion = &schema.GroupVersion{Group: "visibility.kueue.x-k8s.io", Version: version}
	config.NegotiatedSerializer = serializer.NewCodecFactory(visibilityScheme).WithoutConversion()
	config.Timeout = 30 * time.Second // which client-go also sends as a parameter
	client, err := rest.RESTClientFor(config)
	harness.Must(t, err)
	return client
}

func pendingOfClusterQueue(client *rest.RESTClient, name string, parameters ...string) (*pendingSummary, error) {
	request := client.Get().Resource("clusterqueues").Name(name).SubResource("pendingworkloads").
		VersionedParams(&metav1.GetOptions{}, visibilityParameters)
	return readSummary(request, parameters)
}

func pendingOfLocalQueue(client *rest.RESTClient, namespace, name string, parameters ...string) (*pendingSummary, error) {
	request := client.Get().Namespace(namespace).Resource("localqueues").Name(name).SubResource("pendingworkloads").
		VersionedParams(&metav1.GetOptions{}, visibilityParameters)
	return readSummary(request, parameters)
}

func readSummary(request *rest.Request, parameters []string) (*pendingSummary, error) {
	for i := 0; i < len(parameters); i += 2 {
		request.Param(parameters[i], parameters[i+1])
	}
	body, err := request.DoRaw(context.Background())
	if err != nil {
		return nil, err
	}
	summary := &pendingSummary{}
	return summary, json.Unmarshal(body, summary)
}

func namesOf(summary *pendingSummary) (names []string) {
	for _, item := range summary.Items {
		names = append(names, item.Namespace)
	}
	return names
}

// askVisibilityPort sends headers as they are spelled, past Go's own spelling.
func askVisibilityPort(t *testing.T, address, path string, own *tls.Certificate, headers http.Header) (int, string) {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true}
	if own != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
	}
	connection, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", address, config)
	harness.Must(t, err)
	defer connection.Close()
	harness.Must(t, connection.SetDeadline(time.Now().Add(20*time.Second)))
	var request bytes.Buffer
	fmt.Fprintf(&request, "GET %s HTTP/1.1\r\nHost: muster\r\nConnection: close\r\n", path)
	for name, values := range headers {
		for _, value := range values {
			fmt.Fprintf(&request, "%s: %s\r\n", name, value)
		}
	}
	request.WriteString("\r\n")
	_, err = connection.Write(request.Bytes())
	harness.Must(t, err)
	answer, err := io.ReadAll(connection)
	harness.Must(t, err)
	head, body, _ := strings.Cut(string(answer), "\r\n\r\n")
	var status int
	_, err = fmt.Sscanf(head, "HTTP/1.1 %d", &status)
	harness.Must(t, err)
	return status, body
}
