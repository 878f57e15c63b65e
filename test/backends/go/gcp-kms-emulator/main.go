// Serves the emulator of Google Cloud KMS on two free ports of the loopback interface, and makes it as
// strict as the service where the service's documentation gives a rule (strict.go).
//
// It prints one line of JSON when it answers, and ends on SIGTERM or when its standard input closes,
// so that it never outlives the process that started it.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	emulator "github.com/blackwell-systems/gcp-kms-emulator"
	"google.golang.org/grpc"
)

type ready struct {
	Pid      int `json:"pid"`
	GrpcPort int `json:"grpcPort"`
	RestPort int `json:"restPort"`
}

func main() {
	if err := serve(); err != nil {
		log.Fatal(err)
	}
}

func serve() error {
	// The emulator would ask another server for permissions.
	if err := os.Unsetenv("IAM_MODE"); err != nil {
		return err
	}

	grpcListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	grpcServer := grpc.NewServer(grpc.UnaryInterceptor(strict))
	if err := emulator.Register(grpcServer); err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- grpcServer.Serve(grpcListener) }()

	gateway, err := emulator.NewGatewayHandler(grpcListener.Addr().String())
	if err != nil {
		return err
	}
	restListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	restServer := &http.Server{Handler: gateway}
	go func() { failed <- restServer.Serve(restListener) }()

	if err := json.NewEncoder(os.Stdout).Encode(ready{os.Getpid(), port(grpcListener), port(restListener)}); err != nil {
		return err
	}
	return waitForTheEnd(failed)
}

func port(listener net.Listener) int {
	return listener.Addr().(*net.TCPAddr).Port
}

func waitForTheEnd(failed <-chan error) error {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM, syscall.SIGINT)
	orphaned := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(orphaned)
	}()
	select {
	case err := <-failed:
		return err
	case <-terminated:
		return nil
	case <-orphaned:
		return nil
	}
}
