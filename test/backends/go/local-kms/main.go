// Serves local-kms (an independent implementation of the AWS KMS API) on the loopback interface alone.
//
// The first line of standard input is the configuration, one line of JSON. Once the server listens, it
// prints one line of JSON with its port. It ends when its standard input is closed, so that it never
// outlives the test that started it.
package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/nsmithuk/local-kms/src"
	"github.com/nsmithuk/local-kms/src/cmk"
	"github.com/nsmithuk/local-kms/src/config"
	"github.com/nsmithuk/local-kms/src/data"
)

type configuration struct {
	Region    string `json:"region"`
	AccountID string `json:"accountId"`
	DataPath  string `json:"dataPath"`
	// 0 takes a free port.
	Port int           `json:"port"`
	Keys []importedKey `json:"keys"`
}

// importedKey is a P-256 key made outside, so that two instances can hold the same one.
type importedKey struct {
	KeyID string `json:"keyId"`
	// PKCS#8 DER; base64 in the JSON.
	PrivateKey []byte `json:"privateKey"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(input io.Reader, output io.Writer) error {
	reader := bufio.NewReader(input)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	var wanted configuration
	if err := json.Unmarshal(line, &wanted); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	config.AWSRegion = wanted.Region
	config.AWSAccountId = wanted.AccountID
	config.DatabasePath = wanted.DataPath

	database := data.NewDatabase(wanted.DataPath)
	defer database.Close()
	for _, key := range wanted.Keys {
		if err := importKey(database, key); err != nil {
			return fmt.Errorf("key %s: %w", key.KeyID, err)
		}
	}

	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", wanted.Port))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		src.HandleRequest(w, r, database)
	})}
	go func() {
		_, _ = io.Copy(io.Discard, reader)
		_ = server.Close()
	}()

	if _, err := fmt.Fprintf(output, "{\"port\":%d}\n", listener.Addr().(*net.TCPAddr).Port); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func importKey(database *data.Database, wanted importedKey) error {
	parsed, err := x509.ParsePKCS8PrivateKey(wanted.PrivateKey)
	if err != nil {
		return err
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return errors.New("not an EC key")
	}
	key, err := cmk.NewEccKey(cmk.SpecEccNistP256, cmk.KeyMetadata{
		AWSAccountId: config.AWSAccountId,
		Arn:          config.ArnPrefix() + "key/" + wanted.KeyID,
		CreationDate: time.Now().Unix(),
		Enabled:      true,
		KeyId:        wanted.KeyID,
		KeyManager:   "CUSTOMER",
		KeyState:     cmk.KeyStateEnabled,
		Origin:       cmk.KeyOriginAwsKms,
	}, "")
	if err != nil {
		return err
	}
	key.PrivateKey = cmk.EcdsaPrivateKey(*private)
	return database.SaveKey(key)
}
