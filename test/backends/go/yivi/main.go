// Checks SD-JWT VCs with the code that the Yivi wallet runs when it gets them from an issuer.
//
// Reads {"root": "<PEM>", "credentials": ["<SD-JWT VC>", …]} and prints one JSON array: for each credential "" if the wallet
// accepts it, and otherwise the reason.
package main

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"log"
	"os"
	"strings"

	"github.com/privacybydesign/irmago/eudi/credentials/sdjwtvc"
	eudi_jwt "github.com/privacybydesign/irmago/eudi/jwt"
	"github.com/privacybydesign/irmago/eudi/sdjwt"
)

type question struct {
	Root        string   `json:"root"`
	Credentials []string `json:"credentials"`
}

func main() {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(asked.Root)) {
		log.Fatal("no root")
	}
	reasons := make([]string, len(asked.Credentials))
	for index, credential := range asked.Credentials {
		if err := check(credential, roots); err != nil {
			reasons[index] = err.Error()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(reasons); err != nil {
		log.Fatal(err)
	}
}

// check trusts the root only. The wallet gets the authorities below it from its list, and here they come from the credential.
func check(credential string, roots *x509.CertPool) error {
	options := x509.VerifyOptions{
		Roots:         roots,
		Intermediates: authorities(credential),
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}
	processor := sdjwtvc.NewHolderVerificationProcessor(sdjwtvc.SdJwtVcVerificationContext{
		X509VerificationContext: &eudi_jwt.StaticVerificationContext{VerifyOpts: options},
		Clock:                   eudi_jwt.NewSystemClock(),
		JwtVerifier:             sdjwt.NewJwxJwtVerifier(),
	})
	_, err := processor.ParseAndVerifySdJwtVc(sdjwtvc.SdJwtVcKb(credential))
	return err
}

// authorities are the certificates in the header after the first one. What cannot be read is left out, and then the path breaks.
func authorities(credential string) *x509.CertPool {
	pool := x509.NewCertPool()
	header, _, _ := strings.Cut(credential, ".")
	bytes, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil {
		return pool
	}
	var read struct {
		X5c []string `json:"x5c"`
	}
	if json.Unmarshal(bytes, &read) != nil || len(read.X5c) == 0 {
		return pool
	}
	for _, text := range read.X5c[1:] {
		der, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			continue
		}
		if certificate, err := x509.ParseCertificate(der); err == nil {
			pool.AddCert(certificate)
		}
	}
	return pool
}
