package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"path/filepath"
	"testing"
	"time"
)

// FrontProxy is the lab's API server as aggregated APIs see it.
func (c *Cluster) FrontProxy(t testing.TB) tls.Certificate {
	t.Helper()
	return c.labCertificate(t, "front-proxy-client")
}

// FrontProxyNamed has another name, by the same authority.
func (c *Cluster) FrontProxyNamed(t testing.TB, name string) tls.Certificate {
	t.Helper()
	return clientOf(t, c.labCertificate(t, "front-proxy-ca"), name)
}

// ClientOfTheClusterNamed has a certificate of the cluster's CA, as its users have.
func (c *Cluster) ClientOfTheClusterNamed(t testing.TB, name string) tls.Certificate {
	t.Helper()
	return clientOf(t, c.labCertificate(t, "ca"), name)
}

func (c *Cluster) labCertificate(t testing.TB, file string) tls.Certificate {
	t.Helper()
	folder := c.lab(t).Certificates
	certificate, err := tls.LoadX509KeyPair(filepath.Join(folder, file+".crt"), filepath.Join(folder, file+".key"))
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func clientOf(t testing.TB, authority tls.Certificate, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := x509.ParseCertificate(authority.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, authority.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// SelfSigned is a client's certificate that no authority has signed.
func SelfSigned(t testing.TB, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
