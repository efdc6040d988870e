package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// ServingCertificate shakes hands with muster's webhook port as the API server
// would, trusting the bundle alone, and returns the certificate that it showed.
func (m *Muster) ServingCertificate(bundle []byte) (*x509.Certificate, error) {
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(bundle) {
		return nil, errors.New("the CA bundle has no certificate")
	}
	dialer := &net.Dialer{Timeout: 2 * time.Second}
	connection, err := tls.DialWithDialer(dialer, "tcp", m.Address, &tls.Config{RootCAs: trusted})
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0], nil
}

// BundleOf is the CA bundle of a muster that is not about to replace it.
func BundleOf(t *testing.T, muster *Muster) []byte {
	t.Helper()
	bundle, err := muster.WebhookCABundle()
	Must(t, err)
	return bundle
}

// Authority is a CA that is not muster's.
type Authority struct {
	key         *ecdsa.PrivateKey
	parsed      *x509.Certificate
	Certificate []byte // PEM
}

// NewAuthority is a CA that no client trusts yet.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Must(t, err)
	template := &x509.Certificate{
		SerialNumber: serialNumber(t), Subject: pkix.Name{CommonName: fmt.Sprint("somebody else ", time.Now().UnixNano())},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	Must(t, err)
	parsed, err := x509.ParseCertificate(der)
	Must(t, err)
	return &Authority{key, parsed, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// Issue puts a new certificate, its key and a bundle into the folder, the certificate last.
func (a *Authority) Issue(t *testing.T, folder string, bundle []byte) (serial *big.Int) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Must(t, err)
	template := &x509.Certificate{
		SerialNumber: serialNumber(t), Subject: pkix.Name{CommonName: "muster"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(30 * time.Minute),
		DNSNames:    []string{"kueue-webhook-service.kueue-system.svc"}, // a stand-in for Kueue (install/kueue_stand_in_test.go)
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.parsed, &key.PublicKey, a.key)
	Must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	Must(t, err)
	for _, file := range []struct {
		name string
		text []byte
	}{
		{"ca.crt", bundle},
		{"tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})},
		{"tls.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})},
	} {
		Must(t, os.WriteFile(filepath.Join(folder, file.name), file.text, 0o600))
	}
	return template.SerialNumber
}

func serialNumber(t *testing.T) *big.Int {
	t.Helper()
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	Must(t, err)
	return number
}
