package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime of everything signed here. A lab lives for minutes, sometimes over
// a weekend on a developer's machine; nothing renews these certificates.
const lifetime = 30 * 24 * time.Hour

// keyPair is a certificate and its private key, both also kept as PEM.
type keyPair struct {
	certificate *x509.Certificate
	key         crypto.Signer
	certPEM     []byte
	keyPEM      []byte
}

// certificates are all the credentials of one lab.
type certificates struct {
	directory string

	ca keyPair // signs serving and client certificates, and CSRs in the cluster
	// The front proxy's CA is separate: whoever holds one of its certificates
	// can claim to be any user, so the cluster's CA must not be able to sign it.
	frontProxyCA      keyPair
	frontProxyClient  keyPair
	serving           keyPair // for the control plane's three servers: they all listen on loopback
	admin             keyPair
	controllerManager keyPair
	scheduler         keyPair
	hollowNodes       keyPair
	serviceAccounts   keyPair // only the key is used: it signs tokens
	// Who the API server is when it calls admission webhooks. The CA is separate: what it has
	// signed says that the API server asks.
	webhookClientCA keyPair
	webhookClient   keyPair
}

// createCertificates makes new ones of all kinds and writes those that the
// components read from files into the directory.
func createCertificates(directory string) (*certificates, error) {
	made := &certificates{directory: directory}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, err
	}
	client, server := x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth
	for _, one := range []struct {
		to     *keyPair
		signer *keyPair // nil: it signs itself, and is a CA
		file   string
		name   pkix.Name
		usage  x509.ExtKeyUsage
	}{
		{&made.ca, nil, "ca", pkix.Name{CommonName: "lab-ca"}, 0},
		{&made.frontProxyCA, nil, "front-proxy-ca", pkix.Name{CommonName: "lab-front-proxy-ca"}, 0},
		{&made.serviceAccounts, nil, "service-accounts", pkix.Name{CommonName: "lab-service-accounts"}, 0},
		{&made.frontProxyClient, &made.frontProxyCA, "front-proxy-client", pkix.Name{CommonName: frontProxyName}, client},
		{&made.serving, &made.ca, "serving", pkix.Name{CommonName: "localhost"}, server},
		{&made.admin, &made.ca, "admin", pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, client},
		{&made.controllerManager, &made.ca, "controller-manager", pkix.Name{CommonName: "system:kube-controller-manager"}, client},
		{&made.hollowNodes, &made.ca, "hollow-nodes", pkix.Name{CommonName: "hollow-nodes", Organization: []string{"system:masters"}}, client},
		{&made.scheduler, &made.ca, "scheduler", pkix.Name{CommonName: "system:kube-scheduler"}, client},
		{&made.webhookClientCA, nil, "webhook-client-ca", pkix.Name{CommonName: "lab-webhook-client-ca"}, 0},
		{&made.webhookClient, &made.webhookClientCA, "webhook-client", pkix.Name{CommonName: webhookClientName}, client},
	} {
		pair, err := issue(one.name, one.signer, one.usage)
		if err != nil {
			return nil, fmt.Errorf("certificate %s: %w", one.file, err)
		}
		if err := pair.write(directory, one.file); err != nil {
			return nil, err
		}
		*one.to = *pair
	}
	return made, nil
}

// serveAlsoAt makes the control plane's serving certificate good for one more address.
func (c *certificates) serveAlsoAt(address net.IP) error {
	serving, err := issue(c.serving.certificate.Subject, &c.ca, x509.ExtKeyUsageServerAuth, address)
	if err != nil {
		return err
	}
	c.serving = *serving
	return serving.write(c.directory, "serving")
}

// cert and key are the paths of a pair's files.
func (c *certificates) cert(file string) string { return filepath.Join(c.directory, file+".crt") }
func (c *certificates) key(file string) string  { return filepath.Join(c.directory, file+".key") }

// kubeconfig is where a component's kubeconfig lies.
func (c *certificates) kubeconfig(user string) string {
	return filepath.Join(c.directory, user+".kubeconfig")
}

// issue makes a key and a certificate for it; without a signer, a CA. A server's
// is good for loopback and for the further addresses.
func issue(name pkix.Name, signer *keyPair, usage x509.ExtKeyUsage, addresses ...net.IP) (*keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      name,
		// An hour back, for clients in a VM whose clock lags.
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(lifetime),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
	parent, signingKey := template, crypto.Signer(key)
	if signer == nil {
		template.IsCA, template.BasicConstraintsValid = true, true
		template.KeyUsage |= x509.KeyUsageCertSign
	} else {
		parent, signingKey = signer.certificate, signer.key
		template.ExtKeyUsage = []x509.ExtKeyUsage{usage}
	}
	if usage == x509.ExtKeyUsageServerAuth {
		template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
		template.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1), serviceNetworkFirst}, addresses...)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signingKey)
	if err != nil {
		return nil, err
	}
	return encode(der, key)
}

func encode(der []byte, key *ecdsa.PrivateKey) (*keyPair, error) {
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &keyPair{
		certificate: certificate,
		key:         key,
		certPEM:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:      pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}

func (p *keyPair) write(directory, file string) error {
	if err := os.WriteFile(filepath.Join(directory, file+".crt"), p.certPEM, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, file+".key"), p.keyPEM, 0o600)
}
