// Asks a signer of KEP-740 for ServiceAccount tokens, with the package that kube-apiserver does it with, and verifies tokens as
// kube-apiserver does.
//
// Reads requests from stdin and writes answers to stdout, one line of JSON each. The first argument is the socket, the second
// one the issuer.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount/externaljwt/plugin"
)

// A kube-apiserver gives up after this time at its start.
const syncTimeout = time.Minute

// A TokenRequest is given up after this time.
const requestTimeout = 34 * time.Second

type request struct {
	Op          string   `json:"op"`
	Count       int      `json:"count"`
	Concurrency int      `json:"concurrency"`
	Lifetime    int64    `json:"lifetime"`
	Tokens      []string `json:"tokens"`
}

type key struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Excluded bool   `json:"excluded"`
}

type answer struct {
	Tokens  []string `json:"tokens,omitempty"`
	Errors  []string `json:"errors,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	Keys    []key    `json:"keys,omitempty"`
	Seconds int64    `json:"seconds,omitempty"`
}

type cluster struct {
	plugin        *plugin.Plugin
	keys          serviceaccount.PublicKeysGetter
	authenticator authenticator.Token
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(os.Stderr)
	if len(os.Args) != 3 {
		log.Fatal("expected a socket and an issuer")
	}
	socket, issuer := os.Args[1], os.Args[2]
	// As in kube-apiserver: a key that is excluded from discovery may not sign.
	signer, keys, err := plugin.New(context.Background(), issuer, socket, syncTimeout, false)
	if err != nil {
		log.Fatal(err)
	}
	audiences := authenticator.Audiences{issuer}
	self := cluster{
		plugin:        signer,
		keys:          keys,
		authenticator: serviceaccount.JWTTokenAuthenticator([]string{issuer}, keys, audiences, serviceaccount.NewValidator(accounts{})),
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	encoder := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		if err := encoder.Encode(self.answer(asked, issuer)); err != nil {
			log.Fatal(err)
		}
	}
}

func (c cluster) answer(asked request, issuer string) answer {
	switch asked.Op {
	case "generate":
		return c.generate(asked, issuer)
	case "verify":
		return answer{Reasons: c.verify(asked.Tokens)}
	case "keys":
		return answer{Keys: c.published()}
	case "metadata":
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		metadata, err := c.plugin.GetServiceMetadata(ctx)
		if err != nil {
			return answer{Errors: []string{err.Error()}}
		}
		return answer{Seconds: metadata.MaxTokenExpirationSeconds}
	}
	return answer{Errors: []string{"unknown op " + asked.Op}}
}

func (c cluster) generate(asked request, issuer string) answer {
	var lock sync.Mutex
	var group sync.WaitGroup
	made := answer{}
	places := make(chan struct{}, asked.Concurrency)
	for index := 0; index < asked.Count; index++ {
		places <- struct{}{}
		group.Add(1)
		go func() {
			defer func() { <-places; group.Done() }()
			token, err := c.token(index, asked.Lifetime, issuer)
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				made.Errors = append(made.Errors, err.Error())
			} else {
				made.Tokens = append(made.Tokens, token)
			}
		}()
	}
	group.Wait()
	return made
}

func (c cluster) token(index int, lifetime int64, issuer string) (string, error) {
	account := core.ServiceAccount{}
	account.Namespace, account.Name, account.UID = "default", fmt.Sprintf("account-%d", index), uid
	public, private, err := serviceaccount.Claims(account, nil, nil, nil, nil, nil, lifetime, 0, []string{issuer}, nil)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	return c.plugin.GenerateToken(ctx, public, private)
}

func (c cluster) verify(tokens []string) []string {
	reasons := make([]string, len(tokens))
	for index, token := range tokens {
		_, ok, err := c.authenticator.AuthenticateToken(context.Background(), token)
		switch {
		case err != nil:
			reasons[index] = err.Error()
		case !ok:
			reasons[index] = "not a token of this issuer"
		}
	}
	return reasons
}

func (c cluster) published() []key {
	var keys []key
	for _, each := range c.keys.GetPublicKeys(context.Background(), "") {
		keys = append(keys, key{ID: each.KeyID, Type: fmt.Sprintf("%T", each.PublicKey), Excluded: each.ExcludeFromOIDCDiscovery})
	}
	return keys
}
