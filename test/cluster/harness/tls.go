package harness

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
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
